"""The agent under test, behind an HTTP interface of its own. Put yours in its place, in any language."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(messages):
    if "table" in messages[-1]["content"]:
        free = free_tables(guests=4)
        calls = [{"name": "free_tables", "arguments": {"guests": 4}, "result": free}]
        return {"reply": "There is a table at %s." % free[0], "calls": calls}
    return {"reply": "Good evening! How can I help?", "calls": []}


def free_tables(guests):
    return ["19:00", "20:30"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(answer(asked["messages"])).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
