// Agents of OpenAI Agents for JavaScript with its own client: Responses, and chat completions.
import { Agent, OpenAIChatCompletionsModel, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

const weather = tool({
  name: 'weather',
  description: 'The weather.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `clear over ${city}`,
});
const of = (model) => new Agent({ name: 'Weather', instructions: 'Be kind.', model, tools: [weather] });
export const responses = of('asked-for');
export const chat = of(new OpenAIChatCompletionsModel(new OpenAI(), 'asked-for'));
