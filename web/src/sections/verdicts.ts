// The verdicts: each trial that is not clean, and why.

import type { Page } from "../data.ts";
import { h } from "../dom.ts";
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
