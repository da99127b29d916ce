// The curves: latency by percentile of the lines that the reader chose, and which these are.

import { metricNames, ofCaptures, ofStretches, percentileChart } from "../charts/percentiles.ts";
import { swatch, type Frame } from "../charts/frame.ts";
import type { Page } from "../data.ts";
import { choice, h, section, toggle } from "../dom.ts";
import type { Metric } from "../page.ts";
import type { Selection } from "../selection.ts";

/** With more lines than this the legend lists only drawn ones, up to a limit; the table lists
 * all. */
const wholeLegend = 24;
const longestLegend = 40;

/** The drawn lines; a click removes one. */
function legend(page: Page, selection: Selection): HTMLElement {
  const list = h("ul", { class: "legend", "aria-label": "Lines in the figures" });
  const update = () => {
    const all = selection.listed();
    list.hidden = page.groups.length === 1 && selection.mode === "together"; // a single line needs no name
    const listed = all.length <= wholeLegend ? all : selection.shown();
    const more = listed.length - longestLegend;
    list.replaceChildren(...listed.slice(0, longestLegend).map((line) => {
      const checked = selection.isChecked(line);
      return h("li", null, h("button", { type: "button", "aria-pressed": String(checked), "data-key": line.key, title: checked ? "Hide" : "Draw",
        click: () => selection.change(() => selection.setChecked([line], !checked)) }, swatch(line.colour, line.dash), line.label));
    }), ...(more > 0 ? [h("li", { class: "more" }, `and ${more} more`)] : []));
  };
  selection.onChange(() => {
    const focused = list.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset["key"] : undefined;
    update();
    if (focused) list.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  });
  update();
  return list;
}

/** A text that follows the reader's choice; nothing where it is empty. */
function following(selection: Selection, of: () => string): HTMLElement {
  const element = h("p", { class: "hint", role: "status" });
  const update = () => {
    element.textContent = of();
    element.hidden = element.textContent === "";
  };
  selection.onChange(update);
  update();
  return element;
}

/** How many of the lines are drawn, where it is not all. */
function drawn(selection: Selection): string {
  const [shown, listed] = [selection.shown().length, selection.listed().length];
  if (shown === listed) return "";
  const spread = selection.spread ? `, spread over ${selection.spread}` : "";
  return `${shown} of ${listed} lines are drawn${spread}; choose others in the table of trials.`;
}

/** What a line is, where combinations were measured several times. */
function pooled(page: Page, selection: Selection): string {
  const repeats = Math.max(...page.groups.map((g) => g.counted.length));
  if (repeats < 2) return "";
  if (selection.mode === "each") return "A line is one repeat.";
  return "A bold line pools the packets of all repeats, and the faint ones behind it are the single repeats. The table of trials has medians of the repeats' percentiles, which differ from the percentiles of all packets together.";
}

export function latencySection(page: Page, selection: Selection, figure: (frame: Frame) => HTMLElement): HTMLElement {
  const metrics = choice<Metric>("Latency", (Object.keys(metricNames) as Metric[]).map((m) => [m, metricNames[m]]), () => selection.metric,
    (metric) => selection.change(() => (selection.metric = metric)));
  const title = ofStretches(page) ? "Length of the gaps by percentile" : page.duets.length > 0 ? "Latency by percentile, both sides together" : "Latency by percentile";
  return section("latency", title, "Both axes are logarithmic: each further nine takes the same width. A line ends where its count supports no further percentile, at the maximum.",
    h("div", { class: "tools left" }, ofCaptures(page) || ofStretches(page) ? null : metrics, page.baselines.length > 0 ? toggle("baseline", "baseline without a network", true, (on) => selection.change(() => (selection.baseline = on)), swatch(-1, 0)) : null,
      page.trials.some((t) => t.curves.undisturbed) ? toggle("undisturbed", "without the host's interruptions", true, (on) => selection.change(() => (selection.undisturbed = on))) : null),
    figure(percentileChart(page, selection)), legend(page, selection),
    following(selection, () => drawn(selection)), following(selection, () => pooled(page, selection)),
    page.wakes ? h("p", { class: "hint" }, page.wakes) : null,
    ...(page.undisturbed ?? []).map((line) => h("p", { class: "hint" }, line)),
    page.published_curves.length > 0 ? h("p", { class: "hint" }, `Dotted, published and not measured here: ${page.published_curves.map((p) => `${p.series} (${p.source})`).join("; ")}.`) : null);
}
