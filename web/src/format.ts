// Numbers and values as text.

import type { Value } from "./data.ts";

/** Shown for a figure that the measurement does not support. */
export const none = "–";

/** A number with three significant digits, or all integer digits: 8.32, 22.1, 120, 12,345. */
export function significant(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 99.95) return grouped(value);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.0995) return value.toFixed(2);
  return String(Number(value.toPrecision(2)));
}

/** A whole number with commas. */
export function grouped(value: number): string {
  const digits = Math.round(Math.abs(value)).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return value < 0 && digits !== "0" ? "-" + digits : digits;
}

/** A tick of an axis: 0.5, 1, 20, 5,000. */
export function tick(value: number): string {
  return value >= 1 ? grouped(value) : String(value);
}

/** A tick of an axis of large numbers: 500, 20k, 1.5M. */
export function shortTick(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(6))}M`;
  if (value >= 1e3) return `${Number((value / 1e3).toPrecision(6))}k`;
  return tick(value);
}

/** A percentage; a value below 100 is never rounded up to 100. */
export function percent(value: number): string {
  return value < 100 && value > 99 ? String(Math.floor(value * 1000 + 1e-6) / 1000) : significant(value);
}

/** Nanoseconds as microseconds. */
export function micros(ns: number | null | undefined): string {
  return ns === null || ns === undefined ? none : significant(ns / 1000);
}

/** A time with a suitable unit. */
export function time(ns: number): string {
  if (Math.abs(ns) >= 1e9) return significant(ns / 1e9) + " s";
  if (Math.abs(ns) >= 1e6) return significant(ns / 1e6) + " ms";
  if (Math.abs(ns) >= 1e3) return significant(ns / 1e3) + " µs";
  return significant(ns) + " ns";
}

/** A number of bytes with a binary unit. */
export function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(count) >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${significant(count)} ${units[unit]}`;
}

/** A variable's value: 10,000 for numbers, the text itself for text. */
export function readable(value: Value | undefined): string {
  if (value === null || value === undefined) return none;
  if (typeof value === "number") return Number.isInteger(value) ? grouped(value) : String(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A value in the form used to compare and filter. */
export function raw(value: Value | undefined): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** "p99_9" as "p99.9". */
export function percentileTitle(name: string): string {
  return name.replace("_", ".");
}

/** The percentile at x = 1/(1−p), with all its nines, never rounded up to 100. */
export function percentileAt(x: number): string {
  if (x <= 1) return "0 %";
  const digits = Math.max(0, Math.ceil(Math.log10(x) - 1e-9) - 2);
  const scale = 10 ** digits;
  // The small addition keeps binary rounding from turning 99.9 into 99.89.
  const percent = Math.floor(100 * (1 - 1 / x) * scale + 1e-6) / scale;
  return `${percent.toFixed(digits)} %`;
}

/** The shortest unique endings of names: "links.*.kind" becomes "kind". */
export function shortNames(names: readonly string[]): Map<string, string> {
  const short = new Map<string, string>();
  for (const name of names) {
    const parts = name.split(".");
    let from = parts.length - 1;
    const taken = (text: string) => names.some((other) => other !== name && (other === text || other.endsWith("." + text)));
    while (from > 0 && taken(parts.slice(from).join("."))) from--;
    short.set(name, parts.slice(from).join("."));
  }
  return short;
}
