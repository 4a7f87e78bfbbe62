"""The client of Anthropic itself, with a loop around one tool: whole answers, and streams."""

from anthropic import Anthropic

client = Anthropic()
TOOLS = [
    {
        "name": "weather",
        "description": "The weather.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]


def converse(text, ask):
    messages, calls = [{"role": "user", "content": text}], []
    while True:
        message = ask(dict(model="asked-for", max_tokens=100, system="Be kind.", messages=messages, tools=TOOLS))
        if message.stop_reason != "tool_use":
            return {"text": "".join(block.text for block in message.content if block.type == "text"), "tool_calls": calls}
        messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]})
        results = []
        for block in message.content:
            if block.type == "tool_use":
                result = "clear over " + block.input["city"]
                calls.append({"name": block.name, "arguments": block.input, "result": result})
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": result})
        messages.append({"role": "user", "content": results})


def whole(text):
    return converse(text, lambda asked: client.messages.create(**asked))


def streamed(text):
    def ask(asked):
        with client.messages.stream(**asked) as stream:
            return stream.get_final_message()

    return converse(text, ask)
