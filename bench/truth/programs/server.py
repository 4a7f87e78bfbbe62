"""An agent behind HTTP, or a model's endpoint. Situations override `answer`, which gives (status, headers, body)."""

import http.server
import json
import os
import socketserver
import sys
import time


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128


def serve(answer):
    """Listens on the port of the command line; `answer(request, n)` gets the body as JSON and how often it was asked before."""
    asked = {"n": -1}

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked["n"] += 1
            try:
                request = json.loads(body)
            except ValueError:
                request = {}
            status, headers, answered = answer(request, asked["n"])
            if status == "close":
                self.connection.close()
                return
            if isinstance(answered, (dict, list)):
                answered, headers = json.dumps(answered), {"Content-Type": "application/json", **headers}
            data = answered if isinstance(answered, bytes) else answered.encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()
            self.close_connection = True

    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()


__all__ = ["json", "os", "serve", "sys", "time"]
