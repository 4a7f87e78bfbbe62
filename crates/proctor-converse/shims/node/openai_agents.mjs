// Agents of OpenAI Agents for JavaScript (`@openai/agents`), recognised by their shape.

import { AgentProblem, typeName, usage } from './answer.mjs';
import { Calls, given } from './calls.mjs';
import { packageCopies } from './project_modules.mjs';

const PACKAGES = ['@openai/agents', '@openai/agents-core'];

/** Whether it is an agent of this framework. */
export const isOpenAIAgent = (value) =>
  Array.isArray(value.handoffs) &&
  ['asTool', 'getSystemPrompt', 'getAllTools', 'processFinalOutput'].every((name) => typeof value[name] === 'function');

/** Whether it is what a run of this framework gives. */
export const isOpenAIResult = (value) =>
  'newItems' in value && 'rawResponses' in value && 'finalOutput' in value && Array.isArray(value.newItems);

/** A conversation: each turn is given the history of the one before, and goes to the agent that a handoff has led to. */
export class OpenAIAgents {
  constructor(agent, source) {
    this.agent = agent;
    this.source = source;
    this.history = [];
  }

  async answer(turn) {
    if (turn.text === undefined) throw new AgentProblem('an agent of OpenAI Agents makes its calls itself; the host cannot make them');
    this.run ??= await runOf(this.agent, this.source);
    const result = await this.run(this.agent, [...this.history, { type: 'message', role: 'user', content: turn.text }]);
    const answer = readOpenAIResult(result);
    this.history = result.history;
    this.agent = result.lastAgent;
    return answer;
  }
}

/** `run` of the copy of the package that made the agent: another copy does not know its handoffs and settings. */
async function runOf(agent, source) {
  for (const name of PACKAGES) {
    for await (const copy of packageCopies(name)) {
      if (typeof copy.run === 'function' && typeof copy.Agent === 'function' && agent instanceof copy.Agent) return copy.run;
    }
  }
  throw new AgentProblem(
    `${source} is an agent of OpenAI Agents, but the package that made it is not found from its file or the project's root; name a function that calls \`run(agent, …)\` and returns its result`,
  );
}

/** The answer in the result of a run, streamed or not. */
export async function readOpenAIRun(result, turn) {
  if (result.completed instanceof Promise) await finishStream(result, turn);
  return readOpenAIResult(result);
}

async function finishStream(result, turn) {
  // A stream that the agent has read already cannot be read again.
  if (!result.toStream().locked) {
    for await (const event of result) {
      if (event.type === 'raw_model_stream_event' && event.data?.type === 'output_text_delta') turn.firstToken();
    }
  }
  await result.completed;
}

function readOpenAIResult(result) {
  const waiting = result.interruptions ?? [];
  if (waiting.length > 0) {
    const names = waiting.map((item) => `\`${item.name ?? item.rawItem?.name ?? '?'}\``).join(', ');
    throw new AgentProblem(`the agent waits for the approval of ${names}, which a scenario cannot give`);
  }
  const calls = new Calls();
  for (const item of result.newItems) readItem(item, calls);
  const spent = result.state?.usage ?? result.runContext?.usage;
  return {
    text: outputText(result.finalOutput),
    tool_calls: calls.all,
    metadata: usage(spent?.inputTokens, spent?.outputTokens, { agent: result.lastAgent?.name }),
  };
}

function readItem(item, calls) {
  const raw = item.rawItem ?? {};
  const id = raw.callId ?? raw.id;
  if (item.type === 'tool_call_item' || item.type === 'handoff_call_item') {
    readCall(raw, id, calls);
  } else if (item.type === 'tool_call_output_item') {
    calls.finish(id, { result: given(item.output) });
  } else if (item.type === 'handoff_output_item') {
    calls.finish(id, { result: given(raw.output) });
  }
}

/** Tools of the provider (`hosted_tool_call`) were called by it: the result, if it is told at all, stands in the call. */
function readCall(raw, id, calls) {
  const { name = String(raw.type ?? '').replace(/_call$/, ''), arguments: asked, type, callId, id: own, status, providerData, output, ...rest } = raw;
  calls.add(name, asked ?? rest, id, output === undefined ? {} : { result: output });
}

function outputText(output) {
  if (typeof output === 'string') return output;
  if (output === undefined || output === null) throw new AgentProblem(`OpenAI Agents ended without an output (${typeName(output)})`);
  return JSON.stringify(output);
}
