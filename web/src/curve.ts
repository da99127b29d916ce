// Percentile curves: from a thinned cumulative distribution to points of a plot
// whose x axis is 1/(1−p), so that each additional nine takes the same width.

import type { Curve } from "./data.ts";
import { rank } from "./rank.ts";

/** Points for each factor of ten of 1/(1−p). */
export const pointsPerDecade = 100;

/** The maximum is drawn to the right of the last percentile that the count supports. */
const maximumUpTo = 1.03;

/** The x values that cover counts of up to most samples; powers of ten are exact. */
export function grid(most: number): number[] {
  const last = Math.ceil(Math.log10(Math.max(most, 1)) * pointsPerDecade) + 2;
  const xs: number[] = [];
  for (let i = 0; i <= last; i++) {
    const decade = Math.floor(i / pointsPerDecade);
    xs.push(10 ** decade * (i % pointsPerDecade === 0 ? 1 : 10 ** ((i % pointsPerDecade) / pointsPerDecade)));
  }
  return xs;
}

/**
 * The value at x = 1/(1−p): the smallest that at least p of the samples do not
 * exceed. Beyond what the count supports it is null, except for the maximum.
 */
export function valueAt(curve: Curve, x: number): number | null {
  const last = curve.value_ns.length - 1;
  if (last < 0 || x < 1) return null;
  if (x > curve.count * (1 + 1e-9)) return x <= curve.count * maximumUpTo ? curve.value_ns[last]! : null;
  const place = rank(1 - 1 / x, curve.count);
  let low = 0;
  let high = last;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (curve.below[middle]! < place) low = middle;
    else high = middle - 1;
  }
  return curve.value_ns[low]!;
}

/** Whether valueAt returns the maximum because x is beyond the supported percentiles. */
export function isMaximum(curve: Curve, x: number): boolean {
  return x > curve.count * (1 + 1e-9) && x <= curve.count * maximumUpTo;
}

/** The curve at each x, in microseconds. */
export function sample(curve: Curve, xs: readonly number[]): (number | null)[] {
  return xs.map((x) => {
    const ns = valueAt(curve, x);
    // A logarithmic axis has no zero: unmeasurably short times are drawn at 1 ns.
    return ns === null ? null : Math.max(ns, 1) / 1000;
  });
}

/** The points of a curve at the percentiles with another nine: 90 %, 99 %, 99.9 %, …, and at the median. */
export function atDecades(xs: readonly number[], ys: readonly (number | null)[]): { x: number; y: number }[] {
  const points: { x: number; y: number }[] = [];
  xs.forEach((x, i) => {
    const y = ys[i];
    if (y === null || y === undefined) return;
    if (x === 2 || (x > 1 && Number.isInteger(Math.log10(x)))) points.push({ x, y });
  });
  return points;
}
