// The values that an axis is marked with.

/** Round values from nothing to at least the highest. */
export function ticksOf(high: number, count = 4): number[] {
  const rough = high / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999) ?? power * 10;
  return Array.from({ length: Math.ceil(high / step - 1e-9) + 1 }, (_, place) => place * step);
}

const TIMES = [1, 2, 5, 10, 20, 50, 100, 200, 500, ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400].map((seconds) => seconds * 1000)];

/** A number of milliseconds, at least so many, that one can count in. */
export function timeStep(rough: number): number {
  return TIMES.find((step) => step >= rough) ?? Math.ceil(rough / 86_400_000) * 86_400_000;
}
