// What differs between two texts, word by word.

export interface Piece { kind: "same" | "gone" | "new"; text: string }

const LIMIT = 1200;

export function diffWords(before: string, after: string): { before: Piece[]; after: Piece[] } {
  const a = words(before);
  const b = words(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const left: Piece[] = [];
  const right: Piece[] = [];
  const same = (text: string) => {
    push(left, "same", text);
    push(right, "same", text);
  };
  same(a.slice(0, start).join(""));
  const middleA = a.slice(start, a.length - end);
  const middleB = b.slice(start, b.length - end);
  if (middleA.length > LIMIT || middleB.length > LIMIT) {
    push(left, "gone", middleA.join(""));
    push(right, "new", middleB.join(""));
  } else {
    align(middleA, middleB, left, right, same);
  }
  same(a.slice(a.length - end).join(""));
  return { before: left, after: right };
}

function words(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

function push(pieces: Piece[], kind: Piece["kind"], text: string): void {
  if (text === "") return;
  const last = pieces.at(-1);
  if (last?.kind === kind) last.text += text;
  else pieces.push({ kind, text });
}

/** The longest common subsequence, by the usual table. */
function align(a: string[], b: string[], left: Piece[], right: Piece[], same: (text: string) => void): void {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i * width + j] = a[i] === b[j]
        ? table[(i + 1) * width + j + 1]! + 1
        : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      same(a[i]!);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && table[(i + 1) * width + j]! >= table[i * width + j + 1]!)) {
      push(left, "gone", a[i]!);
      i += 1;
    } else {
      push(right, "new", b[j]!);
      j += 1;
    }
  }
}
