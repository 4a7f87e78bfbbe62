// How an entry of the journal ended, and how far that can be trusted.

import { signOf, TIERS } from "../model/journal";

export function Sign({ status }: { status: string }) {
  const { sign, look } = signOf(status);
  return <span class={`mark s-${look}`} role="img" aria-label={status} title={status}>{sign}</span>;
}

export function Outcome({ status }: { status: string }) {
  const { sign, look } = signOf(status);
  return <span class={`badge s-${look}`}><span aria-hidden="true">{sign}</span> {status}</span>;
}

export function Tier({ tier }: { tier: string }) {
  return <span class={`tier t-${tier}`} title={TIERS[tier]}>{tier}</span>;
}
