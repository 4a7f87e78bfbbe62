// Agents of the AI SDK with its own clients: Responses, chat completions and Messages.
import { anthropic } from '@ai-sdk/anthropic';
import { openai } from '@ai-sdk/openai';
import { ToolLoopAgent, tool } from 'ai';
import { z } from 'zod';

const weather = tool({
  description: 'The weather.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `clear over ${city}`,
});
const of = (model) => new ToolLoopAgent({ model, instructions: 'Be kind.', tools: { weather } });
export const responses = of(openai('asked-for'));
export const chat = of(openai.chat('asked-for'));
export const claude = of(anthropic('asked-for'));
