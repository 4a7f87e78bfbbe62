"""An agent of OpenAI Agents with its own client: Responses, and chat completions."""

from agents import Agent, OpenAIChatCompletionsModel, function_tool
from openai import AsyncOpenAI


@function_tool
def weather(city: str) -> str:
    """The weather."""
    return "clear over " + city


responses = Agent(name="Weather", instructions="Be kind.", model="asked-for", tools=[weather])
chat = Agent(
    name="Weather",
    instructions="Be kind.",
    model=OpenAIChatCompletionsModel(model="asked-for", openai_client=AsyncOpenAI()),
    tools=[weather],
)
