// The head of the page: what was run and when, what it says, and with what verdict.

import type { Page } from "../data.ts";
import { ofStretches } from "../charts/percentiles.ts";
import { h } from "../dom.ts";
import { allVerdicts } from "../lines.ts";
import { themeSwitch } from "../theme.ts";

/** The best first. */
const shownVerdicts = [...allVerdicts].reverse();

/** What was done to the network deliberately, in any trial: not the network's doing. */
export function purposes(page: Page): [string, string][] {
  const impaired = new Set<string>(), events = new Set<string>();
  for (const trial of page.trials) {
    for (const one of trial.details?.impairments ?? []) impaired.add(`${one.link}, packets from ${one.from}: ${one.what}`);
    for (const one of trial.details?.events ?? []) events.add(`${one.link ?? one.node ?? ""} ${one.what} at ${one.at_ns / 1e9} s${one.node ? "" : ` for ${one.length_ns / 1e6} ms`}`);
  }
  return [...[...impaired].map((text): [string, string] => ["Deliberately impaired", text]),
    ...[...events].map((text): [string, string] => ["Events", text])];
}

export function header(page: Page): HTMLElement {
  const { totals } = page;
  const started = new Date(page.started);
  const when = isNaN(started.getTime()) ? page.started : `${started.toISOString().slice(0, 10)} ${started.toISOString().slice(11, 19)} UTC`;
  const tile = (value: string, name: string, kind = "") => h("li", { class: kind }, h("b", null, value), h("span", null, name));
  const facts = purposes(page);
  const stretches = ofStretches(page);
  return h("header", null,
    h("div", { class: "title" },
      h("div", null, h("h1", null, page.name || "unnamed"), h("p", { class: "when" }, h("time", { datetime: page.started }, when))),
      h("div", { class: "brand" }, h("span", null, "nines"), themeSwitch())),
    page.answer.length === 0 ? null : h("div", { class: "answer" }, ...page.answer.map((sentence) => h("p", null, sentence))),
    page.expected.length === 0 ? null : h("ul", { class: "expected" }, ...page.expected.map((one) => h("li", { class: one.decision },
      h("p", null, h("b", null, one.decision), " ", h("code", null, one.expectation)), ...one.because.map((sentence) => h("p", null, sentence))))),
    h("ul", { class: "tiles" },
      tile(String(totals.trials), `${totals.trials === 1 ? "trial" : "trials"}${totals.shown < totals.trials ? `, ${totals.shown} of them below` : ""}`),
      tile(totals.rx_packets.toLocaleString("en"), stretches ? "gaps" : "packets, each one measured"),
      stretches ? null : tile(totals.lost_packets.toLocaleString("en"), "lost"),
      totals.unsent_packets > 0 ? tile(totals.unsent_packets.toLocaleString("en"), "due and not sent") : null,
      ...shownVerdicts.map((verdict) => [verdict, totals.verdicts[verdict] ?? 0] as const).filter(([verdict, count]) => verdict !== "unmeasured" || count > 0)
        .map(([verdict, count]) => tile(String(count), verdict, verdict))),
    facts.length === 0 ? null : h("dl", { class: "facts" }, ...facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    page.problems.length === 0 ? null : h("div", { class: "problems", role: "alert" },
      h("b", null, "Parts of this result are missing or damaged:"), h("ul", null, ...page.problems.map((p) => h("li", null, p)))));
}
