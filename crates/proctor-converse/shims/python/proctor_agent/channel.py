"""The channel to Proctor: one JSON object a line over an inherited socket."""

import json
import os
import socket
import threading

# Longer lines are refused by the host.
MAX_LINE = 8 * 1024 * 1024 - 1024


class Unsendable(Exception):
    """A message that cannot be written as a line of JSON."""


def encode(message):
    try:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        line = text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        raise Unsendable("it holds half of a surrogate pair, which is no text")
    except (TypeError, ValueError, RecursionError) as error:
        raise Unsendable("it cannot be written as JSON: %s" % error)
    if len(line) > MAX_LINE:
        raise Unsendable("it has %d bytes, at most %d are allowed" % (len(line), MAX_LINE))
    return line


class Channel:
    """Sends from any thread; is read by one."""

    def __init__(self):
        # Not for child processes: they would keep the channel open.
        descriptor = int(os.environ.pop("RPC_SOCKET_FD"))
        os.set_inheritable(descriptor, False)
        self._socket = socket.socket(fileno=descriptor)
        self._lock = threading.Lock()

    def lines(self):
        with self._socket.makefile("rb") as incoming:
            for line in incoming:
                yield json.loads(line)

    def send(self, message):
        line = encode(message)
        try:
            with self._lock:
                self._socket.sendall(line)
        except OSError:
            os._exit(0)  # Proctor has ended.

    def reply(self, request_id, fields):
        self.send(dict(fields, reply_to=request_id))

    def refuse(self, request_id, message, kind):
        error = {"code": "failed", "message": message, "data": {"class": kind}}
        self.send({"reply_to": request_id, "error": error})

    def notify(self, kind, fields):
        self.send(dict(fields, type=kind))
