"""An agent with an OpenTelemetry SDK and nothing else: the words of the user say which spans it makes."""

import random
import threading
import time

import tracing  # noqa: F401
from opentelemetry import context, trace
from opentelemetry.trace import StatusCode

tracer = trace.get_tracer("own")


def call(name, arguments=None, id=None, result="done"):
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    for key, value in [("arguments", arguments), ("result", result), ("id", id)]:
        if value is not None:
            attributes["gen_ai.tool.call." + key] = value
    return tracer.start_as_current_span("execute_tool " + name, attributes=attributes)


def chat(tokens, model="gpt-4o"):
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.provider.name": "openai"}
    attributes.update({"gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": tokens})
    return tracer.start_as_current_span("chat " + model, attributes=attributes)


def run():
    return tracer.start_as_current_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"})


def agent(text):
    word, *rest = text.split()
    if word == "look":
        with run():
            with chat(1000):
                pass
            with call("look", '{"place": "%s"}' % rest[0], id="call_1"):
                time.sleep(random.random() / 100)
            with tracer.start_as_current_span("GET", attributes={"http.request.method": "GET", "body": "x" * 5000}):
                pass
    elif word == "twice":
        with run(), call("look", '{"place": "a"}'), call("look"):
            pass
    elif word == "unknown":
        with run(), call("look"):
            pass
    elif word == "chat":
        with chat(10):
            pass
    elif word == "free":
        with run(), chat(10, "no-such-model"):
            pass
    elif word == "fail":
        with run(), call("look", '{"place": "a"}', result=None) as span:
            span.set_status(StatusCode.ERROR, "nothing there")
    elif word == "late":
        # Its outermost span ends after the answer.
        span = tracer.start_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"})
        with trace.use_span(span), call("look", '{"place": "late"}'):
            pass
        threading.Timer(0.7, span.end).start()
    elif word == "lost":
        # Its outermost span never ends.
        span = tracer.start_span("invoke_agent")
        with trace.use_span(span), call("look", '{"place": "lost"}'):
            pass
    elif word == "astray":
        token = context.attach(context.Context())
        with run(), call("look", '{"place": "astray"}'):
            pass
        context.detach(token)
    elif word == "hello":
        with run():
            pass
    elif word == "both":
        with run(), call("look", '{"place": "both"}', id="c9"):
            pass
        listed = {"name": "look", "arguments": {"place": "both"}, "result": "done"}
        return {"text": "ok", "tool_calls": [dict(listed, id="c9") if rest else listed]}
    return "ok: " + text

