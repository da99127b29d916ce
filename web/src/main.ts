// The page: reads the data in it, builds the sections, and redraws them when the reader changes the
// selection.

import { outlierChart, slowestOf } from "./charts/outliers.ts";
import type { Frame } from "./charts/frame.ts";
import { ofCaptures, ofStretches } from "./charts/percentiles.ts";
import type { Page } from "./data.ts";
import { readPage } from "./page.ts";
import { h, section, toggle } from "./dom.ts";
import { Selection } from "./selection.ts";
import { baselineTable } from "./sections/baselines.ts";
import { causeSections } from "./sections/causes.ts";
import { contents } from "./sections/contents.ts";
import { controls } from "./sections/controls.ts";
import { duetSections } from "./sections/duet.ts";
import { figureSections } from "./sections/figures.ts";
import { files } from "./sections/files.ts";
import { gapTable, lagTable, listedTrials, witnessTable } from "./sections/generator.ts";
import { header } from "./sections/header.ts";
import { latencySection } from "./sections/latency.ts";
import { rateSection } from "./sections/rates.ts";
import { trialTable } from "./sections/trials.ts";
import { findingTable, searchTable } from "./sections/searches.ts";
import { hasScripts, onlyScripts, scriptTable } from "./sections/scripts.ts";
import { packetTable } from "./sections/packets.ts";
import { pairSection } from "./sections/pairs.ts";
import { tailTable } from "./sections/tails.ts";
import { pathTable, skippedTable, verdictTable } from "./sections/verdicts.ts";
import { startTheme } from "./theme.ts";

type Part = HTMLElement | "" | null;

/** The parts of a result's page, the first to be read first; those without a heading are no sections. */
function partsOf(page: Page, selection: Selection): Part[] {
  const found = page.searches.length > 0 ? section("searches", "Findings", "What the search methods found, of all their trials. The latencies below are of the trials that were run at parts of the result.",
    findingTable(page).element, searchTable(page).element) : null;
  const run = section("files", "What was run, and on what", null, ...files(page));
  if (page.trials.length === 0) {
    return [found, found === null ? h("p", { class: "empty" }, "No trial was finished, so there is nothing to draw.") : null, run];
  }
  const scripts = hasScripts(page) ? section("scripts", "Scripts", "Of each trial and node. The links are to files of the result folder, which this page is in.", scriptTable(page).element) : null;
  const reasons = page.trials.some((trial) => trial.reasons.length > 0);
  const verdicts = section("verdicts", "Verdicts", reasons ? null : "Every trial ran undisturbed.", reasons ? verdictTable(page, selection).element : null,
    page.trials.some((trial) => trial.seen_path?.words || trial.seen_path?.unseen) ? pathTable(page, selection).element : null,
    page.skipped.length > 0 ? skippedTable(page).element : null);
  if (onlyScripts(page)) return [found, scripts, verdicts, run];

  const frames: Frame[] = [];
  const figure = (frame: Frame) => {
    frames.push(frame);
    return frame.element;
  };
  const kept = page.trials.reduce((sum, t) => sum + t.outliers.length, 0);
  const all = page.trials.reduce((sum, t) => sum + t.outliers_all, 0);
  const parts: Part[] = [
    found,
    ...duetSections(page, figure),
    controls(page, selection),
    latencySection(page, selection, figure),
    ...figureSections(page, selection, figure),
    section("trials", "Trials", null, trialTable(page, selection).element),
    all > 0 ? section("outliers", ofStretches(page) ? "Longest gaps over time" : "Slowest packets over time", ofStretches(page) ? "Of each trial the longest gap of each hundred, and at least the 50 longest." : "Of each trial the slowest packet of each hundred, and at least the 50 slowest.",
      h("div", { class: "tools left" },
        page.trials.some((t) => slowestOf(t).length < t.outliers.length)
          ? toggle("ordinary", kept < all ? `the ${kept.toLocaleString("en")} slowest of the ${all.toLocaleString("en")} in outliers.csv` : `all ${all.toLocaleString("en")} in outliers.csv`, false, (on) => selection.change(() => (selection.ordinary = on))) : null,
        toggle("gaps", "gaps of the measuring threads (+)", false, (on) => selection.change(() => (selection.gaps = on)))),
      figure(outlierChart(page, selection))) : null,
    causeSections(page, selection),
    page.tails.length > 0 ? section("tails", "How far the tail is known", "As measured, if enough packets support the percentile; extrapolated from the slowest packets by peaks over threshold, if their distribution passes the tests; or refused, with the reasons.",
      tailTable(page, selection).element) : null,
    page.packets.length > 0 ? section("packets", "Every packet", "Of trials whose packets were all recorded or captured: loss, reordering (RFC 4737), delay variation (RFC 5481) and gaps, of all packets and of each flow.",
      packetTable(page, selection).element) : null,
    pairSection(page, selection, figure),
    ofStretches(page) ? null : rateSection(page, selection, figure),
    scripts,
    verdicts,
    instrument(page, selection),
    page.baselines.length > 0 ? section("baselines", "Baseline", "The generator back to back with itself, with nothing between: the floor of the instrument. It is shown beside the trials, never subtracted.",
      baselineTable(page)) : null,
    run,
  ];
  selection.onChange(() => frames.forEach((frame) => frame.draw()));
  return parts;
}

/** How good the generator was in the chosen trials. */
function instrument(page: Page, selection: Selection): HTMLElement {
  const chosen = () => {
    const shown = new Set(selection.shown().flatMap((line) => (line.repeat === null ? page.groups[line.group]!.trials : line.trials)));
    return listedTrials(page, page.trials.filter((_, i) => shown.has(i)));
  };
  const tables = [lagTable("lag-table", chosen), gapTable(chosen), witnessTable(chosen)];
  selection.onChange(() => tables.forEach((t) => t.update()));
  return section("generator", "The instrument", ofCaptures(page) ? "What the captures show about how they were taken." : "A late packet keeps the time at which it was due, so delays of the generator count as latency. These tables show how much they were.",
    ...tables.map((t) => t.element));
}

function build(page: Page, place: HTMLElement): void {
  document.title = `${page.name || "unnamed"} · nines`;
  const parts = partsOf(page, new Selection(page)).filter((part): part is HTMLElement => part !== null && part !== "");
  place.append(header(page), contents(parts.filter((part) => part.tagName === "SECTION")), ...parts,
    h("footer", null, "Made by nines from the result folder; this page makes no request."));
  // The sections are made by this script: the browser looked for the one of the address before.
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

startTheme();
const place = document.getElementById("page")!;
try {
  build(readPage(document.getElementById("data")!.textContent ?? ""), place);
} catch (error) {
  place.append(h("p", { class: "problems", role: "alert" }, `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`));
  throw error;
}
