"""An agent of OpenAI Agents on a model of its own."""

import json

from agents import Agent, ModelResponse, Usage, function_tool, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from rules import decide

set_tracing_disabled(True)


class Fake(Model):
    async def get_response(self, system_instructions, input, *others, **more):
        items = [{"role": "user", "content": input}] if isinstance(input, str) else input
        users = [item["content"] for item in items if item.get("role") == "user"]
        last = items[-1]
        kind, *rest = decide(users, last["output"] if last.get("type") == "function_call_output" else None)
        if kind == "call":
            made = ResponseFunctionToolCall(
                type="function_call", call_id="call-%d" % len(items), name=rest[0], arguments=json.dumps(rest[1])
            )
        else:
            text = ResponseOutputText(type="output_text", text=rest[0], annotations=[])
            made = ResponseOutputMessage(type="message", id="m", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[made], usage=Usage(requests=1, input_tokens=7, output_tokens=3, total_tokens=10), response_id=None)

    def stream_response(self, *given, **more):
        raise NotImplementedError


@function_tool
def weather(city: str) -> dict:
    """The weather."""
    print("looking at", city)
    return {"city": city, "sky": "clear"}


def explain(context, error):
    return "error: %s" % error


@function_tool(failure_error_function=explain)
def broken(city: str) -> str:
    """A tool that fails."""
    raise ValueError("the station is off")


agent = Agent(name="Weather", model=Fake(), tools=[weather, broken])
