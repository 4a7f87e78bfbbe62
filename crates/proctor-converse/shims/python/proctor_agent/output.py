"""What the agent prints, attributed to the conversation for which it is printed.

`sys.stdout` and `sys.stderr` are replaced. Text printed on behalf of a conversation goes to Proctor over the channel, line by line; all
other text goes where it went before. A thread that the agent starts itself is on behalf of no conversation.
"""

import contextvars
import io
import sys
import threading

current = contextvars.ContextVar("proctor_conversation", default=None)


class AttributedStream(io.TextIOBase):
    def __init__(self, plain, name, channel):
        self._plain = plain
        self._name = name
        self._channel = channel
        self._partial = {}
        self._lock = threading.Lock()

    def write(self, text):
        conversation = current.get()
        if conversation is None:
            return self._plain.write(text)
        with self._lock:
            held = self._partial.pop(conversation, "") + text
            whole, newline, rest = held.rpartition("\n")
            if rest:
                self._partial[conversation] = rest
        if newline:
            self._report(conversation, whole)
        return len(text)

    def _report(self, conversation, text):
        text = text.encode("utf-8", "replace").decode("utf-8")[: 1 << 20]
        fields = {"conversation_id": conversation, "stream": self._name, "text": text}
        self._channel.notify("agent.output", fields)

    def finish(self, conversation):
        """Sends what is left of the last line."""
        with self._lock:
            rest = self._partial.pop(conversation, "")
        if rest:
            self._report(conversation, rest)

    def flush(self):
        self._plain.flush()

    def isatty(self):
        return False

    def fileno(self):
        return self._plain.fileno()

    def writable(self):
        return True

    @property
    def buffer(self):
        return self._plain.buffer

    @property
    def encoding(self):
        return "utf-8"

    @property
    def errors(self):
        return "replace"


def attribute_output(channel):
    sys.stdout = AttributedStream(sys.stdout, "stdout", channel)
    sys.stderr = AttributedStream(sys.stderr, "stderr", channel)


def finish_output(conversation):
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, AttributedStream):
            stream.finish(conversation)
