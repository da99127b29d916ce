// The verdicts: each trial that is not clean, and why.

import type { Page, SeenPath, Skipped, Trial } from "../data.ts";
import { h } from "../dom.ts";
import { labelOf } from "../lines.ts";
import type { Selection } from "../selection.ts";
import { listedTrials } from "./generator.ts";
import { table, words, type Table } from "../table.ts";

interface Disturbed {
  id: string;
  label: string;
  verdict: string;
  reasons: readonly string[];
}

/** The trials that are not clean, each with its reasons below it, where they have room on any screen. */
export function verdictTable(page: Page, selection: Selection): Table {
  const result = table<Disturbed>({
    id: "verdict-table",
    caption: "Trials that were disturbed, and by what",
    rows: () => listedTrials(page, page.trials).filter(({ trial }) => selection.passes(trial.variables) && trial.reasons.length > 0)
      .map(({ trial: { id, verdict, reasons }, label }) => ({ id, label, verdict, reasons })),
    columns: [
      { title: "id", words: true, cell: ({ id }) => words(id) },
      { title: "trial", words: true, cell: ({ label }) => words(label) },
      { title: "verdict", words: true, cell: ({ verdict }) => ({ text: verdict, value: verdict, node: h("span", { class: `verdict ${verdict}` }, verdict) }) },
      { title: "because", words: true, below: true, cell: ({ reasons }) => ({ ...words(reasons.join("; ")), node: h("ul", { class: "reasons" }, ...reasons.map((reason) => h("li", null, reason))) }) },
    ],
  });
  selection.onChange(result.update);
  return result;
}

/** A path, and the trials whose packets took it. */
export interface Path {
  path: string;
  trials: string[];
}

/** The different paths of trials, in the order in which they first took them. */
export function pathsOf(trials: readonly Trial[]): Path[] {
  const paths = new Map<string, string[]>();
  for (const { id, seen_path } of trials) {
    if (seen_path === undefined) continue;
    const text = pathText(seen_path);
    if (text !== "") paths.set(text, [...(paths.get(text) ?? []), id]);
  }
  return [...paths].map(([path, of]) => ({ path, trials: of }));
}

/** A row names the trials up to this number. */
const mostNamed = 8;

/** By which paths packets came, as their headers told it where they arrived. */
export function pathTable(page: Page, selection: Selection): Table {
  const listed = () => page.trials.filter((trial) => selection.passes(trial.variables));
  const named = (ids: readonly string[], all: number) => (ids.length > mostNamed ? `${ids.length} of ${all} trials, such as ${ids[0]}` : ids.join(", "));
  const result = table<Path>({
    id: "path-table",
    caption: "The path that the packets took, as they themselves tell it",
    rows: () => pathsOf(listed()),
    columns: [
      { title: "path", words: true, cell: ({ path }) => ({ ...words(path), class: "wrap" }) },
      { title: "of", words: true, cell: ({ trials }) => ({ text: trials.length === listed().length ? (trials.length === 1 ? "the trial" : `all ${trials.length} trials`) : named(trials, listed().length), value: trials.join(", ") }) },
    ],
  });
  selection.onChange(result.update);
  return result;
}

function pathText(path: SeenPath): string {
  if (path.unseen && !path.of_warmup) return `not seen: ${path.unseen}`;
  const seen = path.of_warmup ? `${path.words} in the warm-up; the rest, and MAC addresses, not seen: ${path.unseen}` : path.words;
  return path.declared ? seen : `${seen} (seen; the file does not say what was to be)`;
}

/** The combinations that were not measured, and why. */
export function skippedTable(page: Page): Table {
  return table<Skipped>({
    id: "skipped-table",
    caption: "Not measured",
    rows: () => page.skipped,
    columns: [
      { title: "combination", words: true, cell: ({ variables }) => words(labelOf(variables, Object.keys(variables))) },
      { title: "reason", words: true, cell: ({ reason }) => ({ ...words(reason), class: "wrap" }) },
    ],
  });
}
