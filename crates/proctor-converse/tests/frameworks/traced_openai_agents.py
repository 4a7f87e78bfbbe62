"""The agent of OpenAI Agents, whose work openinference tells: the agent itself, and a function that returns no more than its text."""

import tracing  # noqa: F401
from agents import Runner, set_tracing_disabled
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

OpenAIAgentsInstrumentor().instrument(exclusive_processor=True)

from openai_agent import agent  # noqa: E402

set_tracing_disabled(False)


async def silent(text):
    return (await Runner.run(agent, text)).final_output
