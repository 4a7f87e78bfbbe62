"""A judge that is a command: the prompt on standard input, the answer on standard output. Situations choose what it prints."""

import json
import re
import sys
import time

prompt = sys.stdin.read()
ids = re.findall(r"^## (\S+?):", prompt, re.M)
mark = (re.findall(r"^<<(\S+)", prompt, re.M) or re.findall(r"<<(\S+)", prompt) or [""])[0]


def shape():
    """The object that the prompt asks for, without its answers: whatever stands beside `answers` is copied."""
    for line in prompt.splitlines():
        line = line.strip()
        if line.startswith("{") and '"answers"' in line:
            beside = re.findall(r'"(\w+)": "([^"<>]*)"', line.split('"answers"')[0] + line.rpartition("]")[2])
            return dict(beside)
    return {}


def entry(id, satisfied, **more):
    return {"id": id, "reasoning": "because", "satisfied": satisfied, **more}


def honest(satisfied, **more):
    """An answer in the form that was asked for."""
    return json.dumps({**shape(), "answers": [entry(id, satisfied, **more) for id in ids]})


def said_by_agent():
    return re.findall(r"turn \d+, agent[^\n]*\n(.*?)\n\S+>>", prompt, re.S)


__all__ = ["entry", "honest", "ids", "json", "mark", "prompt", "re", "said_by_agent", "shape", "sys", "time"]
