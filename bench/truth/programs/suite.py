"""A suite that speaks the worker protocol, written from docs/protocol.md alone. Situations override what they want to get wrong."""

import json
import os
import socket
import sys
import time


class Suite:
    """`examples` maps keys to the status that is reported for them."""

    examples = {}
    file = "./suite.py"
    group = "S"

    def __init__(self):
        self.socket = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
        os.set_inheritable(self.socket.fileno(), False)
        self.incoming = self.socket.makefile("r", encoding="utf-8", newline="\n")
        self.queue = []

    def raw(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def send(self, message):
        self.raw(json.dumps(message) + "\n")

    def event(self, kind, **payload):
        self.send({"type": "event", "event_type": kind, "payload": payload})

    def started(self, item):
        self.event("ExampleStarted", key=item["key"], repeat=item["repeat"], attempt=item["attempt"])

    def finished(self, item, status, **more):
        self.event("ExampleFinished", key=item["key"], repeat=item["repeat"], attempt=item["attempt"], status=status, duration_ms=1.0, **more)

    # What a situation overrides.
    def hello(self):
        return {"protocol": 1, "name": "mine", "version": "1", "pid": os.getpid(), "capabilities": ["list", "run"]}

    def described(self):
        return [{"key": key, "file": self.file, "path": [self.group, key]} for key in self.examples]

    def list(self, message):
        self.send({"type": "examples", "examples": self.described()})
        return {"count": len(self.examples), "errors": []}

    def accept(self, items):
        return {"accepted": len(items)}

    def run(self, item):
        self.started(item)
        status, _, fault = self.examples[item["key"]].partition(":")
        more = {"fault": fault} if fault else {}
        if status in ("failed", "errored"):
            more["exception"] = {"class": "Error", "message": "it went wrong", "backtrace": []}
        self.finished(item, status, **more)

    def unrun(self, message):
        wanted = None if message.get("all") else set(message.get("keys") or [])
        back = [item for item in self.queue if wanted is None or item["key"] in wanted]
        self.queue = [item for item in self.queue if item not in back]
        return {"returned": [item["key"] for item in back], "items": back}

    def shutdown(self):
        return {"status": "shutting_down"}

    def leave(self):
        sys.exit(0)

    def answer(self, message):
        action = message["action"]
        if action == "hello":
            return self.hello()
        if action == "list":
            return self.list(message)
        if action == "run":
            items = [item for unit in message["units"] for item in unit]
            self.queue += items
            return self.accept(items)
        if action == "unrun":
            return self.unrun(message)
        if action == "cancel":
            return {"status": "cancelling"}
        if action == "__shutdown__":
            return self.shutdown()
        return {"error": {"code": "unknown_action", "message": "no " + action}}

    def main(self):
        for line in self.incoming:
            message = json.loads(line)
            if "id" not in message or "action" not in message:
                continue
            reply = self.answer(message)
            if reply is not None:
                self.send({"reply_to": message["id"], **reply})
            if message["action"] == "__shutdown__":
                self.leave()
            while self.queue:
                self.run(self.queue.pop(0))
        sys.exit(0)


__all__ = ["Suite", "json", "os", "sys", "time"]
