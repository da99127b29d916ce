// The head of the page: what was run, when, on what, and with what verdict.

import type { Page, Value } from "../data.ts";
import { h } from "../dom.ts";
import { bytes } from "../format.ts";
import { allVerdicts } from "../lines.ts";
import { themeSwitch } from "../theme.ts";

/** The best first. */
const shownVerdicts = [...allVerdicts].reverse();

/** A member of a JSON object, or undefined for any other value. */
export function member(value: Value | undefined, ...path: (string | number)[]): Value | undefined {
  let here: Value | undefined = value;
  for (const key of path) {
    if (here === null || typeof here !== "object") return undefined;
    here = Array.isArray(here) ? here[Number(key)] : here[key];
  }
  return here;
}

const text = (value: Value | undefined): string => (value === null || value === undefined || typeof value === "object" ? "" : String(value));

/** The facts of a host that affect latency, in words. Unknown ones are left out. */
export function hostFacts(host: Value): [string, string][] {
  const facts: [string, string][] = [];
  const add = (name: string, value: string) => { if (value !== "") facts.push([name, value]); };
  const cpus = member(host, "cpus");
  const list = Array.isArray(cpus) ? cpus : [];
  const different = (key: string) => [...new Set(list.map((cpu) => text(member(cpu, key))).filter((v) => v !== ""))].join(", ");
  add("Host", text(member(host, "hostname")));
  const smt = text(member(host, "smt")).replace(/^not(supported|implemented)$/, "none"); // values of the kernel's cpu/smt/control
  if (list.length > 0) add("CPUs", `${list.length} × ${different("model") || "unknown"}${smt === "" ? "" : `, SMT ${smt}`}`);
  const nodes = member(host, "numa_nodes");
  if (Array.isArray(nodes) && nodes.length > 1) add("NUMA nodes", String(nodes.length));
  add("Governor", different("governor") || (list.length > 0 ? "none (not exposed)" : ""));
  const isolated = list.filter((cpu) => member(cpu, "isolated") === true).map((cpu) => text(member(cpu, "id")));
  if (list.length > 0) add("Isolated CPUs", isolated.join(", ") || "none");
  const realTime = member(host, "kernel", "real_time") === true ? ", PREEMPT_RT" : "";
  const preemption = text(member(host, "kernel", "preemption"));
  add("Kernel", text(member(host, "kernel", "release")) + (preemption === "" || realTime !== "" ? realTime : `, preemption ${preemption}`));
  add("System", text(member(host, "distribution", "name")));
  const around = [text(member(host, "virtualisation", "hypervisor")), text(member(host, "virtualisation", "container"))].filter((v) => v !== "" && v !== "none");
  if (member(host, "virtualisation") !== undefined) add("Virtualisation", around.join(", ") || "none");
  const memory = member(host, "memory_bytes");
  if (typeof memory === "number" && memory > 0) add("Memory", bytes(memory));
  const clock = text(member(host, "clock", "source"));
  const tsc = member(host, "clock", "constant_tsc") === true && member(host, "clock", "nonstop_tsc") === true ? " (constant, nonstop TSC)" : "";
  if (clock !== "") add("Clock", clock + tsc);
  add("Cgroups", text(member(host, "cgroup", "mode")));
  return facts;
}

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
  const facts = [...purposes(page), ...hostFacts(page.host)];
  return h("header", null,
    h("div", { class: "title" },
      h("div", null, h("h1", null, page.name || "unnamed"), h("p", { class: "when" }, h("time", { datetime: page.started }, when))),
      h("div", { class: "brand" }, h("span", null, "nines"), themeSwitch())),
    h("ul", { class: "tiles" },
      tile(String(totals.trials), `${totals.trials === 1 ? "trial" : "trials"}${totals.shown < totals.trials ? `, ${totals.shown} of them below` : ""}`),
      tile(totals.rx_packets.toLocaleString("en"), "packets, each one measured"),
      tile(totals.lost_packets.toLocaleString("en"), "lost"),
      totals.unsent_packets > 0 ? tile(totals.unsent_packets.toLocaleString("en"), "due and not sent") : null,
      ...shownVerdicts.map((verdict) => [verdict, totals.verdicts[verdict] ?? 0] as const).filter(([verdict, count]) => verdict !== "unmeasured" || count > 0)
        .map(([verdict, count]) => tile(String(count), verdict, verdict))),
    facts.length === 0 ? null : h("dl", { class: "facts" }, ...facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))),
    page.problems.length === 0 ? null : h("div", { class: "problems", role: "alert" },
      h("b", null, "Parts of this result are missing or damaged:"), h("ul", null, ...page.problems.map((p) => h("li", null, p)))));
}
