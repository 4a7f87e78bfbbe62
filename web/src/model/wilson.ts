// The 95 % interval of a share: Wilson's, as `proctor-stats` computes it.

import type { Range } from "./types";

const Z = 1.959963984540054;

export function wilson(hits: number, of: number): Range {
  if (of === 0) return { low: 0, high: 1 };
  const share = hits / of;
  const square = Z * Z;
  const middle = share + square / (2 * of);
  const reach = Z * Math.sqrt((share * (1 - share)) / of + square / (4 * of * of));
  const whole = 1 + square / of;
  return { low: hits === 0 ? 0 : Math.max(0, (middle - reach) / whole), high: hits === of ? 1 : Math.min(1, (middle + reach) / whole) };
}
