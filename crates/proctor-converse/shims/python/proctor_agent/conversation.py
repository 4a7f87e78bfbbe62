"""One conversation: a thread that answers its turns one after the other.

A thread of its own, because what a synchronous agent opens in one turn (a database connection, say) is often bound to its thread.
"""

import queue
import sys
import threading
import traceback

from .answer import AgentProblem
from .channel import Unsendable
from .output import current, finish_output
from .target import summary
from .traces import TraceContext


class Turn:
    """What an agent is asked, and what it can do meanwhile."""

    def __init__(self, request, server):
        self.messages = request.get("messages", [])
        self.turn = request.get("turn")
        self.tools = request.get("tools", [])
        self.conversation_id = request["conversation_id"]
        last = self.messages[-1] if self.messages else {}
        self.text = last.get("content", "") if last.get("role") == "user" else None
        self.request_id = request["id"]
        self._server = server
        self._began = False

    def run(self, awaitable):
        return self._server.run(awaitable, self.request_id)

    def first_token(self):
        if not self._began:
            self._began = True
            self._server.channel.notify("agent.first_token", {"conversation_id": self.conversation_id})

    def tool_results(self):
        """The results of the calls that the agent asked for last, by id."""
        results = {}
        for message in reversed(self.messages):
            if message.get("role") != "tool":
                break
            results[message.get("tool_call_id")] = message.get("content", "")
        return results


class Conversation:
    def __init__(self, name, server):
        self.name = name
        self.request_id = None
        self._server = server
        self._session = None
        self._requests = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work, name="conversation", daemon=True)
        self.thread.start()

    def ask(self, request):
        self._requests.put(request)

    def end(self):
        self._requests.put(None)

    def _work(self):
        current.set(self.name)
        while True:
            request = self._requests.get()
            if request is None:
                return
            self.request_id = request["id"]
            try:
                self._answer(request)
            finally:
                self.request_id = None

    def _answer(self, request):
        channel = self._server.channel
        trace = TraceContext(request.get("traceparent"))
        try:
            turn = Turn(request, self._server)
            if self._session is None:
                self._session = self._server.new_session(turn)
            answer = self._session.answer(turn)
        except AgentProblem as problem:
            answer, failure = None, (str(problem), "AgentProblem")
        except BaseException as error:
            answer, failure = None, self._explain(error)
        trace.finish(self._spans_flushed)
        finish_output(self.name)
        try:
            if answer is None:
                channel.refuse(request["id"], *failure)
            else:
                channel.reply(request["id"], answer)
        except Unsendable as problem:
            channel.refuse(request["id"], "the answer cannot be sent: %s" % problem, "AgentProblem")

    def _spans_flushed(self, complete):
        self._server.channel.notify("agent.spans_flushed", {"conversation_id": self.name, "complete": complete})

    def _explain(self, error):
        """The traceback goes to the output of the conversation, its last line into the message."""
        sys.stderr.write("".join(traceback.format_exception(type(error), error, error.__traceback__)))
        if isinstance(error, SystemExit):
            return "it called exit with %r instead of answering" % (error.code,), "SystemExit"
        return "it raised " + encodable(summary(error)), type(error).__name__

    def report_place(self):
        """Prints where the conversation is, after it was given up."""
        frame = sys._current_frames().get(self.thread.ident)
        if frame is None:
            return
        stack = "".join(traceback.format_stack(frame)[-6:])
        text = "the answer did not come in time; this is where the agent was:\n" + encodable(stack)
        fields = {"conversation_id": self.name, "stream": "stderr", "text": text}
        self._server.channel.notify("agent.output", fields)


def encodable(text):
    return text.encode("utf-8", "replace").decode("utf-8")
