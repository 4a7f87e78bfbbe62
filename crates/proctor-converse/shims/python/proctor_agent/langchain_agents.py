"""Agents of LangGraph and chat models of LangChain.

The calls of a graph are read off the messages that a turn has added to its state, and off the tools that ran meanwhile: what a subgraph or a
node did need not have left a message.
"""

import uuid

from .answer import AgentProblem, plain, usage
from .calls import Calls, is_a


class LangGraph:
    """A graph with a checkpointer keeps the conversation under its thread; one without is given the whole history."""

    def __init__(self, graph, source):
        self.graph, self.source = graph, source
        self.history = []
        checkpointer = getattr(graph, "checkpointer", None)
        self.has_memory = checkpointer not in (None, False)
        self.is_sync = self.has_memory and is_sync_checkpointer(checkpointer)
        # Not the conversation's name, which is the same in each run: a memory that is kept on disk would go on with an earlier one.
        self.thread = str(uuid.uuid4())

    def answer(self, turn):
        if turn.text is None:
            given = [{"role": "tool", "content": text, "tool_call_id": name} for name, text in turn.tool_results().items()]
        else:
            given = [{"role": "user", "content": turn.text}]
        watch = watch_run()
        config = {"configurable": {"thread_id": self.thread}, "callbacks": [watch]}
        state = {"messages": given if self.has_memory else self.history + given}
        if self.is_sync:
            result = self.graph.invoke(state, config)
        else:
            result = turn.run(self.graph.ainvoke(state, config))
        return self.read(result, watch)

    def read(self, result, watch):
        if not isinstance(result, dict) or not isinstance(result.get("messages"), list):
            raise AgentProblem(
                "the state of the graph %s has no list `messages`; name a function that calls the graph and returns a text" % self.source
            )
        if result.get("__interrupt__"):
            value = getattr(result["__interrupt__"][0], "value", None)
            raise AgentProblem("the graph %s waits for a person: %s" % (self.source, plain(value)))
        # By identity, not by number: a graph may shorten its history.
        before = {message.id or id(message) for message in self.history}
        new = [message for message in result["messages"] if (message.id or id(message)) not in before]
        self.history = result["messages"]
        return read_langchain(new, watch)


def is_sync_checkpointer(checkpointer):
    """Whether the checkpointer refuses asynchronous use: it has not its own `aget_tuple`."""
    own = getattr(type(checkpointer), "aget_tuple", None)
    for kind in type(checkpointer).__mro__:
        if kind.__name__ == "BaseCheckpointSaver":
            return own is getattr(kind, "aget_tuple", None)
    return False


class LangChainModel:
    def __init__(self, model, source):
        self.model, self.history = model, []

    def answer(self, turn):
        if turn.text is None:
            given = [{"role": "tool", "content": text, "tool_call_id": name} for name, text in turn.tool_results().items()]
        else:
            given = [{"role": "user", "content": turn.text}]
        message = turn.run(self.model.ainvoke(self.history + given))
        self.history += given + [message]
        return read_langchain([message])


def watch_run():
    """A handler of callbacks that lists the tools that run, in nodes and subgraphs too, and counts the tokens of all models."""
    from langchain_core.callbacks import BaseCallbackHandler

    class WatchRun(BaseCallbackHandler):
        run_inline = True  # In the order of the events, not in threads of their own.
        raise_error = True  # A call that is lost would look like one that was not made.

        def __init__(self):
            self.tools = []
            self.tokens = Tokens()
            self._by_run = {}

        def on_tool_start(self, serialized, input_str, *, run_id, inputs=None, tool_call_id=None, **more):
            name = (serialized or {}).get("name") or more.get("name") or "tool"
            arguments = inputs if inputs is not None else {"value": input_str}
            self._by_run[run_id] = {"name": name, "arguments": arguments, "id": tool_call_id}
            self.tools.append(self._by_run[run_id])

        def on_tool_end(self, output, *, run_id, **more):
            self._by_run[run_id]["result"] = getattr(output, "content", output)

        def on_tool_error(self, error, *, run_id, **more):
            self._by_run[run_id]["error"] = "%s: %s" % (type(error).__name__, error)

        def on_llm_end(self, response, **more):
            for generations in response.generations:
                for generation in generations[:1]:
                    self.tokens.add(getattr(generation, "message", None))

    return WatchRun()


class Tokens:
    """The tokens of messages, as far as they tell them."""

    def __init__(self):
        self.input = self.output = None

    def add(self, message):
        spent = getattr(message, "usage_metadata", None) or {}
        if spent.get("input_tokens") is not None:
            self.input = (self.input or 0) + spent["input_tokens"]
        if spent.get("output_tokens") is not None:
            self.output = (self.output or 0) + spent["output_tokens"]

    def usage(self):
        return usage(self.input, self.output)


def add_other_runs(tools, calls):
    """Adds the tools that ran without a message in the state."""
    listed = calls.made()
    for run in tools:
        same = next((made for made in listed if is_same_call(made, run)), None)
        if same is not None:
            listed.remove(same)
            continue
        outcome = {key: run[key] for key in ("result", "error") if key in run}
        calls.add(run["name"], run["arguments"], None, **outcome)


def is_same_call(made, run):
    if made["name"] != run["name"]:
        return False
    if run["id"] is not None and made.get("id") is not None:
        return made["id"] == str(run["id"])
    return made["arguments"] == plain(run["arguments"])


def read_message(message):
    """The answer in one message that a function returned. Which tools were called before it, it does not say."""
    answer = read_langchain([message])
    if not answer["tool_calls"]:
        del answer["tool_calls"]
    return answer


def read_langchain(messages, watch=None):
    """The answer in the messages that a turn has added, and in what was seen meanwhile."""
    calls, text, tokens = Calls(), None, Tokens()
    for message in messages:
        if is_a(message, "langchain_core", "AIMessage"):
            text = langchain_text(message.content)
            read_langchain_calls(message, calls)
            tokens.add(message)
        elif is_a(message, "langchain_core", "ToolMessage"):
            if getattr(message, "status", "success") == "error":
                calls.finish(message.tool_call_id, error=langchain_text(message.content))
            else:
                calls.finish(message.tool_call_id, result=message.content)
    if text is None:
        raise AgentProblem("the agent added no message of its own to the conversation")
    if watch is not None:
        add_other_runs(watch.tools, calls)
        tokens = watch.tokens
    asked = calls.without_result() if messages and is_a(messages[-1], "langchain_core", "AIMessage") else []
    names = {made.get("id") for made in asked}
    answer = {"text": text, "tool_calls": calls.made(but=names), "metadata": tokens.usage()}
    if asked:
        answer["pending_tool_calls"] = asked
    return answer


def read_langchain_calls(message, calls):
    for made in getattr(message, "tool_calls", None) or []:
        calls.add(made.get("name"), made.get("args"), made.get("id"))
    for made in getattr(message, "invalid_tool_calls", None) or []:
        reason = made.get("error") or "its arguments are not JSON"
        calls.add(made.get("name"), {"unreadable": made.get("args")}, made.get("id"), error=reason)


def langchain_text(content):
    if isinstance(content, str):
        return content
    pieces = []
    for block in content:
        if isinstance(block, str):
            pieces.append(block)
        elif isinstance(block, dict) and block.get("type") == "text":
            pieces.append(block.get("text", ""))
    return "".join(pieces)
