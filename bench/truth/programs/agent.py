"""An agent under test that speaks the worker protocol. Situations override `chat`."""

import json
import os
import socket
import sys
import time


class Agent:
    """Answers every turn with `text`."""

    text = "Hello"

    def __init__(self):
        self.socket = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
        os.set_inheritable(self.socket.fileno(), False)
        self.incoming = self.socket.makefile("r", encoding="utf-8", newline="\n")

    def raw(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def count(self):
        """How often this was asked in this project: 0, 1, 2, …"""
        n = int(open("n").read()) if os.path.exists("n") else 0
        open("n", "w").write(str(n + 1))
        return n

    def hello(self):
        return {"protocol": 1, "name": "agent", "version": "1", "pid": os.getpid(), "capabilities": []}

    def chat(self, message):
        return {"text": self.text}

    def said(self, message):
        users = [m for m in message["messages"] if m.get("role") == "user"]
        return users[-1].get("content", "") if users else ""

    def results(self, message):
        """How many tool results this turn has so far."""
        return sum(1 for m in message["messages"] if m.get("role") == "tool")

    def main(self):
        for line in self.incoming:
            message = json.loads(line)
            action = message.get("action")
            if "id" not in message or not action:
                continue
            reply = {"hello": lambda: self.hello(), "agent.chat": lambda: self.chat(message), "agent.reset": lambda: {},
                     "__shutdown__": lambda: {"status": "shutting_down"}}.get(action, lambda: {"error": {"code": "unknown_action", "message": action}})()
            if reply is not None:
                self.raw(json.dumps({"reply_to": message["id"], **reply}) + "\n")
            if action == "__shutdown__":
                sys.exit(0)
        sys.exit(0)


__all__ = ["Agent", "json", "os", "sys", "time"]
