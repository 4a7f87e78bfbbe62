"""The trace that a turn belongs to: spans that OpenTelemetry makes meanwhile are parts of it. Does nothing where it is not installed."""

FLUSH_MILLIS = 5000


class TraceContext:
    """The context of one turn, in the thread of its conversation. Tasks of the event loop that the thread starts inherit it."""

    def __init__(self, traceparent):
        self._token = None
        self._context = None
        if not traceparent:
            return
        try:
            from opentelemetry import context
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError:
            return
        self._context = context
        # Not the context before it: the spans of a turn are not parts of the last one's.
        inner = TraceContextTextMapPropagator().extract({"traceparent": traceparent}, context.Context())
        self._token = context.attach(inner)

    def finish(self, notify):
        """Leaves the context, has all spans sent, and says whether they were."""
        if self._token is None:
            return
        self._context.detach(self._token)
        complete = flush()
        if complete is not None:
            notify(complete)


def flush():
    """Whether the spans that have ended were sent; None if nothing can be asked for it."""
    from opentelemetry import trace

    force_flush = getattr(trace.get_tracer_provider(), "force_flush", None)
    if force_flush is None:
        return None
    try:
        return force_flush(FLUSH_MILLIS) is not False
    except Exception:
        return False
