// What is drawn and listed: a line for each combination of the swept variables, or for each trial.
// Colours and dashes follow the variables, so equal colours mean equal kinds.

import type { Curves, Page, Value, Variables, Verdict } from "./data.ts";
import { raw, readable, shortNames } from "./format.ts";

export const colours = 8;
export const dashes = 5;

export type Mode = "together" | "each";

export interface Line {
  key: string;
  label: string;
  group: number;
  /** Indexes of the trials that its figures are based on. */
  trials: number[];
  curves: Curves;
  colour: number;
  dash: number;
  verdicts: Record<Verdict, number>;
  variables: Variables;
  repeat: number | null;
}

export function verdictText(verdicts: Record<Verdict, number>): string {
  const total = verdicts.clean + verdicts.noisy + verdicts.invalid;
  for (const verdict of ["invalid", "noisy", "clean"] as const) {
    const count = verdicts[verdict];
    if (count > 0) return count === total ? verdict : `${verdict} ${count}/${total}`;
  }
  return "";
}

export function worstVerdict(verdicts: Record<Verdict, number>): Verdict {
  return verdicts.invalid > 0 ? "invalid" : verdicts.noisy > 0 ? "noisy" : "clean";
}

/** The values of a variable in the order in which the trials first use them. */
export function valuesOf(page: Page, variable: string): Value[] {
  const seen = new Map<string, Value>();
  for (const group of page.groups) {
    const value = group.variables[variable] ?? null;
    if (!seen.has(raw(value))) seen.set(raw(value), value);
  }
  return [...seen.values()];
}

/** "veth · 10,000" for the variables that were swept. */
export function labelOf(variables: Variables, names: readonly string[]): string {
  const short = shortNames(names);
  const parts = names
    .filter((name) => name in variables)
    .map((name) => {
      const value = variables[name];
      const text = readable(value);
      // A number alone does not show its unit.
      return typeof value === "string" ? text : `${text} ${unitOf(short.get(name) ?? name)}`;
    });
  return parts.join(" · ") || "all trials";
}

/** The unit at the end of a name: "rate_pps" counts pps; otherwise the name itself. */
function unitOf(name: string): string {
  const units: Record<string, string> = { pps: "pps", bytes: "bytes", ns: "ns", us: "µs", ms: "ms" };
  return units[name.slice(name.lastIndexOf("_") + 1)] ?? name;
}

interface Style {
  colour: number;
  dash: number;
}

/**
 * A style for each group. A text variable, such as the link's kind, sets the colours, and the other
 * swept variables the dashes, which may repeat. With one variable, or too many values, colours
 * repeat and dashes distinguish the rounds.
 */
export function stylesOf(page: Page): Style[] {
  const swept = page.variables.map((name) => ({ name, values: valuesOf(page, name).map(raw) })).filter((v) => v.values.length > 1);
  const words = (name: string) => page.groups.some((g) => typeof g.variables[name] === "string");
  swept.sort((a, b) => Number(words(b.name)) - Number(words(a.name)));
  const [first, ...others] = swept;
  const few = first && first.values.length <= colours;
  if (first && others.length > 0) {
    const rest = (g: Page["groups"][number]) => others.map((v) => raw(g.variables[v.name] ?? null)).join("\0");
    const rests = [...new Set(page.groups.map(rest))];
    // With more kinds than colours, a second round of colours has its own dashes.
    if (few || Math.ceil(first.values.length / colours) * rests.length <= dashes) {
      return page.groups.map((g) => {
        const value = first.values.indexOf(raw(g.variables[first.name] ?? null));
        return { colour: value % colours, dash: (Math.floor(value / colours) * rests.length + rests.indexOf(rest(g))) % dashes };
      });
    }
  }
  return page.groups.map((_, i) => ({ colour: i % colours, dash: Math.floor(i / colours) % dashes }));
}

export function linesOf(page: Page, mode: Mode): Line[] {
  const styles = stylesOf(page);
  const lines: Line[] = [];
  page.groups.forEach((group, index) => {
    const label = labelOf(group.variables, page.variables);
    const style = styles[index]!;
    if (mode === "together") {
      const verdicts = { clean: 0, noisy: 0, invalid: 0 };
      for (const t of group.trials) verdicts[page.trials[t]!.verdict]++;
      lines.push({
        key: `g${index}`, label, group: index, trials: group.counted, curves: group.curves, ...style, verdicts,
        variables: group.variables, repeat: null,
      });
      return;
    }
    for (const t of group.trials) {
      const trial = page.trials[t]!;
      const verdicts = { clean: 0, noisy: 0, invalid: 0, [trial.verdict]: 1 };
      lines.push({
        key: `t${t}`, label: `${label} · repeat ${trial.repeat}`, group: index, trials: [t], curves: trial.curves, ...style, verdicts,
        variables: group.variables, repeat: trial.repeat,
      });
    }
  });
  return lines;
}
