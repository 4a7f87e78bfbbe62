// What the agent prints, attributed to the conversation for which it is printed: that text goes to Proctor over the channel, line by
// line; all other text goes where it went before.

import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage();
const partial = new Map();
let report;

/** Runs a function on behalf of a conversation. */
export const forConversation = (name, work) => current.run(name, work);

/** Replaces the streams' `write`; `send(conversation, stream, text)` takes whole lines. */
export function attributeOutput(send) {
  report = send;
  attribute(process.stdout, 'stdout');
  attribute(process.stderr, 'stderr');
}

function attribute(stream, name) {
  const write = stream.write.bind(stream);
  stream.write = (chunk, encoding, done) => {
    const conversation = current.getStore();
    if (conversation === undefined) return write(chunk, encoding, done);
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    take(conversation, name, text);
    const callback = typeof encoding === 'function' ? encoding : done;
    if (callback) process.nextTick(callback);
    return true;
  };
}

const keyOf = (conversation, stream) => `${stream} ${conversation}`;

function take(conversation, stream, text) {
  const key = keyOf(conversation, stream);
  const held = (partial.get(key) ?? '') + text;
  const end = held.lastIndexOf('\n');
  partial.set(key, held.slice(end + 1));
  if (end >= 0) report(conversation, stream, held.slice(0, Math.min(end, 1 << 20)));
}

/** Sends what is left of the last lines. */
export function finishOutput(conversation) {
  for (const stream of ['stdout', 'stderr']) {
    const rest = partial.get(keyOf(conversation, stream));
    partial.delete(keyOf(conversation, stream));
    if (rest) report(conversation, stream, rest);
  }
}
