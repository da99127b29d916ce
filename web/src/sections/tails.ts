// What the slowest packets say about a percentile that too few packets reach: measured,
// extrapolated, or the reason why not.

import type { Page, Tail, TailDirect } from "../data.ts";
import { grouped, micros, none, significant } from "../format.ts";
import { labelOf } from "../lines.ts";
import type { Selection } from "../selection.ts";
import { number, table, words, type Cell, type Column, type Table } from "../table.ts";

/** The usual name of a quantile: p99.99999. */
export function percentileName(p: number): string {
  return `p${Math.round(p * 1e14) / 1e12}`;
}

/** A measured value with its interval, whose upper end may be open. */
export function measured(d: TailDirect): string {
  const interval = d.low === null ? none : `${micros(d.low)}, ${d.high === null ? "open" : micros(d.high)}`;
  return `${micros(d.value)} [${interval}]`;
}

export interface Answer {
  value: number | null;
  text: string;
  by: string;
}

/** The measured value if the packets bound it, else the extrapolated one, else the measured one
 * without a bound. */
export function answerOf(tail: Tail): Answer {
  const { asked_directly: asked, estimate } = tail;
  if (asked && (asked.high !== null || !estimate)) return { value: asked.value, text: measured(asked), by: "measured" };
  if (estimate) {
    const beyond = estimate.beyond_count > 1 ? ` ×${significant(estimate.beyond_count)}` : "";
    return { value: estimate.value, text: `${micros(estimate.value)} [${micros(estimate.low)}, ${micros(estimate.high)}]`, by: `extrapolated${beyond}` };
  }
  return { value: null, text: none, by: "refused" };
}

const direct = (d: TailDirect | null): Cell => d === null ? number(null, String)
  : { text: `${percentileName(d.p)} ${measured(d)}`, value: d.value };

/** Why there is no answer, and no interval of what was measured. */
function reasons(tail: Tail): string {
  const refused = answerOf(tail).by === "refused" || !tail.estimate ? tail.refused : [];
  const without = tail.largest_supported?.no_interval;
  return [...refused, ...(without ? [`no interval: ${without}`] : [])].join("; ");
}


export function tailTable(page: Page, selection: Selection): Table {
  const asked = page.tails[0] ? percentileName(page.tails[0].p) : "";
  const fitted = page.tails.some(({ fit }) => fit !== null);
  const diagnostics: Column<Tail>[] = [
    { title: "threshold", unit: "µs", hint: "above it the tail was fitted", cell: ({ fit }) => number(fit?.threshold, (ns) => micros(ns)) },
    { title: "exceedances", cell: ({ fit }) => number(fit?.exceedances, grouped) },
    { title: "clusters", hint: "of exceedances that came together", cell: ({ fit }) => number(fit?.clusters, grouped) },
    { title: "shape", hint: "ξ of the generalised Pareto distribution, and its standard error", cell: ({ fit }) => number(fit?.fit?.shape, (v) => `${v.toFixed(2)} ± ${(fit!.fit!.shape_error).toFixed(2)}`) },
    { title: "A² p", hint: "Anderson and Darling's test of the fit; below 0.05 it is refused", cell: ({ fit }) => number(fit?.goodness?.anderson_darling_p, significant) },
  ];
  const columns: Column<Tail>[] = [
    { title: "trials", words: true, cell: ({ variables }) => words(labelOf(variables, page.variables)) },
    { title: "packets", cell: ({ total }) => number(total, grouped) },
    { title: "largest measured", unit: "µs", hint: "the largest percentile that this many packets support, with its 95 % interval by time blocks; open: too few clusters of slow packets lie beyond", words: true, cell: ({ largest_supported }) => direct(largest_supported) },
    { title: asked, unit: "µs", hint: "with its 95 % interval", words: true, cell: (tail) => {
      const { value, text } = answerOf(tail);
      return { text, value };
    } },
    { title: "by", words: true, cell: (tail) => words(answerOf(tail).by) },
    ...(fitted ? diagnostics : []),
    { title: "why not", words: true, below: true, cell: (tail) => words(reasons(tail)) },
  ];
  const result = table<Tail>({
    id: "tail-table", caption: `What is the ${asked.slice(1)}th percentile?`,
    rows: () => page.tails.filter(({ variables }) => selection.passes(variables)), columns,
  });
  selection.onChange(result.update);
  return result;
}
