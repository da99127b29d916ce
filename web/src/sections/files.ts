// What was run, on what, and how: the host, the plan and the experiment file.

import type { Page, Value } from "../data.ts";
import { copyText, h } from "../dom.ts";
import { hostTable, member } from "./host.ts";
import { table, words, type Table } from "../table.ts";

/** A collapsible text with a copy button. */
function folded(title: string, note: string, text: string): HTMLElement {
  const status = h("span", { role: "status", class: "copied" });
  const copy = h("button", { type: "button", class: "quiet copy", click: () => {
    copyText(text).then(() => (status.textContent = "copied"), (error: unknown) => (status.textContent = `not copied: ${String(error)}`));
    window.setTimeout(() => (status.textContent = ""), 4000);
  } }, "Copy");
  return h("details", { class: "file" }, h("summary", null, h("b", null, title), h("span", null, note)),
    h("div", { class: "tools" }, status, copy), h("pre", { tabindex: 0 }, text));
}

interface PlanNode {
  plan: string;
  node: Value;
}

/** The nodes of a plan, or of several plans in a list or an object. */
export function planNodes(plan: Value, name = ""): PlanNode[] {
  const nodes = member(plan, "nodes");
  if (Array.isArray(nodes)) return nodes.map((node) => ({ plan: name, node }));
  if (Array.isArray(plan)) return plan.flatMap((one, i) => planNodes(one, String(i + 1)));
  if (plan !== null && typeof plan === "object") return Object.entries(plan).flatMap(([key, one]) => (one !== null && typeof one === "object" ? planNodes(one, key) : []));
  return [];
}

function planTable(rows: PlanNode[]): Table {
  const text = (value: Value | undefined): string => (Array.isArray(value) ? value.map((v) => text(v)).join(", ") : value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
  const key = (title: string, name: string) => ({ title, words: true, cell: ({ node }: PlanNode) => words(text(member(node, name))) });
  const several = new Set(rows.map((row) => row.plan)).size > 1;
  return table<PlanNode>({
    id: "plan-table", caption: "Who got which CPUs, and why", rows: () => rows,
    columns: [
      ...(several ? [{ title: "plan", words: true, cell: ({ plan }: PlanNode) => words(plan) }] : []),
      key("node", "name"), key("runtime", "runtime"), key("CPUs", "cpus"),
      { title: "alone", words: true, hint: "No other node has these CPUs", cell: ({ node }) => words(member(node, "cpus_exclusive") === true ? "yes" : "no") },
      key("memory nodes", "memory_nodes"),
      { title: "why", words: true, cell: ({ node }) => ({ ...words(text(member(node, "why"))), class: "wrap" }) },
    ],
  });
}

export function files(page: Page): HTMLElement[] {
  const parts: HTMLElement[] = [];
  const host = hostTable(page.host);
  if (host !== null) parts.push(host);
  const nodes = planNodes(page.plan);
  if (nodes.length > 0) parts.push(planTable(nodes).element);
  if (page.experiment !== "") parts.push(folded("experiment.yaml", "the file that was run", page.experiment));
  if (page.plan !== null) parts.push(folded("plan.json", "CPUs, memory, devices and addresses", JSON.stringify(page.plan, null, 2)));
  if (page.host !== null) parts.push(folded("host.json", "the machine", JSON.stringify(page.host, null, 2)));
  return parts;
}
