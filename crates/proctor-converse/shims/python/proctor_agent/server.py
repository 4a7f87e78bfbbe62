"""The program: reads requests in one thread, loads the agent and runs the event loop in the main thread, answers in one thread for
each conversation. Asynchronous agents share one event loop, as they would in a server."""

import faulthandler
import os
import queue
import sys
import threading

from .answer import AgentProblem
from .channel import Channel
from .conversation import Conversation
from .output import attribute_output
from .target import load

START_LOOP = object()
STOP = object()


class Server:
    def __init__(self, target):
        self.channel = Channel()
        self._target = target
        self._for_main = queue.SimpleQueue()
        self._conversations = {}
        self._make_session = None
        self._loop = None
        self._loop_lock = threading.Lock()
        self._loop_started = threading.Event()
        self._futures = {}

    def serve(self):
        attribute_output(self.channel)
        threading.Thread(target=self._read, name="requests", daemon=True).start()
        while True:
            job = self._for_main.get()
            if job is STOP:
                return
            if job is START_LOOP:
                return self._run_loop()
            self._load(job)

    # Requests.

    def _read(self):
        try:
            for message in self.channel.lines():
                self._take(message)
        finally:
            self._stop()

    def _take(self, message):
        action, request_id = message.get("action"), message.get("id")
        if message.get("type") == "cancel_request":
            self._cancel(request_id)
        elif action == "agent.chat":
            self._conversation(message["conversation_id"]).ask(message)
        elif action == "hello":
            self.channel.reply(request_id, self._hello())
        elif action == "agent.load":
            self._for_main.put(request_id)
        elif action == "agent.alive":
            self._say_alive(request_id)
        elif action == "agent.reset":
            conversation = self._conversations.pop(message.get("conversation_id"), None)
            if conversation:
                conversation.end()
            self.channel.reply(request_id, {})
        elif action == "__shutdown__":
            self.channel.reply(request_id, {"status": "shutting_down"})
            self._stop()
        elif action and request_id:
            error = {"code": "unknown_action", "message": "no action %s" % action}
            self.channel.send({"reply_to": request_id, "error": error})

    @staticmethod
    def _hello():
        version = "%d.%d.%d" % sys.version_info[:3]
        capabilities = ["agent.chat", "agent.load", "agent.alive"]
        return {"protocol": 1, "name": "python", "version": version, "pid": os.getpid(), "capabilities": capabilities}

    def _conversation(self, name):
        if name not in self._conversations:
            self._conversations[name] = Conversation(name, self)
        return self._conversations[name]

    def _cancel(self, request_id):
        for conversation in list(self._conversations.values()):
            if conversation.request_id == request_id:
                conversation.report_place()
        future = self._futures.get(request_id)
        if future:
            future.cancel()

    def _say_alive(self, request_id):
        def reply():
            self.channel.reply(request_id, {})

        if self._loop is None:
            reply()
        else:
            self._loop.call_soon_threadsafe(reply)

    def _stop(self):
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._for_main.put(STOP)

    # The agent.

    def _load(self, request_id):
        # Imported here, because it is a moment of work that the greeting need not wait for.
        from .plain import session_maker

        try:
            target, source = load(self._target)
            self._make_session = session_maker(target, source)
        except AgentProblem as problem:
            self.channel.refuse(request_id, str(problem), "AgentProblem")
        else:
            self.channel.reply(request_id, {})

    def new_session(self, turn):
        return self._make_session(turn.run)

    # The event loop.

    def run(self, awaitable, request_id):
        """The result of an awaitable, which runs on the event loop. Called by the threads of conversations."""
        import asyncio

        async def wait():
            try:
                return await awaitable
            except SystemExit as error:
                # It would end the event loop, and with it all other conversations.
                raise AgentProblem("it called exit with %r instead of answering" % (error.code,))

        future = asyncio.run_coroutine_threadsafe(wait(), self._started_loop())
        self._futures[request_id] = future
        try:
            return future.result()
        finally:
            self._futures.pop(request_id, None)

    def _started_loop(self):
        with self._loop_lock:
            if not self._loop_started.is_set():
                self._for_main.put(START_LOOP)
                self._loop_started.wait()
        return self._loop

    def _run_loop(self):
        import asyncio

        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        self._loop = loop
        loop.call_soon(self._loop_started.set)
        loop.run_forever()


def serve(target):
    faulthandler.enable()
    Server(target).serve()
    sys.stdout.flush()
    sys.stderr.flush()
