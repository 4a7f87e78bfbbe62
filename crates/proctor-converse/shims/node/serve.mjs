// Serves conversations with an agent in JavaScript or TypeScript: `serve.mjs TARGET`, started by Proctor with an open channel.

import net from 'node:net';
import { createInterface } from 'node:readline';
import { AgentProblem, encode, summary } from './answer.mjs';
import { attributeOutput, finishOutput, forConversation } from './output.mjs';
import { loadTarget } from './target.mjs';
import { flushSpans, inTrace } from './traces.mjs';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 18 || (major === 18 && minor < 19)) {
  console.error(`this is Node ${process.versions.node}; agents need Node 18.19 or newer: say \`interpreter: [/path/to/node]\``);
  process.exit(1);
}

const socket = new net.Socket({ fd: Number(process.env.RPC_SOCKET_FD), readable: true, writable: true });
// Not for child processes: they have no such descriptor.
delete process.env.RPC_SOCKET_FD;
socket.on('error', () => process.exit(0));

const conversations = new Map();
let makeSession;

const send = (message) => socket.write(encode(message));
const reply = (id, fields) => send({ ...fields, reply_to: id });
const notify = (type, fields) => send({ ...fields, type });
const refuse = (id, message, kind) =>
  send({ reply_to: id, error: { code: 'failed', message: encodable(message), data: { class: kind } } });
const encodable = (text) => (text.toWellFormed ? text.toWellFormed() : Buffer.from(text).toString());

/** One conversation: its turns are answered one after the other. */
class Conversation {
  constructor(name) {
    this.name = name;
    this.last = Promise.resolve();
    this.session = undefined;
  }

  ask(request) {
    this.last = this.last.then(() => forConversation(this.name, () => this.answer(request)));
  }

  async answer(request) {
    try {
      const turn = turnOf(request);
      this.session ??= await makeSession();
      const answer = await inTrace(request.traceparent, () => this.session.answer(turn));
      await flushSpans(request.traceparent);
      finishOutput(this.name);
      reply(request.id, answer);
    } catch (error) {
      await flushSpans(request.traceparent);
      this.fail(request, error);
    }
  }

  fail(request, error) {
    if (error instanceof AgentProblem) {
      finishOutput(this.name);
      return refuse(request.id, error.message, 'AgentProblem');
    }
    // The stack goes to the output of the conversation, its first line into the message.
    process.stderr.write(`${error?.stack ?? String(error)}\n`);
    finishOutput(this.name);
    refuse(request.id, `it threw ${summary(error)}`, error?.name ?? typeof error);
  }
}

function turnOf(request) {
  const messages = request.messages ?? [];
  const last = messages.at(-1);
  let began = false;
  return {
    text: last?.role === 'user' ? last.content : undefined,
    messages,
    turn: request.turn,
    tools: request.tools ?? [],
    conversationId: request.conversation_id,
    firstToken() {
      if (!began) notify('agent.first_token', { conversation_id: request.conversation_id });
      began = true;
    },
  };
}

async function load(id) {
  try {
    makeSession = await loadTarget(process.argv[2]);
    reply(id, {});
  } catch (error) {
    const problem = error instanceof AgentProblem;
    if (!problem) process.stderr.write(`${error?.stack ?? String(error)}\n`);
    refuse(id, problem ? error.message : summary(error), 'AgentProblem');
  }
}

const ACTIONS = {
  hello: (message) =>
    reply(message.id, {
      protocol: 1,
      name: 'node',
      version: process.versions.node,
      pid: process.pid,
      capabilities: ['agent.chat', 'agent.load', 'agent.alive'],
    }),
  'agent.load': (message) => load(message.id),
  'agent.alive': (message) => reply(message.id, {}),
  'agent.chat': (message) => {
    const name = message.conversation_id;
    if (!conversations.has(name)) conversations.set(name, new Conversation(name));
    conversations.get(name).ask(message);
  },
  'agent.reset': (message) => {
    conversations.delete(message.conversation_id);
    reply(message.id, {});
  },
  __shutdown__: (message) => {
    reply(message.id, { status: 'shutting_down' });
    socket.end(() => process.exit(0));
  },
};

attributeOutput((conversation, stream, text) =>
  notify('agent.output', { conversation_id: conversation, stream, text: encodable(text) }),
);
const lines = createInterface({ input: socket, crlfDelay: Infinity });
lines.on('line', (line) => {
  const message = JSON.parse(line);
  if (!message.action) return;
  const unknown = () =>
    send({ reply_to: message.id, error: { code: 'unknown_action', message: `no action ${message.action}` } });
  (ACTIONS[message.action] ?? unknown)(message);
});
lines.on('close', () => process.exit(0));
