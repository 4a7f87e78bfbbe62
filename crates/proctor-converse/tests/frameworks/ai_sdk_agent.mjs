// An agent of the AI SDK on a mock model; a function that streams; and a tool that the host has to call.

import { isStepCount, jsonSchema, streamText, tool, ToolLoopAgent } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { model } from './mock_model.mjs';

const inputSchema = jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] });

const weather = tool({
  description: 'The weather',
  inputSchema,
  execute: async ({ city }) => {
    console.log('looking at', city);
    return { city, sky: 'clear' };
  },
});

const broken = tool({
  description: 'A tool that fails',
  inputSchema,
  execute: async () => {
    throw new Error('the station is off');
  },
});

export const agent = new ToolLoopAgent({ model: model(), tools: { weather, broken }, maxRetries: 0 });
export const asking = new ToolLoopAgent({ model: model(), tools: { weather: tool({ description: 'The weather', inputSchema }) } });
export const streaming = (messages) => streamText({ model: model(), messages });

/** Streams whose model fails: in the middle of its text, before the answer to a call, and whole answers that end with an error. */
const end = (unified) => ({ type: 'finish', finishReason: { unified, raw: unified }, usage: { inputTokens: { total: 7 }, outputTokens: { total: 3 } } });
const saying = (delta) => [{ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta }, { type: 'text-end', id: 't' }];
const of = (parts) => (messages) =>
  streamText({
    model: new MockLanguageModelV3({ doStream: async ({ prompt }) => ({ stream: ReadableStream.from(parts(prompt)) }) }),
    messages,
    tools: { weather },
    stopWhen: isStepCount(3),
    maxRetries: 0,
    onError: () => {},
  });

export const cut = of(() => [...saying('half an ans'), { type: 'error', error: new Error('the model is down') }]);
export const cutLater = of((prompt) => {
  if (prompt.at(-1).role === 'tool') throw new Error('the model is down');
  return [...saying('let me look'), { type: 'tool-call', toolCallId: 'c', toolName: 'weather', input: '{"city": "Berlin"}' }, end('tool-calls')];
});
export const ended = of(() => [...saying('half an ans'), end('error')]);
