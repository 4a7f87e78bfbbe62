// Plain agents: functions, methods, classes and factories, sync or async, with whole answers or streams.

import { AgentProblem, ofObject, ofValue, typeName } from './answer.mjs';
import { driver, readResult } from './frameworks.mjs';

// Methods of an object that is not a function, in this order.
const METHODS = ['chat', 'ask', 'respond', 'run'];

const sourceOf = (fn) => Function.prototype.toString.call(fn);
const isClass = (value) => typeof value === 'function' && /^class[\s{]/.test(sourceOf(value));
const isNative = (fn) => /\{\s*\[native code\]\s*\}\s*$/.test(sourceOf(fn));

/** The first parameter of a function as it is written; undefined if there is none. */
export function firstParameter(fn) {
  const text = sourceOf(fn).replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '');
  const single = text.match(/^(?:async\s+)?([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*=>/u);
  if (single) return single[1];
  const list = text.slice(text.indexOf('(') + 1).trimStart();
  if (list.startsWith(')')) return undefined;
  if (list.startsWith('{')) return '{';
  return list.match(/^(\.\.\.)?[\p{ID_Start}$_][\p{ID_Continue}$]*/u)?.[0] ?? 'text';
}

/** A conversation with a function. */
class PlainSession {
  constructor(fn, source) {
    this.fn = fn;
    this.source = source;
    this.first = isNative(fn) ? 'text' : firstParameter(fn);
    if (this.first === undefined) throw new AgentProblem(`${source} takes no parameter for the user's text`);
  }

  async answer(turn) {
    const { text, messages, tools, conversationId } = turn;
    const context = { text, messages, turn: turn.turn, tools, conversationId };
    const seesMessages = this.first === 'messages' || this.first === '{' || this.fn.length > 1;
    if (text === undefined && !seesMessages) {
      throw new AgentProblem(`${this.source} asked for tools and is asked again with their results; it needs a parameter \`messages\` to see them`);
    }
    const given = { messages, '{': context }[this.first] ?? text;
    const value = await (this.first === '{' ? this.fn(given) : this.fn(given, context));
    const read = await readResult(value, turn);
    if (read) return read;
    if (isStream(value)) return this.joined(value, turn);
    return ofValue(value, this.source);
  }

  /** A streamed answer: texts are joined, objects are added. */
  async joined(pieces, turn) {
    const [answer, decoder] = [{}, new TextDecoder()];
    let count = 0;
    for await (const piece of pieces) {
      count += 1;
      turn.firstToken();
      const part = piece instanceof Uint8Array ? decoder.decode(piece, { stream: true }) : piece;
      if (typeof part === 'string') answer.text = (answer.text ?? '') + part;
      else if (typeof part === 'object' && part !== null && !Array.isArray(part)) add(answer, ofPiece(part, this.source));
      else throw new AgentProblem(`${this.source} yielded ${typeName(part)}; it may yield texts and objects`);
    }
    if (count === 0) throw new AgentProblem(`${this.source} yielded nothing`);
    return ofObject(answer, this.source);
  }
}

function ofPiece(part, source) {
  if ('text' in part && typeof part.text !== 'string') {
    throw new AgentProblem(`a \`text\` that ${source} yielded is ${typeName(part.text)}`);
  }
  return part;
}

function add(answer, part) {
  for (const [key, value] of Object.entries(part)) {
    if (key === 'text') answer.text = (answer.text ?? '') + value;
    else if (Array.isArray(value) && Array.isArray(answer[key])) answer[key] = [...answer[key], ...value];
    else answer[key] = value;
  }
}

const isStream = (value) =>
  typeof value === 'object' &&
  value !== null &&
  (typeof value[Symbol.asyncIterator] === 'function' ||
    (typeof value[Symbol.iterator] === 'function' && typeof value.next === 'function'));

/** What begins a conversation: a function that returns a session. */
export function sessionMaker(target, source) {
  if (isClass(target)) return async () => sessionOf(new target(), `an instance of ${source}`);
  if (typeof target === 'function' && !driver(target)) {
    if (!isNative(target) && firstParameter(target) === undefined) {
      return async () => sessionOf(made(await target(), source), `what ${source} returned`);
    }
    return async () => new PlainSession(target, source);
  }
  sessionOf(target, source); // A mistake is found before the first conversation.
  return async () => sessionOf(target, source);
}

function made(value, source) {
  if (value === undefined || value === null || typeof value === 'string') {
    throw new AgentProblem(`${source} takes no parameter, so it has to make an agent for each conversation, but it returned ${typeName(value)}`);
  }
  return value;
}

function sessionOf(value, source) {
  const Driver = driver(value);
  if (Driver) return new Driver(value, source);
  if (typeof value === 'function') return new PlainSession(value, source);
  const name = METHODS.find((method) => typeof value?.[method] === 'function');
  if (!name) {
    throw new AgentProblem(
      `${source} is ${typeName(value)}, which is neither a function nor an agent of a known framework, and has none of the methods ${METHODS.map((method) => `\`${method}\``).join(', ')}`,
    );
  }
  const session = new PlainSession(value[name], `${source}.${name}`);
  session.fn = value[name].bind(value);
  return session;
}
