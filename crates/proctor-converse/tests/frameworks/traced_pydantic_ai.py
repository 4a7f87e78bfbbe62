"""The agent of PydanticAI, which tells its work itself: the agent, and a function that returns no more than its text."""

import tracing  # noqa: F401
from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel

Agent.instrument_all()

from pydantic_ai_agent import agent  # noqa: E402

assert isinstance(agent.model, FunctionModel)


async def silent(text):
    return (await agent.run(text)).output
