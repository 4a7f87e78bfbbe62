// A model of the AI SDK that follows the rules.

import { MockLanguageModelV3 } from 'ai/test';
import { decide } from './rules.mjs';

const textOf = (content) => content.filter((part) => part.type === 'text').map((part) => part.text).join('');
const valueOf = ({ type, value }) => (type === 'text' || type === 'error-text' ? value : JSON.stringify(value));

function step(prompt) {
  const users = prompt.filter((message) => message.role === 'user').map((message) => textOf(message.content));
  const last = prompt.at(-1);
  return decide(users, last.role === 'tool' ? valueOf(last.content.at(-1).output) : undefined);
}

function generated({ prompt }) {
  const next = step(prompt);
  const content = next.call
    ? [{ type: 'tool-call', toolCallId: `call-${prompt.length}`, toolName: next.call, input: JSON.stringify(next.arguments) }]
    : [{ type: 'text', text: next.say }];
  const reason = next.call ? 'tool-calls' : 'stop';
  const usage = { inputTokens: { total: 7, noCache: 7 }, outputTokens: { total: 3, text: 3 } };
  return { content, finishReason: { unified: reason, raw: reason }, usage, warnings: [] };
}

function streamed(options) {
  const { content, finishReason, usage } = generated(options);
  const parts = content.flatMap((part) =>
    part.type === 'text'
      ? [{ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: part.text }, { type: 'text-end', id: 't' }]
      : [part],
  );
  const all = [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage }];
  return { stream: ReadableStream.from(all) };
}

export const model = () => new MockLanguageModelV3({ doGenerate: async (options) => generated(options), doStream: async (options) => streamed(options) });
