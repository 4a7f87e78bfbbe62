// The trace that a turn belongs to: spans that OpenTelemetry makes meanwhile are parts of it. Does nothing where no SDK is registered.

// Every copy of `@opentelemetry/api` keeps what is registered here.
const GLOBAL = Symbol.for('opentelemetry.js.api.1');
// The name under which every copy keeps the span of a context.
const SPAN_KEY = Symbol.for('OpenTelemetry Context Key SPAN');
const FLUSH_MILLIS = 5000;

const registered = () => globalThis[GLOBAL];

/** A context in which the span of the turn is the only thing. */
class TurnContext {
  constructor(values) {
    this.values = values;
  }

  getValue(key) {
    return this.values.get(key);
  }

  setValue(key, value) {
    return new TurnContext(new Map(this.values).set(key, value));
  }

  deleteValue(key) {
    const values = new Map(this.values);
    values.delete(key);
    return new TurnContext(values);
  }
}

/** A span of another program, which this one only continues. */
class RemoteSpan {
  constructor(spanContext) {
    this.context = spanContext;
  }

  spanContext() {
    return this.context;
  }

  isRecording() {
    return false;
  }

  end() {}

  recordException() {}
}
for (const name of ['setAttribute', 'setAttributes', 'addEvent', 'addLink', 'addLinks', 'setStatus', 'updateName']) {
  RemoteSpan.prototype[name] = function ignore() {
    return this;
  };
}

/** Runs a function in the trace that the header names. */
export function inTrace(traceparent, run) {
  const manager = registered()?.context;
  const parts = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '');
  if (!manager || !parts) return run();
  const spanContext = { traceId: parts[1], spanId: parts[2], traceFlags: Number.parseInt(parts[3], 16), isRemote: true };
  const context = new TurnContext(new Map([[SPAN_KEY, new RemoteSpan(spanContext)]]));
  return manager.with(context, run);
}

/**
 * Has all spans sent that have ended. That they were is not known afterwards: a processor of the SDK does not wait for requests
 * that others have begun, which may have the spans of this turn.
 */
export async function flushSpans(traceparent) {
  const provider = registered()?.trace;
  const flushing = provider?.getDelegate?.() ?? provider;
  if (!traceparent || typeof flushing?.forceFlush !== 'function') return;
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, FLUSH_MILLIS);
  });
  // Whoever waits for the spans finds out if they could not be sent.
  await Promise.race([flushing.forceFlush().catch(() => {}), late]);
  clearTimeout(timer);
}
