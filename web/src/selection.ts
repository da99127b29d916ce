// What the reader has chosen to see. Pure except for the listeners.

import type { Page, Variables } from "./data.ts";
import type { Metric } from "./page.ts";
import { raw, shortNames } from "./format.ts";
import { linesOf, type Line, type Mode } from "./lines.ts";

/** More lines than this cannot be distinguished; the rest starts unchecked. */
export const firstShown = 12;

/** So many of a list, evenly spread, the first and the last among them. */
function evenly<T>(list: readonly T[], most: number): T[] {
  if (list.length <= most) return [...list];
  if (most < 2) return list.slice(0, most);
  return Array.from({ length: most }, (_, i) => list[Math.round((i * (list.length - 1)) / (most - 1))]!);
}

/** The indexes of the groups with which a page begins: as many of each value of the outermost variable, of many values
 * some. The first twelve of a sweep would be of one kind. */
export function firstGroups(page: Page, most = firstShown): Set<number> {
  const outermost = page.swept[0] ?? "";
  const byValue = new Map<string, number[]>();
  page.groups.forEach((group, i) => {
    const value = raw(group.variables[outermost] ?? null);
    byValue.set(value, [...(byValue.get(value) ?? []), i]);
  });
  const kinds = evenly([...byValue.values()], most);
  return new Set(kinds.flatMap((groups, i) => evenly(groups, Math.floor(most / kinds.length) + (i < most % kinds.length ? 1 : 0))));
}

export class Selection {
  mode: Mode = "together";
  metric: Metric = "latency";
  baseline = true;
  /** Shows the latency without the host's interruptions beside the measured one. */
  undisturbed = true;
  gaps = false;
  /** Shows all packets that the page has of outliers.csv, also ordinary ones. */
  ordinary = false;
  /** Shows the rate over time as a percentage of the due rate, where loss is a dip. */
  share = false;
  /** The variable over which the lines of the beginning are spread; empty once the reader chose, or if all are drawn. */
  spread = "";
  private readonly hiddenTrials = new Set<number>();
  private readonly filtered = new Map<string, Set<string>>();
  private readonly listeners: (() => void)[] = [];

  constructor(readonly page: Page) {
    if (page.groups.length <= firstShown) return;
    const first = firstGroups(page);
    page.groups.forEach((group, i) => {
      if (!first.has(i)) group.trials.forEach((t) => this.hiddenTrials.add(t));
    });
    this.spread = shortNames(page.variables).get(page.swept[0] ?? "") ?? "";
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  change(alter: () => void): void {
    alter();
    for (const listener of this.listeners) listener();
  }

  /** The lines that pass the filters, whether they are checked or not. */
  listed(): Line[] {
    return linesOf(this.page, this.mode).filter((line) => this.passes(line.variables));
  }

  /** The lines to draw. */
  shown(): Line[] {
    return this.listed().filter((line) => this.isChecked(line));
  }

  isChecked(line: Line): boolean {
    return this.trialsOf(line).some((t) => !this.hiddenTrials.has(t));
  }

  setChecked(lines: readonly Line[], checked: boolean): void {
    this.spread = "";
    for (const t of lines.flatMap((line) => this.trialsOf(line))) {
      if (checked) this.hiddenTrials.delete(t);
      else this.hiddenTrials.add(t);
    }
  }

  isFiltered(variable: string, value: string): boolean {
    return this.filtered.get(variable)?.has(value) ?? false;
  }

  setFiltered(variable: string, value: string, out: boolean): void {
    const values = this.filtered.get(variable) ?? new Set<string>();
    if (out) values.add(value);
    else values.delete(value);
    this.filtered.set(variable, values);
  }

  /** Whether something with these variables is shown; variables that it lacks do not matter. */
  passes(variables: Variables): boolean {
    return Object.entries(variables).every(([name, value]) => !this.isFiltered(name, raw(value)));
  }

  private trialsOf(line: Line): number[] {
    return line.repeat === null ? this.page.groups[line.group]!.trials : line.trials;
  }
}
