// What the server says about the journal. Field names are those of the wire.

export type EntryStatus = "active" | "confirmed" | "falsified" | "abandoned";

export interface EntryRow {
  id: string;
  lane: string | null;
  place: "active" | "session" | "archive";
  session: string;
  created_at: string;
  ended_at: string | null;
  domain: string;
  strategy: string;
  status: EntryStatus;
  tier: string | null;
  iterations: number;
  goal: string;
  hypothesis: string;
  prediction: string;
  result: string | null;
  surprise: string | null;
  confidence: number | null;
  auto_captured: boolean;
  needs_annotation: boolean;
  evidence: number;
  score: number | null;
}

export interface EntryRows { entries: EntryRow[]; total: number; more: boolean; lanes: string[]; domains: string[]; warnings: string[] }

export interface Evidence {
  captured_at: string;
  argv?: string[];
  exit?: number;
  signal?: number;
  timed_out?: boolean;
  duration_ms?: number;
  counts?: { passed: number; failed: number; errors: number; skipped: number };
  counts_from?: string;
  expectation?: string;
  predates_run?: boolean;
  verdict?: string;
  reason?: string;
  output_tail?: string;
  commit?: string;
  dirty?: boolean;
}

export interface Entry {
  id: string;
  session_id: string;
  created_at: string;
  domain: string;
  strategy: string;
  goal: string;
  hypothesis: string;
  action: string;
  prediction: string;
  history: { timestamp: string; superseded_at?: string; hypothesis: string; action: string; prediction: string; confidence?: number }[];
  iteration_count: number;
  outcome?: { status: EntryStatus; result: string; captured_at: string; auto_captured: boolean };
  surprise?: string;
  root_cause?: { category: string; description: string };
  lesson?: { what_worked: string; takeaway?: string };
  confidence_tier?: string;
  notes: string[];
  confidence?: number;
  expectation?: { expect: string; stated_at: string };
  evidence?: Evidence[];
}

export interface WholeEntry { lane: string | null; place: string; entry: Entry; warnings: string[] }

export interface Share { hits: number; n: number; value: number; low: number; high: number }

export interface Group {
  confirmed: number;
  falsified: number;
  abandoned: number;
  active: number;
  iterations: number;
  too_few: boolean;
  confirmed_rate: Share | null;
  first_try_rate: Share | null;
  auto_share: Share | null;
}

export interface JournalStats {
  total: Group;
  by_domain: Record<string, Group>;
  by_strategy: Record<string, Group>;
  by_tier: Record<string, Group>;
  by_month: Record<string, Group>;
  needing_annotation: number;
  calibration: { n: number; brier: number; bins: { from: number; to: number; stated: number; seen: Share }[] } | null;
}

/** What the list can be narrowed by; it stands in the address. */
export const CHOICES = ["q", "status", "tier", "domain", "strategy", "lane", "unexplained"] as const;
export type Choice = Partial<Record<(typeof CHOICES)[number], string>>;

export function choiceOf(query: URLSearchParams): Choice {
  const choice: Choice = {};
  for (const name of CHOICES) {
    const value = query.get(name);
    if (value) choice[name] = value;
  }
  return choice;
}

export const TIERS: Record<string, string> = {
  gold: "captured from a command, and what to expect was said before it started",
  silver: "entered by hand",
  bronze: "as another program assigned it",
  abandoned: "not known: nobody found out",
};

const MARKS: Record<EntryStatus, [string, string]> = {
  active: ["▸", "running"], confirmed: ["✓", "passed"], falsified: ["✗", "failed"], abandoned: ["⊘", "cancelled"],
};

/** The sign of a status, and the status of a run that looks like it. */
export function signOf(status: string): { sign: string; look: string } {
  const [sign, look] = MARKS[status as EntryStatus] ?? ["•", "not_run"];
  return { sign, look };
}

/** Rows by the day they were created on, as the reader's clock has it; the order stays. */
export function byDay<T extends { created_at: string }>(rows: T[]): { day: string; rows: T[] }[] {
  const days: { day: string; rows: T[] }[] = [];
  for (const row of rows) {
    const date = new Date(row.created_at);
    const two = (n: number) => String(n).padStart(2, "0");
    const day = Number.isNaN(date.getTime()) ? "?" : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
    const last = days.at(-1);
    if (last?.day === day) last.rows.push(row);
    else days.push({ day, rows: [row] });
  }
  return days;
}
