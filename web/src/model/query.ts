// What is looked for: words, "phrases of words", /regular expressions/, and `by:` with who said it.
// The rules of `crates/proctor-history/src/search/query.rs`; `test/queries.json` holds both to the same examples.

export interface Term { source: string; flags: string; word: string | null }
/** `kinds` are whose texts are looked at; empty for all. */
export interface Query { terms: Term[]; kinds: string[] }

/** Who `by:` may name, and the kind of their texts. */
export const SPEAKERS: readonly (readonly [string, string])[] = [
  ["title", "title"], ["user", "user"], ["agent", "agent"], ["tool", "tool"], ["judge", "evaluation"], ["check", "evaluation"],
  ["failure", "failure"], ["output", "output"],
];

export function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

export function parseQuery(text: string): Query {
  const query: Query = { terms: [], kinds: [] };
  let rest = text.trim();
  while (rest !== "") {
    const phrase = /^"([^"]*\S\s+\S[^"]*)"(?=\s|$)/.exec(rest);
    const regex = phrase ? null : /^\/((?:\\.|[^\\])+?)\/(?=\s|$)/su.exec(rest);
    const word = /^\S+/.exec(rest)![0];
    if (phrase) query.terms.push({ source: phrase[1]!.trim().split(/\s+/).map(escaped).join("\\s+"), flags: "imu", word: null });
    else if (regex) query.terms.push(regexTerm(regex[1]!));
    else if (word.startsWith("by:") && word.length > 3) query.kinds.push(...kindsOf(word.slice(3)));
    else query.terms.push({ source: escaped(word), flags: "iu", word: word.toLowerCase() });
    rest = rest.slice((phrase?.[0] ?? regex?.[0] ?? word).length).trim();
  }
  return query;
}

function regexTerm(source: string): Term {
  try {
    new RegExp(source, "imu");
  } catch (error) {
    throw new Error(`/${source}/ is not a regular expression: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { source, flags: "imu", word: null };
}

function kindsOf(names: string): string[] {
  return names.split(",").map((name) => {
    const known = SPEAKERS.find(([speaker]) => speaker === name.toLowerCase());
    if (!known) throw new Error(`by:${name} names nobody; there are ${SPEAKERS.map(([speaker]) => `by:${speaker}`).join(", ")}`);
    return known[1];
  });
}

export function looksAt(query: Query, kind: string): boolean {
  return query.kinds.length === 0 || query.kinds.includes(kind);
}

/** Where the first term stands, if all of them do. */
export function find(query: Query, text: string): { at: number; length: number } | null {
  const lower = text.toLowerCase();
  const places = query.terms.map((term) => {
    if (term.word !== null) {
      const at = lower.indexOf(term.word);
      return at < 0 ? null : { at, length: term.word.length };
    }
    const found = new RegExp(term.source, term.flags).exec(text);
    return found && { at: found.index, length: found[0].length };
  });
  return places.length > 0 && places.every((place) => place !== null) ? places[0]! : null;
}

/** One expression for all that is found, to mark it; null where a query says nothing. */
export function marker(text: string): RegExp | null {
  try {
    const { terms } = parseQuery(text);
    return terms.length > 0 ? new RegExp(`(${terms.map((term) => term.source.replace(/\((?!\?)/g, "(?:")).join("|")})`, "gimu") : null;
  } catch {
    return null;
  }
}
