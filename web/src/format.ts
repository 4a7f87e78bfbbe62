// Numbers, times and names for people.

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "";
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function money(usd: number | null | undefined): string {
  if (!usd) return usd === 0 ? "$0" : "";
  return usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

/** Topics may be set before anybody has said anything. */
export function turnName(number: number): string {
  return number === 0 ? "Start" : `Turn ${number}`;
}

/** `1 turn`, `1,200 turns`. */
export function plural(count: number, thing: string, things = `${thing}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? thing : things}`;
}

export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined) return "–";
  const value = share * 100;
  return `${value === Math.round(value) ? value : value.toFixed(1)} %`;
}

export function points(difference: number): string {
  const value = Math.round(difference * 1000) / 10;
  return `${value > 0 ? "+" : value < 0 ? "−" : "±"}${Math.abs(value)} pp`;
}

export function pValue(p: number | null): string {
  if (p === null) return "";
  return p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`;
}

export function when(time: string | null | undefined): string {
  if (!time) return "";
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  const two = (n: number) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `16 Nov 14:05`; with the year where it is another one. */
export function day(time: string | null | undefined, now = new Date()): string {
  if (!time) return "";
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  const month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][date.getMonth()];
  const two = (n: number) => String(n).padStart(2, "0");
  const year = date.getFullYear() === now.getFullYear() ? "" : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${month}${year} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function ago(time: string | null | undefined, now = Date.now()): string {
  if (!time) return "";
  const seconds = (now - new Date(time).getTime()) / 1000;
  if (Number.isNaN(seconds)) return "";
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

export function shortId(id: string): string {
  return id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id;
}

const MARKS: Record<string, string> = {
  passed: "✓", failed: "✗", errored: "!", crashed: "☠", timed_out: "⏱", inconclusive: "?", pending: "○",
  cancelled: "⊘", not_run: "–", running: "▸", within_rate: "✓", flaky: "~", unfinished: "✗", loading: "▸", stopped: "⊘", died: "☠",
  did_not_load: "✗", nothing_found: "✗",
};

export function mark(status: string): string {
  return MARKS[status] ?? "•";
}

export function word(status: string): string {
  return status.replaceAll("_", " ");
}

/** The text as one word of a shell. */
export function quoted(text: string): string {
  return /^[\p{L}\p{N}_\-./:@%+=,]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function pretty(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(value, null, 2) ?? "";
}

/** Options of a command that say nothing about what was run. */
const NOISE = /^--(ui|color|run-id|root|html|junit|json|markdown|live)(=|$)/;
const NOISE_WITH_VALUE = new Set(["--ui", "--color", "--run-id", "--root", "--html", "--junit", "--json", "--markdown"]);

/** A command as one would type it: without the program's folder and without options on how it is shown. */
export function commandLine(argv: readonly string[]): string {
  const [program = "", ...rest] = argv;
  const words = [program.split("/").at(-1) ?? ""];
  for (let place = 0; place < rest.length; place += 1) {
    const word = rest[place]!;
    if (word === "--") { words.push(...rest.slice(place)); break; }
    if (!NOISE.test(word)) { words.push(word); continue; }
    if (NOISE_WITH_VALUE.has(word)) place += 1;
  }
  return words.join(" ");
}
