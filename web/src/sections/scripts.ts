// What the nodes' scripts did in each trial, with links to what they uploaded: the page is in the
// result folder, and so are the files.

import type { Page } from "../data.ts";
import { h } from "../dom.ts";
import { significant } from "../format.ts";
import { labelOf } from "../lines.ts";
import { number, table, words, type Table } from "../table.ts";

type Script = NonNullable<Page["trials"][number]["scripts"]>[number];

interface Row {
  id: string;
  label: string;
  script: Script;
}

/** The path of a file of a script, from the result folder. */
export function scriptPath(trial: string, node: string, ...names: string[]): string {
  return ["scripts", trial, node, ...names.flatMap((name) => name.split("/"))].map(encodeURIComponent).join("/");
}

const link = (text: string, path: string) => h("a", { href: path }, text);

function files({ id, script }: Row): { text: string; node: Node } {
  const uploads = script.uploads ?? [];
  const more = script.more_uploads ? [`and ${script.more_uploads} more`] : [];
  const all = [
    ...["stdout", "stderr"].map((name) => link(name, scriptPath(id, script.node, name))),
    ...uploads.map((name) => link(name, scriptPath(id, script.node, "uploads", name))),
    ...more,
  ];
  return { text: ["stdout", "stderr", ...uploads, ...more].join(" "), node: h("span", null, ...all.flatMap((a, i) => (i === 0 ? [a] : [" ", a]))) };
}

export const hasScripts = (page: Page): boolean => page.trials.some((trial) => (trial.scripts ?? []).length > 0);

/** True where no trial had traffic, so that there is no figure to draw. */
export const onlyScripts = (page: Page): boolean =>
  page.trials.length > 0 && page.trials.every((trial) => trial.details?.role === "scripts");

export function scriptTable(page: Page): Table {
  return table<Row>({
    id: "scripts-table",
    caption: "How each node's script ended, and its files",
    rows: () => page.trials.flatMap((trial) => (trial.scripts ?? []).map((script) => ({
      id: trial.id, label: `${labelOf(trial.variables, page.variables)}${trial.repeat > 1 ? ` #${trial.repeat}` : ""}`, script,
    }))),
    columns: [
      { title: "id", words: true, cell: ({ id }) => words(id) },
      { title: "trial", words: true, cell: ({ label }) => words(label) },
      { title: "node", words: true, cell: ({ script }) => words(script.node) },
      { title: "status", words: true, hint: "The exit status, or why there is none", cell: ({ script }) => ({
        ...words(script.status), node: h("span", { class: `verdict ${script.status === "0" ? "clean" : "invalid"}` }, script.status) }) },
      { title: "took", unit: "s", cell: ({ script }) => number(script.took_ns / 1e9, significant) },
      { title: "files", words: true, cell: (row) => {
        const { text, node } = files(row);
        return { text, value: text, node, class: "wrap" };
      } },
    ],
  });
}
