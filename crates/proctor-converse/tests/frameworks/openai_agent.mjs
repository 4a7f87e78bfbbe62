// Agents of OpenAI Agents for JavaScript on a model of their own: one with tools, one that hands over, functions that return a run's result.

import { Agent, handoff, run, setTracingDisabled, tool, Usage } from '@openai/agents';
import { z } from 'zod';
import { decide } from './rules.mjs';

setTracingDisabled(true);

const textOf = (content) => (typeof content === 'string' ? content : content.map((part) => part.text ?? '').join(''));
const outputOf = (item) => (typeof item.output === 'string' ? item.output : item.output.text);

function output({ input }) {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const users = items.filter((item) => item.role === 'user').map((item) => textOf(item.content));
  const last = items.at(-1);
  const next = decide(users, last.type === 'function_call_result' ? outputOf(last) : undefined);
  if (next.call) {
    return { type: 'function_call', callId: `call-${items.length}`, name: next.call, arguments: JSON.stringify(next.arguments), status: 'completed' };
  }
  return { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: next.say }] };
}

const usage = new Usage({ requests: 1, inputTokens: 7, outputTokens: 3, totalTokens: 10 });

const model = {
  getResponse: async (request) => ({ output: [output(request)], usage }),
  async *getStreamedResponse(request) {
    const made = output(request);
    if (made.content) yield { type: 'output_text_delta', delta: made.content[0].text };
    yield { type: 'response_done', response: { id: 'r', output: [made], usage } };
  },
};

const parameters = z.object({ city: z.string() });

const weather = tool({
  name: 'weather',
  description: 'The weather',
  parameters,
  execute: async ({ city }) => {
    console.log('looking at', city);
    return { city, sky: 'clear' };
  },
});

const broken = tool({
  name: 'broken',
  description: 'A tool that fails',
  parameters,
  errorFunction: (context, error) => `error: ${error.message}`,
  execute: async () => {
    throw new Error('the station is off');
  },
});

const guarded = tool({ name: 'weather', description: 'The weather', parameters, needsApproval: true, execute: async () => 'clear' });

export const agent = new Agent({ name: 'Weather', model, tools: [weather, broken] });
export const waiting = new Agent({ name: 'Waiting', model, tools: [guarded] });
export const whole = (text) => run(agent, text);
export const streaming = (text) => run(agent, text, { stream: true });

// The desk hands over at once, by a handoff with settings of its own; then the other agent keeps the conversation.
const transferring = {
  getResponse: async () => ({
    output: [{ type: 'function_call', callId: 'h1', name: 'ask_the_station', arguments: '{}', status: 'completed' }],
    usage,
  }),
};
export const desk = new Agent({ name: 'Desk', model: transferring, handoffs: [handoff(agent, { toolNameOverride: 'ask_the_station' })] });
