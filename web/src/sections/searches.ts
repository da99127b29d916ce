// The results of search methods: a line for each figure, and facts about each search.

import type { Page, SearchFinding, SearchGroup } from "../data.ts";
import { h } from "../dom.ts";
import { grouped, raw, readable, shortNames, significant, time } from "../format.ts";
import { number, table, words, type Cell, type Column, type Table } from "../table.ts";

interface Row {
  group: SearchGroup;
  finding: SearchFinding;
}

const units: Record<string, string> = { ns: "µs", ratio: "%" };

function figure(value: number | null, unit: string): Cell {
  const scale = unit === "ns" ? 1e-3 : unit === "ratio" ? 100 : 1;
  return number(value, (v) => (unit.startsWith("packets") ? grouped(v) : significant(v * scale)));
}

/** The value of a finding, which may be only the least that it can be. */
function found(finding: SearchFinding): Cell {
  const cell = figure(finding.value, finding.unit);
  return finding.at_least && finding.value !== null ? { ...cell, text: `at least ${cell.text}` } : cell;
}

const mark = (text: string, style: string): Cell => ({ text, value: text, node: h("span", { class: `verdict ${style}` }, text) });

function variableColumns<R>(page: Page, of: (row: R) => SearchGroup): Column<R>[] {
  const names = page.variables.filter((name) => page.searches.some((s) => name in s.variables));
  const others = [...new Set(page.searches.flatMap((s) => Object.keys(s.variables)))].filter((name) => !names.includes(name)).sort();
  const all = [...names, ...others];
  const short = shortNames(all);
  return all.map((name) => ({
    title: short.get(name)!, hint: name,
    words: page.searches.some((s) => typeof s.variables[name] === "string"),
    cell: (row: R): Cell => {
      const value = of(row).variables[name];
      return { text: readable(value), value: typeof value === "number" ? value : raw(value) };
    },
  }));
}

/** The figures that the searches looked for. */
export function findingTable(page: Page): Table {
  const rows = page.searches.flatMap((group) => group.findings.map((finding) => ({ group, finding })));
  const has = (some: (finding: SearchFinding) => boolean) => rows.some(({ finding }) => some(finding));
  const columns: (Column<Row> | null)[] = [
    ...variableColumns<Row>(page, ({ group }) => group),
    { title: "method", words: true, cell: ({ group }) => words(group.method) },
    { title: "finding", words: true, cell: ({ finding }) => words(finding.name) },
    has((f) => f.at !== "") ? { title: "at", words: true, cell: ({ finding }) => words(finding.at) } : null,
    { title: "value", cell: ({ finding }) => found(finding) },
    { title: "low", hint: "the last lower bound of a search, or of the 95 % bootstrap interval of repeats", cell: ({ finding }) => figure(finding.low, finding.unit) },
    { title: "high", hint: "the last upper bound of a search, or of the 95 % bootstrap interval of repeats", cell: ({ finding }) => figure(finding.high, finding.unit) },
    has((f) => f.limit !== null) ? { title: "limit", cell: ({ finding }) => figure(finding.limit, finding.unit) } : null,
    { title: "unit", words: true, cell: ({ finding }) => words(units[finding.unit] ?? finding.unit) },
    has((f) => f.passed !== null) ? { title: "verdict", words: true, cell: ({ finding }) =>
      finding.passed === null ? words("") : finding.passed ? mark("passed", "clean") : mark("failed", "invalid") } : null,
    has((f) => f.reasons.length > 0) ? { title: "note", words: true, cell: ({ finding }) => ({ ...words(finding.reasons.join("; ")), class: "wrap" }) } : null,
  ];
  return table<Row>({
    id: "finding-table", caption: "What the searches found", rows: () => rows,
    columns: columns.filter((column) => column !== null),
  });
}

/** Whether each search met its standard's conditions, and how long it took. */
export function searchTable(page: Page): Table {
  return table<SearchGroup>({
    id: "search-table", caption: "The searches", rows: () => page.searches,
    columns: [
      ...variableColumns<SearchGroup>(page, (group) => group),
      { title: "method", words: true, cell: ({ method }) => words(method) },
      { title: "trials", cell: ({ trials }) => number(trials, grouped) },
      { title: "measuring", cell: ({ measuring_ns }) => number(measuring_ns, time) },
      { title: "conformant", words: true, cell: ({ conformant }) => (conformant ? mark("yes", "clean") : mark("no", "noisy")) },
      { title: "because", words: true, cell: ({ deviations }) => ({ ...words(deviations.join("; ")), class: "wrap" }) },
    ],
  });
}
