// An agent of Mastra on a mock model.

import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { model } from './mock_model.mjs';

const inputSchema = z.object({ city: z.string() });

const weather = createTool({
  id: 'weather',
  description: 'The weather',
  inputSchema,
  execute: async (given) => {
    const city = given.city ?? given.context.city;
    console.log('looking at', city);
    return { city, sky: 'clear' };
  },
});

const broken = createTool({
  id: 'broken',
  description: 'A tool that fails',
  inputSchema,
  execute: async () => {
    throw new Error('the station is off');
  },
});

export const agent = new Agent({ id: 'weather', name: 'weather', instructions: 'Answer', model: model(), tools: { weather, broken }, maxRetries: 0 });
