// Axes: ranges and ticks, linear and logarithmic. Pure, so tests need no browser.

export interface Ticks {
  /** Every grid line. */
  splits: number[];
  /** The grid lines with a label. */
  labelled: Set<number>;
}

/** A range that shows all positive values on a logarithmic axis, with a small margin. */
export function logRange(values: Iterable<number | null>): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !(value > 0) || !isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [1, 10];
  // At least a third of a decade: noise on a flat line must not look like a mountain.
  const middle = Math.sqrt(low * high);
  low = Math.min(low / 1.12, middle / 1.5);
  high = Math.max(high * 1.12, middle * 1.5);
  return [low, high];
}

/** A range from zero to a round number that shows all values. */
export function linearRange(values: Iterable<number | null>): [number, number] {
  let high = 0;
  for (const value of values) if (value !== null && isFinite(value)) high = Math.max(high, value);
  if (high === 0) return [0, 1];
  const step = 10 ** Math.floor(Math.log10(high));
  const rounded = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((n) => n * step).find((n) => n >= high * 1.04);
  return [0, rounded ?? 12 * step];
}

/** A range that shows all values and zero, of both signs, with a small margin. */
export function signedRange(values: Iterable<number>): [number, number] {
  let [low, high] = [0, 0];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const room = (high - low) * 0.06 || 1;
  return [low < 0 ? low - room : 0, high > 0 || low === 0 ? high + room : 0];
}

/** Ticks of a logarithmic axis: 1 to 9 of each decade, with as many labels as fit. */
export function logTicks(low: number, high: number, most: number): Ticks {
  const splits: number[] = [];
  const candidates: number[][] = [[], [], []];
  for (let exponent = Math.floor(Math.log10(low)); exponent <= Math.ceil(Math.log10(high)); exponent++) {
    for (let digit = 1; digit <= 9; digit++) {
      const value = Number(`${digit}e${exponent}`);
      if (value < low || value > high) continue;
      splits.push(value);
      if (digit === 1) candidates[0]!.push(value);
      if (digit === 1 || digit === 2 || digit === 5) candidates[1]!.push(value);
      candidates[2]!.push(value);
    }
  }
  // The most labels that fit, but at least one. 9 and 10 are close on a logarithmic axis, so two
  // neighbours have to be this part of an even distance apart.
  const apart = (0.6 * Math.log(high / low)) / Math.max(most, 1);
  const fitting = candidates.filter((list) => list.length > 0 && list.length <= most && list.every((value, i) => i === 0 || Math.log(value / list[i - 1]!) >= apart));
  let labelled = fitting[fitting.length - 1] ?? candidates.find((list) => list.length > 0) ?? [];
  if (labelled.length > most) {
    const every = Math.ceil(labelled.length / Math.max(most, 1));
    labelled = labelled.filter((_, i) => i % every === 0);
  }
  return { splits, labelled: new Set(labelled) };
}

/** Ticks of the percentile axis: 0 %, 50 %, 90 %, 99 %, … as 1/(1−p). */
export function percentileTicks(high: number, most: number): Ticks {
  const splits: number[] = [];
  const decades: number[] = [];
  for (let decade = 1; decade <= high; decade *= 10) {
    decades.push(decade);
  }
  // Finer lines only if they do not fill the figure.
  const digits = decades.length <= most ? 9 : 1;
  for (const decade of decades) for (let digit = 1; digit <= digits; digit++) if (digit * decade <= high) splits.push(digit * decade);
  let labels = decades;
  if (decades.length + 1 <= most / 1.7 && high >= 2) labels = [1, 2, ...decades.slice(1)];
  if (decades.length > most) {
    const every = Math.ceil(decades.length / Math.max(most, 1));
    labels = decades.filter((_, i) => i % every === 0);
  }
  return { splits, labelled: new Set(labels) };
}

/** Round ticks of a linear axis. */
export function linearTicks(low: number, high: number, most: number): number[] {
  const rough = (high - low) / Math.max(most, 1);
  if (!(rough > 0)) return [low];
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * size).find((n) => n >= rough) ?? 10 * size;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}
