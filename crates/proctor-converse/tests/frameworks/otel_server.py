"""An HTTP agent whose server continues the trace of each request."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tracing  # noqa: F401
from opentelemetry import context, trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from otel_agent import agent

tracer = trace.get_tracer("server")


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        token = context.attach(TraceContextTextMapPropagator().extract(dict(self.headers)))
        with tracer.start_as_current_span("POST /", kind=trace.SpanKind.SERVER):
            answer = agent(body["message"])
        context.detach(token)
        text = json.dumps(answer if isinstance(answer, dict) else {"text": answer}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *given):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
