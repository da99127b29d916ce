// The page: reads the data in it, builds the sections, and redraws them when the reader changes the
// selection.

import { outlierChart } from "./charts/outliers.ts";
import { swatch, type Frame } from "./charts/frame.ts";
import { metricNames, ofCaptures, percentileChart, streamOf } from "./charts/percentiles.ts";
import { offeredChart, offeredTitle, rateChart } from "./charts/rate.ts";
import type { Page } from "./data.ts";
import { readPage, type Metric } from "./page.ts";
import { choice, h, section } from "./dom.ts";
import { firstShown, Selection } from "./selection.ts";
import { causeSections } from "./sections/causes.ts";
import { controls } from "./sections/controls.ts";
import { duetSections } from "./sections/duet.ts";
import { figureSections } from "./sections/figures.ts";
import { files } from "./sections/files.ts";
import { gapTable, lagTable, listedTrials, witnessTable } from "./sections/generator.ts";
import { header } from "./sections/header.ts";
import { trialTable } from "./sections/trials.ts";
import { findingTable, searchTable } from "./sections/searches.ts";
import { hasScripts, onlyScripts, scriptTable } from "./sections/scripts.ts";
import { packetTable } from "./sections/packets.ts";
import { pairSection } from "./sections/pairs.ts";
import { tailTable } from "./sections/tails.ts";
import { pathTable, skippedTable, verdictTable } from "./sections/verdicts.ts";
import { startTheme } from "./theme.ts";

/** A check box in a figure's head. */
function toggle(id: string, text: string, checked: boolean, change: (checked: boolean) => void, mark?: Node): HTMLElement {
  const box = h("input", { type: "checkbox", id, change: () => change(box.checked) });
  box.checked = checked;
  return h("label", { for: id, class: "chip" }, box, mark, text);
}

/** With more lines than this the legend lists only drawn ones, up to a limit; the table lists
 * all. */
const wholeLegend = 24;
const longestLegend = 40;

/** The drawn lines; a click removes one. */
function legend(selection: Selection): HTMLElement {
  const list = h("ul", { class: "legend", "aria-label": "Lines in the figures" });
  const update = () => {
    const all = selection.listed();
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

/** A note, shown while not all lines are drawn. */
function hint(selection: Selection): HTMLElement {
  const text = h("p", { class: "hint", role: "status" });
  const update = () => {
    const [shown, listed] = [selection.shown().length, selection.listed().length];
    text.textContent = shown < listed ? `${shown} of ${listed} lines are drawn; choose others in the table.` : "";
  };
  selection.onChange(update);
  update();
  return text;
}

function build(page: Page, place: HTMLElement): void {
  document.title = `${page.name || "unnamed"} · nines`;
  const selection = new Selection(page);
  place.append(header(page));
  if (page.searches.length > 0) {
    place.append(section("searches", "Findings", "What the search methods found, of all their trials. The latencies below are of the trials that were run at parts of the result.",
      findingTable(page).element, searchTable(page).element));
  }
  if (page.trials.length === 0) {
    if (page.searches.length === 0) place.append(h("p", { class: "empty" }, "No trial was finished, so there is nothing to draw."));
    place.append(section("files", "What was run", null, ...files(page)));
    return;
  }
  const scripts = hasScripts(page) ? section("scripts", "Scripts", "Of each trial and node. The links are to files of the result folder, which this page is in.", scriptTable(page).element) : null;
  const reasons = page.trials.some((trial) => trial.reasons.length > 0);
  const verdicts = () => section("verdicts", "Verdicts", reasons ? null : "Every trial ran undisturbed.", reasons ? verdictTable(page, selection).element : null,
    page.trials.some((trial) => trial.seen_path?.words || trial.seen_path?.unseen) ? pathTable(page, selection).element : null,
    page.skipped.length > 0 ? skippedTable(page).element : null);
  if (scripts !== null && onlyScripts(page)) {
    place.append(scripts, verdicts(), section("files", "What was run", null, ...files(page)));
    return;
  }
  const frames: Frame[] = [];
  const figure = (frame: Frame) => {
    frames.push(frame);
    return frame.element;
  };
  const metrics = choice<Metric>("Latency", (Object.keys(metricNames) as Metric[]).map((m) => [m, metricNames[m]]), () => selection.metric,
    (metric) => selection.change(() => (selection.metric = metric)));
  const chosenTrials = () => {
    const shown = new Set(selection.shown().flatMap((line) => (line.repeat === null ? page.groups[line.group]!.trials : line.trials)));
    return listedTrials(page, page.trials.filter((_, i) => shown.has(i)));
  };
  const lag = lagTable("lag-table", chosenTrials);
  const gaps = gapTable(chosenTrials);
  const witnesses = witnessTable(chosenTrials);
  selection.onChange(() => [lag, gaps, witnesses].forEach((t) => t.update()));
  const kept = page.trials.reduce((sum, t) => sum + t.outliers.length, 0);
  const all = page.trials.reduce((sum, t) => sum + t.outliers_all, 0);

  place.append(
    ...duetSections(page, figure),
    controls(page, selection),
    page.groups.length > firstShown ? hint(selection) : "",
    section("latency", "Latency by percentile", "Both axes are logarithmic: each further nine takes the same width. A line ends where its packets support no further percentile, at the maximum.",
      page.wakes ? h("p", { class: "hint" }, page.wakes) : null,
      h("div", { class: "tools left" }, ofCaptures(page) ? null : metrics, page.baselines.length > 0 ? toggle("baseline", "baseline without a network", true, (on) => selection.change(() => (selection.baseline = on)), swatch(-1, 0)) : null,
        page.trials.some((t) => t.curves.undisturbed) ? toggle("undisturbed", "without the host's interruptions", true, (on) => selection.change(() => (selection.undisturbed = on))) : null),
      figure(percentileChart(page, selection)), legend(selection),
      ...(page.undisturbed ?? []).map((line) => h("p", { class: "hint" }, line)),
      page.published_curves.length > 0 ? h("p", { class: "hint" }, `Dotted, published and not measured here: ${page.published_curves.map((p) => `${p.series} (${p.source})`).join("; ")}.`) : null),
    ...figureSections(page, selection, figure),
    section("trials", "Trials", null, trialTable(page, selection).element),
    page.tails.length > 0 ? section("tails", "How far the tail is known", "As measured, if enough packets support the percentile; extrapolated from the slowest packets by peaks over threshold, if their distribution passes the tests; or refused, with the reasons.",
      tailTable(page, selection).element) : "",
    scripts ?? "",
    page.packets.length > 0 ? section("packets", "Every packet", "Of trials whose packets were all recorded or captured: loss, reordering (RFC 4737), delay variation (RFC 5481) and gaps, of all packets and of each flow.",
      packetTable(page, selection).element) : "",
    pairSection(page, selection, figure),
    section("outliers", "Slowest packets over time", kept < all ? `The ${kept.toLocaleString("en")} slowest of the ${all.toLocaleString("en")} packets in the trials' outliers.csv.` : "The packets of the trials' outliers.csv.",
      h("div", { class: "tools left" }, toggle("gaps", "gaps of the measuring threads (+)", false, (on) => selection.change(() => (selection.gaps = on)))),
      figure(outlierChart(page, selection))),
    causeSections(page, selection),
    section("rates", "Rate and loss", null,
      h("div", { class: "tools left" }, toggle("share", "in % of the packets that were due", false, (on) => selection.change(() => (selection.share = on)))), h("div", { class: "pair" },
      h("div", null, h("h3", null, "Received over time; dotted: due"), figure(rateChart(page, selection))),
      h("div", null, h("h3", null, `${offeredTitle(page)}; dotted: all of it`), figure(offeredChart(page, selection))))),
    verdicts(),
    section("generator", "The instrument", ofCaptures(page) ? "What the captures show about how they were taken." : "A late packet keeps the time at which it was due, so delays of the generator count as latency. These tables show how much they were.",
      lag.element, gaps.element, witnesses.element),
    page.baselines.length > 0 ? section("baselines", "Baseline", "The generator back to back with itself, with nothing between: the floor of the instrument. It is shown beside the trials, never subtracted.",
      baselineTable(page)) : "",
    section("files", "What was run", null, ...files(page)),
    h("footer", null, "Made by nines from the result folder; this page makes no request."),
  );
  selection.onChange(() => frames.forEach((frame) => frame.draw()));
}

function baselineTable(page: Page): HTMLElement {
  // The same columns as for trials, but only for baselines.
  const variables = page.variables.filter((name) => page.baselines.some((b) => name in streamOf(b.variables)));
  const only: Page = { ...page, trials: page.baselines, groups: page.baselines.map((b, i) => ({ variables: { when: b.when ?? "", ...streamOf(b.variables) }, trials: [i], counted: [i], curves: b.curves, p99_interval: null })) };
  only.variables = ["when", ...variables];
  const selection = new Selection(only);
  const result = trialTable(only, selection);
  result.element.id = "baseline-table";
  result.element.classList.add("plain");
  return result.element;
}

startTheme();
const place = document.getElementById("page")!;
try {
  build(readPage(document.getElementById("data")!.textContent ?? ""), place);
} catch (error) {
  place.append(h("p", { class: "problems", role: "alert" }, `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`));
  throw error;
}
