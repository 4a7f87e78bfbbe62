"""Agents without any client library: urllib and the three interfaces."""

import json
import os
import urllib.error
import urllib.request


def post(address, body):
    key = os.environ["OPENAI_API_KEY"]
    headers = {"content-type": "application/json", "authorization": "Bearer " + key, "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def ask(messages):
    body = {"model": "asked-for", "messages": [{"role": "system", "content": "Be kind."}] + messages}
    return post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)["choices"][0]["message"]["content"]


def chat(messages):
    return ask([{"role": message["role"], "content": message["content"]} for message in messages])


def responses(text):
    answer = post(os.environ["OPENAI_BASE_URL"] + "/responses", {"model": "asked-for", "instructions": "Be kind.", "input": text})
    return answer["output"][0]["content"][0]["text"]


def claude(text):
    body = {"model": "asked-for", "max_tokens": 100, "system": "Be kind.", "messages": [{"role": "user", "content": text}]}
    return post(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body)["content"][0]["text"]


def silent(text):
    return "I asked nobody."


def stubborn(text):
    """Swallows every error and says that all is well."""
    said = []
    for _ in range(3):
        try:
            said.append(ask([{"role": "user", "content": text}]))
        except urllib.error.HTTPError as error:
            said.append("fine")
    return " ".join(said)


def patient(text):
    """Tries again after any failure."""
    for _ in range(5):
        try:
            return ask([{"role": "user", "content": text}])
        except Exception as error:
            print("again after", type(error).__name__)
    return "gave up"


def keys(text):
    return {"text": ask([{"role": "user", "content": os.environ["OPENAI_API_KEY"][:11] + " " + os.environ.get("MINE", "")}]), "tool_calls": []}
