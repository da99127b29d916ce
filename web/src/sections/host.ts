// The host on which it was measured, as far as it affects latency.

import type { Value } from "../data.ts";
import { h } from "../dom.ts";
import { bytes } from "../format.ts";

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

/** The host's facts, for the section of what was run; null if none is known. */
export function hostTable(host: Value): HTMLElement | null {
  const facts = hostFacts(host);
  return facts.length === 0 ? null : h("dl", { class: "facts", id: "host" }, ...facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}
