"""A graph of LangGraph on a fake chat model: with a checkpointer, and without one."""

import pickle

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from rules import decide


class Model(BaseChatModel):
    def _generate(self, messages, stop=None, run_manager=None, **given):
        users = [message.content for message in messages if message.type == "human"]
        last = messages[-1]
        kind, *rest = decide(users, last.content if last.type == "tool" else None)
        spent = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
        if kind == "call":
            calls = [{"name": rest[0], "args": rest[1], "id": "call-%d" % len(messages)}]
            message = AIMessage(content="", tool_calls=calls, usage_metadata=spent)
        else:
            message = AIMessage(content=[{"type": "text", "text": rest[0]}], usage_metadata=spent)
        return ChatResult(generations=[ChatGeneration(message=message)])

    @property
    def _llm_type(self):
        return "fake"


@tool
def weather(city: str) -> dict:
    """The weather."""
    print("looking at", city)
    return {"city": city, "sky": "clear"}


@tool
def broken(city: str) -> str:
    """A tool that fails."""
    raise ValueError("the station is off")


def ask(state):
    return {"messages": [Model().invoke(state["messages"])]}


graph = StateGraph(MessagesState)
graph.add_node("ask", ask)
graph.add_node("tools", ToolNode([weather, broken], handle_tool_errors=True))
graph.add_edge(START, "ask")
graph.add_conditional_edges("ask", tools_condition)
graph.add_edge("tools", "ask")

agent = graph.compile(checkpointer=InMemorySaver())
forgetful = graph.compile()
model = Model()

without_tools = StateGraph(MessagesState)
without_tools.add_node("ask", ask)
without_tools.add_edge(START, "ask")
asking = without_tools.compile()


def state_without_messages():
    other = StateGraph(dict)
    other.add_node("x", lambda state: {"done": True})
    other.add_edge(START, "x")
    return other.compile()


def ask_station(state):
    """A node with an agent of its own, of whose work only the last message gets into the state."""
    return {"messages": [forgetful.invoke({"messages": state["messages"]})["messages"][-1]]}


def call_directly(state):
    """A node that calls a tool itself."""
    sky = weather.invoke({"city": state["messages"][-1].content.split()[-1]})
    return {"messages": [AIMessage(content="It is %s" % (sky,))]}


def of_one_node(node):
    other = StateGraph(MessagesState)
    other.add_node("work", node)
    other.add_edge(START, "work")
    return other.compile()


station = of_one_node(ask_station)
direct = of_one_node(call_directly)


def last_message(messages):
    """A function that returns the last message, which does not tell what was called before it."""
    return forgetful.invoke({"messages": messages})["messages"][-1]


class KeptMemory(InMemorySaver):
    """A memory on disk: what a process before this one has kept is there."""

    def __init__(self):
        super().__init__()
        try:
            with open("kept.pickle", "rb") as file:
                self.threads = pickle.load(file)
        except FileNotFoundError:
            self.threads = []

    def get_tuple(self, config):
        assert config["configurable"]["thread_id"] not in self.threads, "the thread of an earlier run is continued"
        return super().get_tuple(config)

    async def aget_tuple(self, config):
        return self.get_tuple(config)

    def put(self, config, *others):
        with open("kept.pickle", "wb") as file:
            pickle.dump(self.threads + [config["configurable"]["thread_id"]], file)
        return super().put(config, *others)

    async def aput(self, config, *others):
        return self.put(config, *others)


keeping = graph.compile(checkpointer=KeptMemory())
