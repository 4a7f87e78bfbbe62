"""An agent of PydanticAI on a model that is a function."""

from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import ExternalToolset
from pydantic_ai.tools import ToolDefinition

from rules import decide


def model(messages, info):
    parts = [part for message in messages for part in message.parts]
    users = [part.content for part in parts if part.part_kind == "user-prompt"]
    last = parts[-1]
    kind, *rest = decide(users, None if last.part_kind == "user-prompt" else last.content)
    if kind == "call":
        return ModelResponse(parts=[ToolCallPart(rest[0], rest[1])])
    return ModelResponse(parts=[TextPart(rest[0])])


agent = Agent(FunctionModel(model))


@agent.tool_plain(retries=1)
def weather(city: str) -> dict:
    print("looking at", city)
    return {"city": city, "sky": "clear"}


@agent.tool_plain(retries=1)
def broken(city: str) -> str:
    raise ModelRetry("the station is off")


class Reading(BaseModel):
    sky: str


def structured_model(messages, info):
    return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"sky": "clear"})])


structured = Agent(FunctionModel(structured_model), output_type=Reading)

NOW = ToolDefinition(name="now", parameters_json_schema={"type": "object", "properties": {}})


def asking_model(messages, info):
    last = messages[-1].parts[-1]
    if last.part_kind == "tool-return":
        return ModelResponse(parts=[TextPart("it is %s" % last.content)])
    return ModelResponse(parts=[ToolCallPart("now", {})])


asking = Agent(FunctionModel(asking_model), toolsets=[ExternalToolset([NOW])], output_type=[str, DeferredToolRequests])


async def function(text):
    return await agent.run(text)
