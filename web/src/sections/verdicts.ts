// The verdicts: each trial that is not clean, and why.

import type { Page, SeenPath, Skipped } from "../data.ts";
import { h } from "../dom.ts";
import { labelOf } from "../lines.ts";
import type { Selection } from "../selection.ts";
import { listedTrials } from "./generator.ts";
import { table, words, type Table } from "../table.ts";

interface Reason {
  id: string;
  label: string;
  verdict: string;
  reason: string;
}

export function verdictTable(page: Page, selection: Selection): Table {
  const result = table<Reason>({
    id: "verdict-table",
    caption: "Trials that were disturbed, and by what",
    rows: () => listedTrials(page, page.trials).filter(({ trial }) => selection.passes(trial.variables))
      .flatMap(({ trial, label }) => trial.reasons.map((reason) => ({ id: trial.id, label, verdict: trial.verdict, reason }))),
    columns: [
      { title: "id", words: true, cell: ({ id }) => words(id) },
      { title: "trial", words: true, cell: ({ label }) => words(label) },
      { title: "verdict", words: true, cell: ({ verdict }) => ({ text: verdict, value: verdict, node: h("span", { class: `verdict ${verdict}` }, verdict) }) },
      { title: "reason", words: true, cell: ({ reason }) => ({ ...words(reason), class: "wrap" }) },
    ],
  });
  selection.onChange(result.update);
  return result;
}

interface Path {
  id: string;
  label: string;
  path: string;
}

/** By which path packets came, as their headers told where they arrived. */
export function pathTable(page: Page, selection: Selection): Table {
  const result = table<Path>({
    id: "path-table",
    caption: "The path that the packets took, as they themselves tell it",
    rows: () => listedTrials(page, page.trials).filter(({ trial }) => selection.passes(trial.variables) && trial.seen_path !== undefined)
      .map(({ trial, label }) => ({ id: trial.id, label, path: pathText(trial.seen_path!) })),
    columns: [
      { title: "id", words: true, cell: ({ id }) => words(id) },
      { title: "trial", words: true, cell: ({ label }) => words(label) },
      { title: "path", words: true, cell: ({ path }) => ({ ...words(path), class: "wrap" }) },
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
