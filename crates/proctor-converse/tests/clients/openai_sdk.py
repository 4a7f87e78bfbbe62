"""The client of OpenAI itself, with a loop around one tool."""

import json

from openai import OpenAI

client = OpenAI()
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CHAT_TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": PARAMETERS}}]
TOOLS = [{"type": "function", "name": "weather", "description": "The weather.", "parameters": PARAMETERS}]


def weather(city):
    return "clear over " + city


def made(name, arguments, result):
    return {"name": name, "arguments": arguments, "result": result}


def chat(text):
    messages, calls = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": text}], []
    while True:
        message = client.chat.completions.create(model="asked-for", messages=messages, tools=CHAT_TOOLS).choices[0].message
        if not message.tool_calls:
            return {"text": message.content, "tool_calls": calls}
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            arguments = json.loads(call.function.arguments)
            result = weather(**arguments)
            calls.append(made(call.function.name, arguments, result))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def chat_stream(text):
    """The same with streams; the pieces are put together as the interface says."""
    messages, calls = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": text}], []
    while True:
        said, asked, finish = "", {}, None
        for chunk in client.chat.completions.create(model="asked-for", messages=messages, tools=CHAT_TOOLS, stream=True):
            delta = chunk.choices[0].delta
            finish = chunk.choices[0].finish_reason or finish
            said += delta.content or ""
            for piece in delta.tool_calls or []:
                one = asked.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                one["id"] += piece.id or ""
                one["name"] += piece.function.name or ""
                one["arguments"] += piece.function.arguments or ""
        if finish != "tool_calls":
            return {"text": said, "tool_calls": calls}
        listed = [{"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": one["arguments"]}} for one in asked.values()]
        messages.append({"role": "assistant", "content": said, "tool_calls": listed})
        for one in asked.values():
            arguments = json.loads(one["arguments"])
            calls.append(made(one["name"], arguments, weather(**arguments)))
            messages.append({"role": "tool", "tool_call_id": one["id"], "content": weather(**arguments)})


def respond(text, stream):
    calls, previous, given = [], None, text
    while True:
        asked = dict(model="asked-for", instructions="Be kind.", input=given, tools=TOOLS, previous_response_id=previous)
        if stream:
            with client.responses.stream(**{name: value for name, value in asked.items() if value is not None}) as events:
                for _ in events:
                    pass
                response = events.get_final_response()
        else:
            response = client.responses.create(**asked)
        requested = [item for item in response.output if item.type == "function_call"]
        if not requested:
            return {"text": response.output_text, "tool_calls": calls}
        previous, given = response.id, []
        for call in requested:
            arguments = json.loads(call.arguments)
            result = weather(**arguments)
            calls.append(made(call.name, arguments, result))
            given.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


def responses(text):
    return respond(text, False)


def responses_stream(text):
    return respond(text, True)
