// An agent of Mastra with the client of the AI SDK.
import { openai } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

const weather = createTool({
  id: 'weather',
  description: 'The weather.',
  inputSchema: z.object({ city: z.string() }),
  execute: async (given) => `clear over ${(given.context ?? given).city}`,
});
export const agent = new Agent({ id: 'weather', name: 'Weather', instructions: 'Be kind.', model: openai('asked-for'), tools: { weather } });
