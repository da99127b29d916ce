// The table of trials, which also selects lines.

import { percentileNames, type Page, type Trial } from "../data.ts";
import { h } from "../dom.ts";
import { grouped, micros, none, percentileTitle, readable, raw, shortNames, significant } from "../format.ts";
import { swatch } from "../charts/frame.ts";
import { metricTitle } from "../charts/percentiles.ts";
import { verdictText, worstVerdict, type Line } from "../lines.ts";
import type { Selection } from "../selection.ts";
import { number, table, type Column, type Table } from "../table.ts";

/** The median of values; null if any is null, because it would then describe other trials. */
export function median(values: readonly (number | null)[]): number | null {
  const known = values.filter((v): v is number => v !== null);
  if (known.length === 0 || known.length < values.length) return null;
  const sorted = [...known].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Whether any trial has enough packets for a percentile. */
const known = (page: Page, name: (typeof percentileNames)[number]): boolean =>
  page.trials.some((t) => t.latency_ns[name] !== null || t.from_tx_ns[name] !== null || t.send_lag_ns[name] !== null);

export function trialTable(page: Page, selection: Selection): Table {
  const short = shortNames(page.variables);
  const of = (line: Line, get: (trial: Trial) => number | null) => median(line.counted.map((t) => get(page.trials[t]!)));
  const columns: Column<Line>[] = page.variables.map((name) => ({
    title: short.get(name) ?? name, hint: name,
    words: page.groups.some((g) => typeof g.variables[name] === "string"),
    cell: (line) => {
      const value = line.variables[name] ?? null;
      return { text: readable(value), value: typeof value === "number" ? value : raw(value) };
    },
  }));
  columns.push(
    { title: "repeat", hint: "Repeats in the median, or the repeat", cell: (line) => line.repeat === null ? number(line.counted.length, (n) => `${n} ×`) : number(line.repeat, String) },
    { title: "verdict", words: true, cell: (line) => {
      const text = verdictText(line.verdicts);
      return { text, value: text, node: h("span", { class: `verdict ${worstVerdict(line.verdicts)}` }, text) };
    } },
    { title: "offered", unit: "pps", hint: "Packets a second that were really sent", cell: (line) => number(of(line, (t) => t.offered_pps), grouped) },
    { title: "received", unit: "pps", cell: (line) => number(of(line, (t) => t.received_pps), grouped) },
    { title: "loss", unit: "%", cell: (line) => number(of(line, (t) => (t.loss_ratio === null ? null : 100 * t.loss_ratio)), significant) },
    ...percentileNames.filter((name) => known(page, name)).map((name): Column<Line> => ({
      title: percentileTitle(name), unit: "µs",
      hint: name.startsWith("p") ? "A dash where too few packets were measured to tell" : "",
      cell: (line) => number(of(line, (t) => scaled(t[`${selection.metric}_ns`][name])), (us) => micros(us * 1000)),
    })),
    ...(page.groups.some((g) => g.p99_interval !== null) ? [{
      title: "p99 interval", unit: "µs", hint: "The 95 % interval of the median of the repeats' p99 from intended send, as in nines report",
      cell: (line: Line) => {
        const interval = line.repeat === null ? page.groups[line.group]!.p99_interval : null;
        return { text: interval ? `${micros(interval.low)} to ${micros(interval.high)}` : none, value: interval?.high ?? null };
      },
    }] : []),
  );
  const result = table<Line>({
    id: "trials-table",
    caption: () => `${metricTitle(page, selection.metric)}${selection.mode === "together" && page.groups.some((g) => g.trials.length > 1) ? ", medians of the repeats that are not invalid; the curves pool the packets of these" : ""}`,
    columns,
    rows: () => selection.listed(),
    rowClass: (line) => (selection.isChecked(line) ? "" : "off"),
    lead: {
      title: () => {
        const listed = selection.listed();
        const checked = listed.filter((line) => selection.isChecked(line)).length;
        const box = h("input", { type: "checkbox", id: "check-all", "aria-label": "Draw all", change: () => selection.change(() => selection.setChecked(listed, box.checked)) });
        box.checked = checked === listed.length && checked > 0;
        box.indeterminate = checked > 0 && checked < listed.length;
        return box;
      },
      cell: (line) => {
        const id = `check-${line.key}`;
        const box = h("input", { type: "checkbox", id, "aria-label": `Draw ${line.label}`, change: () => selection.change(() => selection.setChecked([line], box.checked)) });
        box.checked = selection.isChecked(line);
        return h("label", { for: id }, box, swatch(line.colour, line.dash));
      },
    },
  });
  selection.onChange(result.update);
  return result;
}

const scaled = (ns: number | null): number | null => (ns === null ? null : ns / 1000);
