"""The agent of smolagents, whose work openinference tells: the agent itself, and a function that returns no more than its text."""

import tracing  # noqa: F401
from openinference.instrumentation.smolagents import SmolagentsInstrumentor

SmolagentsInstrumentor().instrument()

from smol_agent import Fake, agent, broken, weather  # noqa: E402
from smolagents import LogLevel, ToolCallingAgent  # noqa: E402


def silent(text):
    # Each keeps what was said to it.
    return str(ToolCallingAgent(tools=[weather, broken], model=Fake(), verbosity_level=LogLevel.OFF).run(text))
