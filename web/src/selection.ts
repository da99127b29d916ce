// What the reader has chosen to see. Pure except for the listeners.

import type { Page, Variables } from "./data.ts";
import type { Metric } from "./page.ts";
import { raw } from "./format.ts";
import { linesOf, type Line, type Mode } from "./lines.ts";

/** More lines than this cannot be distinguished; the rest starts unchecked. */
export const firstShown = 12;

export class Selection {
  mode: Mode = "together";
  metric: Metric = "latency";
  baseline = true;
  /** Shows the latency without the host's interruptions beside the measured one. */
  undisturbed = true;
  gaps = false;
  /** Shows the rate over time as a percentage of the due rate, where loss is a dip. */
  share = false;
  private readonly hiddenTrials = new Set<number>();
  private readonly filtered = new Map<string, Set<string>>();
  private readonly listeners: (() => void)[] = [];

  constructor(readonly page: Page) {
    page.groups.slice(firstShown).forEach((group) => group.trials.forEach((t) => this.hiddenTrials.add(t)));
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
