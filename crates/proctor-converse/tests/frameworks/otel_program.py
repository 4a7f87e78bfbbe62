"""A program that speaks the worker protocol itself and works in the trace of each request. It does not say when its spans are sent."""

import json
import os
import socket

import tracing  # noqa: F401
from opentelemetry import context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from otel_agent import agent

channel = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))


def reply(request, **fields):
    channel.sendall((json.dumps(dict(fields, reply_to=request["id"])) + "\n").encode())


for line in channel.makefile():
    request = json.loads(line)
    action = request.get("action")
    if action == "hello":
        reply(request, protocol=1, name="own", version="1", pid=os.getpid(), capabilities=["agent.chat"])
    elif action == "agent.chat":
        token = context.attach(TraceContextTextMapPropagator().extract(request))
        answer = agent(request["messages"][-1]["content"])
        context.detach(token)
        reply(request, **(answer if isinstance(answer, dict) else {"text": answer}))
    else:
        reply(request)
