"""Agents and results of frameworks, recognised by the module of their type: nothing is imported that the user has not imported.

A driver is a session: it keeps the history or the session of one conversation as its framework does. A reader takes a result apart: text,
calls that were made, calls that are asked for, tokens. Readers serve functions that return a framework's result, too.
"""

import copy
import sys

from .answer import AgentProblem, call, output_text, plain, type_name, usage
from .calls import Calls, is_a
from .langchain_agents import LangChainModel, LangGraph, read_message


def driver(value):
    """What begins a conversation with an agent of a framework; None for everything else."""
    if isinstance(value, type):
        return None
    if is_a(value, "pydantic_ai", "AbstractAgent", "Agent"):
        return PydanticAI
    if is_a(value, "langgraph", "Pregel", "CompiledStateGraph"):
        return LangGraph
    if is_a(value, "langchain_core", "BaseChatModel"):
        return LangChainModel
    if is_a(value, "langchain_core", "Runnable"):
        raise AgentProblem(
            "a LangChain runnable of type %s takes inputs that cannot be known; name a function that takes `messages` and calls it" % type_name(value)
        )
    # `agents` is a name that a project may have for a module of its own, too.
    if is_a(value, "agents", "AgentBase", "Agent") and hasattr(sys.modules.get("agents"), "Runner"):
        return OpenAIAgents
    if is_a(value, "smolagents", "MultiStepAgent"):
        return Smolagents
    return None


def read_result(value):
    """The answer in a framework's result; None for everything else."""
    if is_a(value, "pydantic_ai", "AgentRunResult"):
        return read_pydantic_ai(value)
    if is_a(value, "langchain_core", "AIMessage"):
        return read_message(value)
    if is_a(value, "agents", "RunResult", "RunResultBase"):
        return read_openai_agents(value)
    if is_a(value, "smolagents", "RunResult"):
        return {"text": smolagents_text(value.output)}
    return None


# PydanticAI


class PydanticAI:
    def __init__(self, agent, source):
        self.agent, self.source, self.history = agent, source, None
        toolset = getattr(agent, "_output_toolset", None)
        self.output_tools = set(getattr(toolset, "processors", None) or {})

    def answer(self, turn):
        if turn.text is None:
            results = sys.modules["pydantic_ai"].DeferredToolResults(calls=turn.tool_results())
            running = self.agent.run(message_history=self.history, deferred_tool_results=results)
        else:
            running = self.agent.run(turn.text, message_history=self.history)
        result = turn.run(running)
        self.history = result.all_messages()
        return read_pydantic_ai(result, self.output_tools)


def read_pydantic_ai(result, output_tools=()):
    output_tools = set(output_tools) | {getattr(result, "_output_tool_name", None)}
    calls, model = Calls(), None
    for message in result.new_messages():
        model = getattr(message, "model_name", None) or model
        for part in message.parts:
            read_pydantic_ai_part(part, calls, output_tools)
    spent = result.usage if hasattr(result.usage, "input_tokens") else result.usage()
    answer = {"metadata": usage(spent.input_tokens, spent.output_tokens, model=model)}
    output = result.output
    asked = set()
    if is_a(output, "pydantic_ai", "DeferredToolRequests"):
        if output.approvals:
            names = ", ".join("`%s`" % part.tool_name for part in output.approvals)
            raise AgentProblem("the agent waits for the approval of %s, which a scenario cannot give" % names)
        answer["pending_tool_calls"] = [call(part.tool_name, part.args, part.tool_call_id) for part in output.calls]
        asked = {part.tool_call_id for part in output.calls}
    else:
        answer["text"] = output_text(output, "PydanticAI")
    answer["tool_calls"] = calls.made(but=asked)
    return answer


def read_pydantic_ai_part(part, calls, output_tools):
    kind = part.part_kind
    if kind.endswith("tool-call"):
        if part.tool_name not in output_tools:
            calls.add(part.tool_name, part.args, part.tool_call_id)
    elif kind.endswith("tool-return"):
        if getattr(part, "outcome", "success") in ("success", "retried"):
            calls.finish(part.tool_call_id, result=part.content)
        else:
            calls.finish(part.tool_call_id, error=str(part.content))
    elif kind == "retry-prompt" and getattr(part, "tool_name", None):
        calls.finish(part.tool_call_id, error=str(plain(part.content)))


# OpenAI Agents


class OpenAIAgents:
    def __init__(self, agent, source):
        self.agent, self.history = agent, []

    def answer(self, turn):
        if turn.text is None:
            raise AgentProblem("an agent of OpenAI Agents makes its calls itself; the host cannot make them")
        runner = sys.modules["agents"].Runner
        result = turn.run(runner.run(self.agent, self.history + [{"role": "user", "content": turn.text}]))
        answer = read_openai_agents(result)
        self.history, self.agent = result.to_input_list(), result.last_agent
        return answer


def read_openai_agents(result):
    waiting = getattr(result, "interruptions", None)
    if waiting:
        names = ", ".join("`%s`" % getattr(item, "tool_name", "?") for item in waiting)
        raise AgentProblem("the agent waits for the approval of %s, which a scenario cannot give" % names)
    calls = Calls()
    for item in result.new_items:
        read_openai_item(item, calls)
    spent = result.context_wrapper.usage
    return {
        "text": output_text(result.final_output, "OpenAI Agents"),
        "tool_calls": calls.made(),
        "metadata": usage(spent.input_tokens, spent.output_tokens, agent=result.last_agent.name),
    }


def read_openai_item(item, calls):
    if item.type in ("tool_call_item", "handoff_call_item"):
        raw = plain(item.raw_item)
        name = getattr(item, "tool_name", None) or raw.get("name")
        if not name:  # A tool of the provider, such as `web_search_call`.
            kind = str(raw.get("type") or "")
            name = kind[: -len("_call")] if kind.endswith("_call") else kind
        arguments = raw.get("arguments")
        if arguments is None:
            arguments = {key: value for key, value in raw.items() if key not in ("id", "call_id", "type", "status")}
        calls.add(name, arguments, raw.get("call_id") or raw.get("id"))
    elif item.type == "tool_call_output_item":
        calls.finish(plain(item.raw_item).get("call_id"), result=item.output)
    elif item.type == "handoff_output_item":
        calls.finish(plain(item.raw_item).get("call_id"), result=plain(item.raw_item).get("output"))


# smolagents

# How the answer begins that smolagents gives in place of an error of the model.
FAILED_SUMMARY = "Error in generating final LLM output"


class Smolagents:
    """An agent of smolagents keeps its memory in itself, so each conversation has a copy of it. Its tools are watched, because code that
    the model has written calls them without a trace in the memory."""

    def __init__(self, agent, source):
        self.calls = []
        self.agent = copy_smolagent(agent, self.calls)
        self.is_local = getattr(agent, "executor_type", "local") == "local"

    def answer(self, turn):
        if turn.text is None:
            raise AgentProblem("an agent of smolagents makes its calls itself; the host cannot make them")
        del self.calls[:]
        before = len(self.agent.memory.steps)
        output = self.agent.run(turn.text, reset=before == 0)
        if is_a(output, "smolagents", "RunResult"):
            output = output.output
        steps = self.agent.memory.steps[before:]
        answer = {"text": smolagents_text(output), "metadata": smolagents_usage(steps)}
        if self.is_local:
            answer["tool_calls"] = list(self.calls) + unknown_calls(steps, self.agent)
        return answer


def smolagents_text(output):
    """The text of a final output. An agent that has used all of its steps asks its model to sum up: if that fails, smolagents gives the
    error as the answer, in parts."""
    if isinstance(output, list) and output and all(isinstance(part, dict) and part.get("type") == "text" for part in output):
        output = "".join(str(part.get("text") or "") for part in output)
        if output.startswith(FAILED_SUMMARY):
            raise AgentProblem("the agent used all of its steps, and its model failed: %s" % output)
    return output_text(output, "smolagents")


def copy_smolagent(agent, calls):
    made = copy.copy(agent)
    made.memory = type(agent.memory)(agent.system_prompt)
    made.state = dict(agent.state)
    made.tools = {name: watch_tool(tool, calls) for name, tool in agent.tools.items()}
    made.managed_agents = {name: watch_agent(inner, calls) for name, inner in (agent.managed_agents or {}).items()}
    if getattr(agent, "executor_type", None) == "local":
        made.python_executor = made.create_python_executor()
    return made


def watch_tool(tool, calls):
    if tool.name == "final_answer":
        return tool
    watched = copy.copy(tool)

    def forward(*arguments, **named):
        given = dict(zip(tool.inputs, arguments), **named)
        return watched_call(tool.name, given, calls, lambda: tool.forward(*arguments, **named))

    watched.forward = forward
    return watched


def watch_agent(agent, calls):
    watched = copy_smolagent(agent, calls)
    kind = type(agent)

    def ask(self, task, **named):
        return watched_call(agent.name, dict(named, task=task), calls, lambda: kind.__call__(self, task, **named))

    watched.__class__ = type(kind.__name__, (kind,), {"__call__": ask, "__module__": kind.__module__})
    return watched


def watched_call(name, arguments, calls, make):
    made = call(name, arguments)
    calls.append(made)
    try:
        result = make()
    except BaseException as error:
        made["error"] = "%s: %s" % (type(error).__name__, error)
        raise
    made["result"] = plain(result)
    return result


def unknown_calls(steps, agent):
    """Calls of tools that the agent does not have: they fail before any tool is reached."""
    known = set(agent.tools) | set(agent.managed_agents) | {"python_interpreter", "final_answer"}
    found = []
    for step in steps:
        for made in getattr(step, "tool_calls", None) or []:
            if made.name not in known:
                found.append(call(made.name, made.arguments, made.id, error=str(step.error or "there is no such tool")))
    return found


def smolagents_usage(steps):
    spent = [step.token_usage for step in steps if getattr(step, "token_usage", None)]
    if not spent:
        return {}
    return usage(sum(one.input_tokens for one in spent), sum(one.output_tokens for one in spent))
