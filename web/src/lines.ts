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
  /** Indexes of the trials that its figures draw: those that are not invalid or, if all are, all. */
  trials: number[];
  /** Indexes of the trials that its medians are of: those that are not invalid. */
  counted: number[];
  curves: Curves;
  colour: number;
  dash: number;
  verdicts: Record<Verdict, number>;
  variables: Variables;
  repeat: number | null;
}

/** The verdicts, the worst first. */
export const allVerdicts = ["invalid", "noisy", "unmeasured", "clean"] as const;

const noVerdicts = (): Record<Verdict, number> => ({ clean: 0, noisy: 0, invalid: 0, unmeasured: 0 });

export function verdictText(verdicts: Record<Verdict, number>): string {
  const total = allVerdicts.reduce((sum, verdict) => sum + verdicts[verdict], 0);
  for (const verdict of allVerdicts) {
    const count = verdicts[verdict];
    if (count > 0) return count === total ? verdict : `${verdict} ${count}/${total}`;
  }
  return "";
}

export function worstVerdict(verdicts: Record<Verdict, number>): Verdict {
  return allVerdicts.find((verdict) => verdicts[verdict] > 0) ?? "clean";
}

/** What a line's label says of its invalid trials: figures draw no such trial without a mark, and leave none out
 * without a word. */
export function invalidText(invalid: number, all: number): string {
  if (invalid === 0) return "";
  return invalid === all ? " · invalid" : ` · without ${invalid} of ${all} repeats, invalid`;
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
      // A number alone does not show what it is.
      const shortName = short.get(name) ?? name;
      const unit = unitOf(shortName);
      return typeof value === "string" ? text : unit ? `${text} ${unit}` : `${shortName} ${text}`;
    });
  return parts.join(" · ") || "all trials";
}

/** The unit at the end of a name: "rate_pps" counts pps. */
function unitOf(name: string): string | undefined {
  const units: Record<string, string> = { pps: "pps", bytes: "bytes", ns: "ns", us: "µs", ms: "ms" };
  return units[name.slice(name.lastIndexOf("_") + 1)];
}

interface Style {
  colour: number;
  dash: number;
}

/** The dash of one of many combinations: those that are far apart differ, as a page begins with such ones. */
const dashOf = (i: number, of: number): number => (of > dashes ? Math.floor((i * dashes) / of) : i);

/**
 * A style for each group. A text variable, such as the link's kind, sets the colours, and the other
 * swept variables the dashes, which may repeat. With one variable, or too many values, colour and
 * dashes go together. Markers always follow the colour.
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
        return { colour: value % colours, dash: (Math.floor(value / colours) * rests.length + dashOf(rests.indexOf(rest(g)), rests.length)) % dashes };
      });
    }
  }
  // Of two rounds of colours neither has the other's dashes.
  return page.groups.map((_, i) => ({ colour: i % colours, dash: (i + Math.floor(i / colours)) % dashes }));
}

export function linesOf(page: Page, mode: Mode): Line[] {
  const styles = stylesOf(page);
  const lines: Line[] = [];
  page.groups.forEach((group, index) => {
    const label = labelOf(group.variables, page.variables);
    const style = styles[index]!;
    if (mode === "together") {
      const verdicts = noVerdicts();
      for (const t of group.trials) verdicts[page.trials[t]!.verdict]++;
      lines.push({
        key: `g${index}`, label: label + invalidText(verdicts.invalid, group.trials.length), group: index,
        trials: group.counted.length > 0 ? group.counted : group.trials, counted: group.counted, curves: group.curves, ...style, verdicts,
        variables: group.variables, repeat: null,
      });
      return;
    }
    for (const t of group.trials) {
      const trial = page.trials[t]!;
      const verdicts = { ...noVerdicts(), [trial.verdict]: 1 };
      lines.push({
        key: `t${t}`, label: `${label} · repeat ${trial.repeat}${invalidText(verdicts.invalid, 1)}`, group: index, trials: [t], counted: [t], curves: trial.curves, ...style, verdicts,
        variables: group.variables, repeat: trial.repeat,
      });
    }
  });
  return lines;
}
