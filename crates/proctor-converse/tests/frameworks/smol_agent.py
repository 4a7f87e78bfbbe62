"""An agent of smolagents on a model of its own: one that calls tools, and one that writes code."""

from smolagents import CodeAgent, LogLevel, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from smolagents.monitoring import TokenUsage

from rules import decide


def text_of(message):
    content = message.content
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


def situation(messages):
    """What the users said, and what the last tool gave."""
    users, result = [], None
    for message in messages:
        text = text_of(message)
        if message.role == MessageRole.USER and "New task:" in text:
            users.append(text.split("New task:")[1].strip())
            result = None
        elif message.role in (MessageRole.TOOL_RESPONSE, "tool-response") and text:
            result = text.split("Observation:")[-1].strip()
    return users, result


class Fake(Model):
    def generate(self, messages, **given):
        users, result = situation(messages)
        kind, *rest = decide(users, result)
        name, arguments = (rest[0], rest[1]) if kind == "call" else ("final_answer", {"answer": rest[0]})
        made = ChatMessageToolCall(
            id="call-%d" % len(messages), type="function", function=ChatMessageToolCallFunction(name=name, arguments=arguments)
        )
        return ChatMessage(
            role=MessageRole.ASSISTANT, content="", tool_calls=[made], token_usage=TokenUsage(input_tokens=7, output_tokens=3)
        )


class Coder(Model):
    def generate(self, messages, **given):
        code = "sky = weather(city='Berlin')\nfinal_answer('It is ' + sky['sky'])"
        return ChatMessage(role=MessageRole.ASSISTANT, content="Thought: look.\n<code>\n%s\n</code>" % code)


@tool
def weather(city: str) -> dict:
    """The weather.

    Args:
        city: where
    """
    print("looking at", city)
    return {"city": city, "sky": "clear"}


@tool
def broken(city: str) -> str:
    """A tool that fails.

    Args:
        city: where
    """
    raise ValueError("the station is off")


agent = ToolCallingAgent(tools=[weather, broken], model=Fake(), verbosity_level=LogLevel.OFF, max_steps=4)
coder = CodeAgent(tools=[weather], model=Coder(), verbosity_level=LogLevel.OFF, max_steps=3)


class Failing(Fake):
    """Fails when it is asked to sum up, for which it gets no tools."""

    def generate(self, messages, **given):
        if not given.get("tools_to_call_from"):
            raise RuntimeError("the model is down")
        return super().generate(messages, **given)


exhausted = ToolCallingAgent(tools=[weather], model=Failing(), verbosity_level=LogLevel.OFF, max_steps=1)


def exhausted_result(text):
    return exhausted.run(text, return_full_result=True)
