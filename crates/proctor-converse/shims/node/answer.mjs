// What an agent returned, as an answer of the worker protocol. What cannot be read is an error with a name, never an empty answer.

// Longer lines are refused by the host.
const MAX_LINE = 8 * 1024 * 1024 - 1024;
// The members of an object that an agent may return.
const MEMBERS = [
  'text',
  'tool_calls',
  'pending_tool_calls',
  'metadata',
  'cost_usd',
  'duration_ms',
  'first_token_ms',
  'ends_turn',
];

/** A mistake in what the agent is or returns; the message says what is wrong and the way out. */
export class AgentProblem extends Error {}

// Half of a surrogate pair, which is no text.
const HALF_PAIR = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

function checked(_, value) {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string' && HALF_PAIR.test(value)) {
    throw new AgentProblem('the answer holds half of a surrogate pair, which is no text');
  }
  return value;
}

export function encode(message) {
  let line;
  try {
    line = JSON.stringify(message, checked);
  } catch (error) {
    if (error instanceof AgentProblem) throw error;
    throw new AgentProblem(`the answer cannot be written as JSON: ${error.message}`);
  }
  const length = Buffer.byteLength(line);
  if (length > MAX_LINE) throw new AgentProblem(`the answer has ${length} bytes, at most ${MAX_LINE} are allowed`);
  return `${line}\n`;
}

/** The first line of an error, and where in the project it came from. */
export function summary(error) {
  if (!(error instanceof Error)) return shown(error);
  const root = `${process.cwd()}/`;
  const frames = String(error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const own = frames.find((line) => line.includes(root) && !line.includes('node_modules'));
  const place = own?.match(/(?:file:\/\/)?(\/[^\s()]+?:\d+)(?::\d+)?\)?$/)?.[1];
  const caused = error.cause instanceof Error ? `; caused by ${error.cause.name}: ${error.cause.message}` : '';
  return `${error.name}: ${error.message}${caused}${place ? ` (${place.replace(root, '')})` : ''}`;
}

export function typeName(value) {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  return value.constructor?.name ?? 'an object without a class';
}

export function shown(value) {
  let text;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    text = String(value);
  }
  return text.length <= 120 ? text : `${text.slice(0, 117)}...`;
}

/** One tool call. Arguments that are no object are kept, under a name that says so. */
export function call(name, given, id, more = {}) {
  if (typeof name !== 'string' || !name.trim()) {
    throw new AgentProblem(`a tool call without a name: ${shown({ name, arguments: given })}`);
  }
  const made = { name, ...readArguments(given), ...more };
  if (id) made.id = String(id);
  return made;
}

function readArguments(given) {
  if (typeof given === 'string') {
    try {
      return readArguments(given.trim() ? JSON.parse(given) : {});
    } catch {
      return { arguments: { unreadable: given }, error: 'its arguments are not JSON' };
    }
  }
  if (given === undefined || given === null) return { arguments: {} };
  return { arguments: typeof given === 'object' && !Array.isArray(given) ? given : { value: given } };
}

/** Metadata about the tokens that a turn took, as far as they are known. */
export function usage(input, output, more = {}) {
  const counted = { input_tokens: input, output_tokens: output, ...more };
  return Object.fromEntries(Object.entries(counted).filter(([, value]) => value !== undefined && value !== null));
}

const isPlainObject = (value) =>
  typeof value === 'object' && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value));

export function ofObject(value, source) {
  const unknown = Object.keys(value).filter((key) => !MEMBERS.includes(key));
  const named = (names) => names.map((name) => `\`${name}\``).join(', ');
  if (unknown.length > 0) {
    throw new AgentProblem(
      `${source} returned an object with ${named(unknown)}, which is not known; the members are ${named(MEMBERS)}`,
    );
  }
  const has = (list) => value[list] !== undefined && value[list] !== null;
  for (const list of ['tool_calls', 'pending_tool_calls']) {
    if (has(list)) checkCalls(value[list], list, source);
  }
  if (value.text === undefined || value.text === null) {
    if (!value.tool_calls?.length && !value.pending_tool_calls?.length) {
      throw new AgentProblem(`${source} returned an object without \`text\``);
    }
  } else if (typeof value.text !== 'string') {
    throw new AgentProblem(`\`text\` of what ${source} returned is ${typeName(value.text)}, not a text`);
  }
  return value;
}

function checkCalls(value, list, source) {
  if (!Array.isArray(value)) {
    throw new AgentProblem(`\`${list}\` of what ${source} returned is ${typeName(value)}, not a list`);
  }
  value.forEach((entry, index) => {
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
      throw new AgentProblem(
        `call ${index + 1} of \`${list}\` that ${source} returned is ${typeName(entry)}; a call is an object with \`name\`, \`arguments\` and, once it was made, \`result\` or \`error\``,
      );
    }
  });
}

/** The answer in a value that an agent returned and that is no result of a framework. */
export function ofValue(value, source) {
  if (typeof value === 'string') return { text: value };
  if (isPlainObject(value)) return ofObject(value, source);
  if (value === undefined || value === null) {
    throw new AgentProblem(`${source} returned ${value} instead of a text; does a branch lack its \`return\`?`);
  }
  throw new AgentProblem(
    `${source} returned ${typeName(value)}, which is no answer: ${shown(value)}; return a text, or \`{text: …, tool_calls: […]}\``,
  );
}
