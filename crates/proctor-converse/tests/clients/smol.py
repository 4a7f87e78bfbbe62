"""An agent of smolagents with the client of OpenAI."""

import os

from smolagents import LogLevel, OpenAIServerModel, ToolCallingAgent, tool


@tool
def weather(city: str) -> str:
    """The weather.

    Args:
        city: where
    """
    return "clear over " + city


model = OpenAIServerModel(model_id="asked-for", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
agent = ToolCallingAgent(tools=[weather], model=model, instructions="Be kind.", verbosity_level=LogLevel.OFF, max_steps=4)
