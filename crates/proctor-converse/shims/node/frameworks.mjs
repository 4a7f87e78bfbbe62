// Agents and results of frameworks, recognised by their shape: nothing is imported that the project does not have.
//
// A driver is a session: it keeps the history of one conversation as its framework does. A reader takes a result apart: text, calls that
// were made, calls that are asked for, tokens. Readers serve functions that return a framework's result, too.

import { randomUUID } from 'node:crypto';
import { AgentProblem, usage } from './answer.mjs';
import { Calls, given } from './calls.mjs';
import { isOpenAIAgent, isOpenAIResult, OpenAIAgents, readOpenAIRun } from './openai_agents.mjs';

const has = (value, ...methods) => methods.every((name) => typeof value?.[name] === 'function');
const isObject = (value) => typeof value === 'object' && value !== null;

/** The class that begins a conversation with an agent of a framework; undefined for everything else. */
export function driver(value) {
  if (!isObject(value)) return undefined;
  if (has(value, 'generate', 'stream', 'getLLM', 'hasOwnMemory')) return Mastra;
  if (has(value, 'generate', 'stream') && String(value.version ?? '').startsWith('agent-')) return AiSdk;
  if (isOpenAIAgent(value)) return OpenAIAgents;
  return undefined;
}

/** The answer in a framework's result; undefined for everything else. */
export async function readResult(value, turn) {
  if (!isObject(value)) return undefined;
  if (isOpenAIResult(value)) return readOpenAIRun(value, turn);
  if (isObject(value.textStream) && 'steps' in value) return readAiSdkStream(value, turn);
  if (Array.isArray(value.steps) && 'finishReason' in value && isObject(value.totalUsage ?? value.usage)) {
    return readSteps(value.steps, value.text, value.totalUsage ?? value.usage);
  }
  return undefined;
}

const errorText = (error) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error?.message ?? error));

/** The results of the calls that the agent asked for last. */
function toolResults(turn) {
  const results = [];
  for (const message of [...turn.messages].reverse()) {
    if (message.role !== 'tool') break;
    results.unshift(message);
  }
  return results;
}

// AI SDK

class AiSdk {
  constructor(agent) {
    this.agent = agent;
    this.history = [];
    this.asked = new Map();
  }

  async answer(turn) {
    this.history.push(turn.text === undefined ? this.results(turn) : { role: 'user', content: turn.text });
    const result = await this.agent.generate({ messages: [...this.history] });
    this.history.push(...responseMessages(result));
    const answer = readSteps(result.steps, result.text, result.totalUsage ?? result.usage);
    for (const one of answer.pending_tool_calls ?? []) this.asked.set(one.id, one.name);
    return answer;
  }

  results(turn) {
    const content = toolResults(turn).map((message) => ({
      type: 'tool-result',
      toolCallId: message.tool_call_id,
      toolName: this.asked.get(message.tool_call_id) ?? '',
      output: { type: 'text', value: message.content },
    }));
    return { role: 'tool', content };
  }
}

/** The messages that a run has added. Before version 7, each step had those of the steps before it, too. */
function responseMessages(result) {
  return result.responseMessages ?? result.response?.messages ?? [];
}

/** The stream of texts just ends where the model fails; the whole stream has the error. */
async function readAiSdkStream(result, turn) {
  for await (const part of result.fullStream ?? result.textStream) {
    if (part?.type === 'error') throw part.error;
    if (part?.type === 'abort') throw new AgentProblem('the stream was aborted before its end');
    if (typeof part === 'string' || part?.type === 'text-delta') turn.firstToken();
  }
  const [steps, text, spent] = await Promise.all([result.steps, result.text, result.totalUsage ?? result.usage]);
  return readSteps(steps, text, spent);
}

/** The answer in the steps of a run: those of the AI SDK and of Mastra. */
function readSteps(steps, text, spent) {
  const ended = steps.at(-1)?.finishReason;
  if (ended === 'error') throw new AgentProblem('the model ended its answer with an error');
  const calls = new Calls();
  for (const step of steps) readParts(partsOf(step), calls);
  const answer = {
    text: text ?? '',
    tool_calls: calls.made,
    metadata: usage(spent?.inputTokens, spent?.outputTokens, { model: steps.at(-1)?.response?.modelId || undefined }),
  };
  if (calls.asked.length > 0) answer.pending_tool_calls = calls.asked;
  return answer;
}

/** What a step consists of. Mastra puts calls and results beside the content, each with a payload. */
function partsOf(step) {
  const listed = [...(step.toolCalls ?? []), ...(step.toolResults ?? [])];
  if (!listed.some((part) => isObject(part.payload))) return step.content ?? listed;
  return [...listed.map((part) => ({ type: part.type, ...part.payload })), ...failedCalls(step.content ?? [])];
}

/** Mastra lists calls that failed in the content alone. */
function failedCalls(content) {
  const failed = content.filter((part) => part.type === 'tool-result' && String(part.output?.type).startsWith('error'));
  return failed.map((part) => ({ type: 'tool-error', toolCallId: part.toolCallId, error: part.output.value }));
}

function readParts(parts, calls) {
  for (const part of parts) {
    if (part.type === 'tool-call') {
      const problem = part.invalid ? { error: `it could not be made: ${errorText(part.error ?? 'invalid')}` } : {};
      calls.add(part.toolName, part.input ?? part.args, part.toolCallId, problem);
    } else if (part.type === 'tool-result' && part.isError) {
      calls.finish(part.toolCallId, { error: errorText(part.result ?? part.output) });
    } else if (part.type === 'tool-result') {
      calls.finish(part.toolCallId, { result: given('output' in part ? part.output : part.result) });
    } else if (part.type === 'tool-error') {
      calls.finish(part.toolCallId, { error: errorText(part.error) });
    } else if (part.type === 'tool-approval-request') {
      throw new AgentProblem(`the agent waits for the approval of \`${part.toolCall?.toolName}\`, which a scenario cannot give`);
    }
  }
}

// Mastra

/** An agent with a memory keeps the conversation under its thread; one without is given the whole history. */
class Mastra {
  constructor(agent) {
    this.agent = agent;
    this.history = [];
    // Not the conversation's name, which is the same in each run: a memory that is kept on disk would go on with an earlier one.
    this.thread = randomUUID();
  }

  async answer(turn) {
    if (turn.text === undefined) throw new AgentProblem('an agent of Mastra makes its calls itself; the host cannot make them');
    const said = { role: 'user', content: turn.text };
    const remembers = this.agent.hasOwnMemory();
    const thread = { memory: { thread: this.thread, resource: this.thread } };
    const result = remembers
      ? await this.agent.generate([said], thread)
      : await this.agent.generate([...this.history, said]);
    if (result.error) throw result.error;
    if (result.tripwire) throw new AgentProblem(`a processor stopped the agent: ${result.tripwire.reason ?? result.tripwireReason ?? 'no reason'}`);
    if (result.finishReason === 'suspended') throw new AgentProblem('the agent waits for an approval, which a scenario cannot give');
    this.history.push(said, ...(result.response?.messages ?? [{ role: 'assistant', content: result.text }]));
    return readSteps(result.steps ?? [], result.text, result.totalUsage ?? result.usage);
  }
}
