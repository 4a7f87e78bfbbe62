"""The agent under test. Put yours in its place: a function, a class, or an agent of PydanticAI, LangGraph, OpenAI Agents or smolagents."""


def agent(messages):
    asked = messages[-1]["content"]
    if "table" in asked:
        free = free_tables(guests=4)
        calls = [{"name": "free_tables", "arguments": {"guests": 4}, "result": free}]
        return {"text": "There is a table at %s." % free[0], "tool_calls": calls}
    return {"text": "Good evening! How can I help?", "tool_calls": []}


def free_tables(guests):
    return ["19:00", "20:30"]
