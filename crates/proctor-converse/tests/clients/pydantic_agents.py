"""Agents of PydanticAI with the client of OpenAI."""

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel


def weather(city: str) -> str:
    """The weather."""
    return "clear over " + city


chat = Agent(OpenAIChatModel("asked-for"), instructions="Be kind.", tools=[weather])
responses = Agent(OpenAIResponsesModel("asked-for"), instructions="Be kind.", tools=[weather])
