// An agent of the AI SDK on a mock model; a function that streams; and a tool that the host has to call.

import { jsonSchema, streamText, tool, ToolLoopAgent } from 'ai';
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
