// The baselines: the generator without a network.

import { streamOf } from "../charts/percentiles.ts";
import type { Page } from "../data.ts";
import { Selection } from "../selection.ts";
import { trialTable } from "./trials.ts";

/** The same columns as for trials, but only for baselines. */
export function baselineTable(page: Page): HTMLElement {
  const variables = page.variables.filter((name) => page.baselines.some((b) => name in streamOf(b.variables)));
  const only: Page = { ...page, trials: page.baselines, groups: page.baselines.map((b, i) => ({ variables: { when: b.when ?? "", ...streamOf(b.variables) }, trials: [i], counted: [i], curves: b.curves, p99_interval: null })) };
  only.variables = ["when", ...variables];
  const result = trialTable(only, new Selection(only));
  result.element.id = "baseline-table";
  result.element.classList.add("plain");
  return result.element;
}
