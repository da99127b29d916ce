// Draws the timeline of a late packet: lanes of its CPUs with the packet's parts behind them. Drag
// or the buttons zoom, double-click resets; the arrow keys step through the events.

import type { LatePacket, Trace } from "../data.ts";
import { h } from "../dom.ts";
import { grouped, micros, time } from "../format.ts";
import { linearTicks } from "../scale.ts";
import { factsOf, isAlone, isIdle, lanesOf, panned, titleOf, zoomed, type Bar, type Lane, type TraceEvent } from "./layout.ts";

const svgSpace = "http://www.w3.org/2000/svg";
const rowHeight = 20;
const marksHeight = 14;
const laneGap = 10;
const headHeight = 22;
const axisHeight = 34;

function s(tag: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const element = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

// A kind that has the colour of another one.
const like: Record<string, string> = { foreign_packets: "napi_poll" };

/** The CSS class that sets the colour of a bar or mark. */
function classOf(event: TraceEvent, own: boolean): string {
  return isIdle(event) ? "idle" : own ? "own" : (like[event.kind] ?? event.kind);
}

/** The meanings of colours and marks, in the order of the legend. */
const meanings: [string, string][] = [
  ["own", "handles the packets"], ["thread", "another thread"], ["softirq", "softirq"], ["interrupt", "interrupt"],
  ["work", "work, timer"], ["napi_poll", "NAPI poll"], ["tlb_flush", "TLB flush"], ["idle", "idle"],
  ["wakeup", "wake-up"], ["ipi_send", "interrupt sent"], ["drop", "drop"], ["stage", "stage of a packet"],
];
const marked = new Set(["wakeup", "ipi_send", "drop", "stage"]);

export class Timeline {
  readonly element: HTMLElement;
  private readonly place = h("div", { class: "lanes" });
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly said = h("div", { class: "offscreen", "aria-live": "polite" });
  private readonly lanes: Lane[];
  /** All events with a tip, in order of time. */
  private readonly items: { event: TraceEvent; own: boolean; node: SVGElement | null }[] = [];
  private readonly limits: [number, number];
  private view: [number, number];
  private current = -1;
  private width = 0;
  private gutter = 0;
  private dragFrom: number | null = null;
  /** The event that its times count from. */
  private readonly origin: string;

  constructor(trace: Trace, private readonly packet: LatePacket) {
    this.lanes = lanesOf(trace, packet);
    this.origin = isAlone(trace) ? "the stretch began" : "the packet was due";
    for (const { bars, marks } of this.lanes) {
      this.items.push(...bars.map(({ event, own }) => ({ event, own, node: null })), ...marks.map((event) => ({ event, own: false, node: null })));
    }
    this.items.sort((a, b) => a.event.begin - b.event.begin);
    this.limits = [packet.from_ns, Math.max(packet.to_ns, packet.from_ns + 1)];
    this.view = [...this.limits];
    const tool = (label: string, text: string, act: () => void) => h("button", { type: "button", class: "quiet", title: label, "aria-label": label, click: () => { act(); this.draw(); } }, text);
    const middle = () => (this.view[0] + this.view[1]) / 2;
    this.element = h("div", { class: "chart timeline", id: "timeline", tabindex: 0, role: "group", "aria-roledescription": "figure",
      "aria-label": `Timeline of ${isAlone(trace) ? "stretch" : "packet"} ${packet.id}. Arrow keys read its events, plus and minus zoom, 0 shows all.` },
      h("div", { class: "tools left" },
        tool("Zoom in", "+", () => (this.view = zoomed(this.view, middle(), 0.5, this.limits))),
        tool("Zoom out", "−", () => (this.view = zoomed(this.view, middle(), 2, this.limits))),
        tool("Earlier", "◀", () => (this.view = panned(this.view, -0.5, this.limits))),
        tool("Later", "▶", () => (this.view = panned(this.view, 0.5, this.limits))),
        tool("The whole stretch", "all", () => (this.view = [...this.limits]))),
      this.place, this.legend(), this.tip, this.said);
    this.listen();
    new ResizeObserver(() => {
      if (this.place.clientWidth !== this.width) this.draw();
    }).observe(this.place);
  }

  private legend(): HTMLElement {
    const used = new Set(this.items.map(({ event, own }) => classOf(event, own)).map((c) => (c === "timer" ? "work" : c)));
    return h("ul", { class: "legend still" }, ...meanings.filter(([name]) => used.has(name)).map(([name, text]) => {
      const svg = s("svg", { class: "swatch", viewBox: "0 0 24 10", "aria-hidden": "true" });
      svg.append(marked.has(name) ? markShape(name, 12, 5) : s("rect", { class: `ev ${name}`, x: 1, y: 0, width: 22, height: 10, rx: 2 }));
      return h("li", null, svg, text);
    }));
  }

  private x(ns: number): number {
    const room = this.width - this.gutter;
    return this.gutter + ((ns - this.view[0]) / (this.view[1] - this.view[0])) * room;
  }

  private timeAt(x: number): number {
    return this.view[0] + ((x - this.gutter) / Math.max(this.width - this.gutter, 1)) * (this.view[1] - this.view[0]);
  }

  draw(): void {
    this.width = this.place.clientWidth;
    if (this.width < 50) return; // not laid out yet: the observer calls again
    this.gutter = this.width < 560 ? 52 : 104;
    const tops: number[] = [];
    let height = headHeight;
    for (const lane of this.lanes) {
      tops.push(height);
      height += marksHeight + lane.rows * rowHeight + laneGap;
    }
    const bottom = height;
    height += axisHeight;
    const svg = s("svg", { width: this.width, height, viewBox: `0 0 ${this.width} ${height}`, "aria-hidden": "true" });
    const clip = s("clipPath", { id: "timeline-clip" });
    clip.append(s("rect", { x: this.gutter, y: 0, width: this.width - this.gutter, height }));
    const inner = s("g", { "clip-path": "url(#timeline-clip)" });
    svg.append(clip, inner);
    this.drawPhases(inner, bottom);
    this.drawAxis(svg, inner, bottom);
    for (const item of this.items) item.node = null;
    this.lanes.forEach((lane, i) => this.drawLane(svg, inner, lane, tops[i]!));
    this.drawSent(inner, tops);
    this.place.replaceChildren(svg);
    this.mark(this.current, false);
  }

  private drawPhases(inner: SVGElement, bottom: number): void {
    this.packet.phases.forEach(({ phase, begin_ns, end_ns }, i) => {
      const [x, end] = [this.x(begin_ns), this.x(end_ns)];
      inner.append(s("rect", { class: `phase phase-${i % 3}`, x, y: 0, width: Math.max(end - x, 1), height: bottom }));
      const [left, right] = [Math.max(x, this.gutter), Math.min(end, this.width)];
      const texts = [`${phase} ${time(end_ns - begin_ns)}`, phase];
      const text = texts.find((t) => t.length * 6.4 < right - left - 6);
      if (text) inner.append(s("text", { class: "phase-name", x: (left + right) / 2, y: 15, "text-anchor": "middle" }, text));
    });
  }

  private drawAxis(svg: SVGElement, inner: SVGElement, bottom: number): void {
    const most = Math.max(2, Math.floor((this.width - this.gutter) / 80));
    for (const us of linearTicks(this.view[0] / 1000, this.view[1] / 1000, most)) {
      const x = this.x(us * 1000);
      inner.append(s("line", { class: "grid", x1: x, x2: x, y1: headHeight - 4, y2: bottom }));
      if (x > this.gutter + 8 && x < this.width - 12) svg.append(s("text", { class: "tick", x, y: bottom + 14, "text-anchor": "middle" }, Number.isInteger(us) ? grouped(us) : String(us)));
    }
    svg.append(s("text", { class: "tick", x: (this.width + this.gutter) / 2, y: bottom + 30, "text-anchor": "middle" }, `µs since ${this.origin}`));
  }

  private drawLane(svg: SVGElement, inner: SVGElement, lane: Lane, top: number): void {
    const narrow = this.gutter < 80;
    svg.append(s("text", { class: "cpu", x: 0, y: top + marksHeight + 14 }, `CPU ${lane.cpu}`));
    if (!narrow) lane.roles.slice(0, 2).forEach((role, i) => svg.append(s("text", { class: "role", x: 0, y: top + marksHeight + 28 + 13 * i }, role.length > 16 ? role.slice(0, 15) + "…" : role)));
    svg.append(s("line", { class: "base", x1: this.gutter, x2: this.width, y1: top + marksHeight + rowHeight, y2: top + marksHeight + rowHeight }));
    for (const bar of lane.bars) this.drawBar(inner, bar, top + marksHeight + bar.row * rowHeight);
    for (const event of lane.marks) {
      if (event.begin < this.view[0] || event.begin > this.view[1]) continue;
      const node = markShape(event.kind, this.x(event.begin), top + marksHeight / 2 + 2);
      this.keep(event, node);
      inner.append(node);
    }
  }

  private drawBar(inner: SVGElement, { event, own }: Bar, y: number): void {
    if (event.begin + event.length < this.view[0] || event.begin > this.view[1]) return;
    const begin = Math.max(this.x(event.begin), this.gutter - 2);
    const end = Math.min(this.x(event.begin + event.length), this.width + 2);
    const node = s("rect", { class: `ev ${classOf(event, own)}`, x: begin, y: y + 1, width: Math.max(end - begin, 1), height: rowHeight - 2, rx: end - begin > 6 ? 2 : 0 });
    this.keep(event, node);
    inner.append(node);
    const [left, right] = [Math.max(begin, this.gutter), Math.min(end, this.width)];
    const name = event.kind === "thread" && event.tid !== 0 ? event.name : event.kind === "thread" ? "idle" : event.name || titleOf(event);
    const room = Math.floor((right - left - 8) / 6.6);
    if (room >= Math.min(name.length, 6)) inner.append(s("text", { class: `label ${classOf(event, own)}`, x: left + 4, y: y + rowHeight - 6 }, name.length > room ? name.slice(0, room - 1) + "…" : name));
  }

  /** Lines from the CPU that sent an interrupt to the CPU that received it. */
  private drawSent(inner: SVGElement, tops: readonly number[]): void {
    this.lanes.forEach((lane, from) => {
      for (const event of lane.marks) {
        const to = this.lanes.findIndex(({ cpu }) => cpu === event.other && cpu !== lane.cpu);
        if (event.kind !== "ipi_send" || to < 0) continue;
        const x = this.x(event.begin);
        inner.append(s("line", { class: "sent", x1: x, x2: x, y1: tops[from]! + marksHeight / 2 + 2, y2: tops[to]! + marksHeight / 2 + 2 }));
      }
    });
  }

  private keep(event: TraceEvent, node: SVGElement): void {
    const at = this.items.findIndex((item) => item.event === event);
    node.setAttribute("data-at", String(at));
    this.items[at]!.node = node;
  }

  /** Highlights an event, with its tip. */
  private mark(at: number, speak: boolean): void {
    this.items[this.current]?.node?.classList.remove("on");
    this.current = at;
    const item = this.items[at];
    if (!item?.node) {
      this.tip.hidden = true;
      return;
    }
    item.node.classList.add("on");
    const { event } = item;
    const begins = event.begin < 0 ? `${micros(-event.begin)} µs before ${this.origin}` : `${micros(event.begin)} µs after ${this.origin}`;
    const facts: [string, string][] = [["begins", begins], ...(event.length > 0 ? [["length", `${micros(event.length)} µs`] as [string, string]] : []), ...factsOf(event)];
    this.tip.replaceChildren(h("div", { class: "tip-title" }, titleOf(event)),
      ...facts.map(([name, value]) => h("div", { class: "tip-row" }, h("span"), h("span", null, name), h("b", null, value))));
    this.tip.hidden = false;
    const node = item.node.getBoundingClientRect();
    const frame = this.element.getBoundingClientRect();
    const left = Math.max(node.left, frame.left + this.gutter) - frame.left;
    this.tip.style.left = `${Math.max(0, Math.min(left, this.element.clientWidth - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${node.bottom - frame.top + 6}px`;
    if (speak) this.said.textContent = [titleOf(event), ...facts.map(([name, value]) => `${name} ${value}`)].join("; ");
  }

  private step(by: number): void {
    const seen = this.items.map((item, at) => ({ item, at })).filter(({ item }) => item.node !== null).map(({ at }) => at);
    if (seen.length === 0) return;
    const here = seen.indexOf(this.current);
    const next = by === -Infinity ? 0 : by === Infinity ? seen.length - 1 : here < 0 ? 0 : Math.max(0, Math.min(here + by, seen.length - 1));
    this.mark(seen[next]!, true);
  }

  private key(event: KeyboardEvent): boolean {
    const around = this.items[this.current]?.event.begin ?? (this.view[0] + this.view[1]) / 2;
    const act: Record<string, () => void> = {
      ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), ArrowUp: () => this.step(10), ArrowDown: () => this.step(-10),
      Home: () => this.step(-Infinity), End: () => this.step(Infinity),
      "+": () => { this.view = zoomed(this.view, around, 0.5, this.limits); this.draw(); },
      "-": () => { this.view = zoomed(this.view, around, 2, this.limits); this.draw(); },
      "0": () => { this.view = [...this.limits]; this.draw(); },
      Escape: () => this.mark(-1, false),
    };
    act[event.key]?.();
    return event.key in act;
  }

  private listen(): void {
    const x = (event: PointerEvent | MouseEvent) => event.clientX - this.place.getBoundingClientRect().left;
    const target = (event: Event) => (event.target as Element).closest("[data-at]");
    this.element.addEventListener("keydown", (event) => {
      if (event.target === this.element && this.key(event)) event.preventDefault();
    });
    this.element.addEventListener("blur", () => this.mark(-1, false));
    this.place.addEventListener("pointerover", (event) => {
      const node = target(event);
      this.mark(node ? Number(node.getAttribute("data-at")) : -1, false);
    });
    this.place.addEventListener("pointerleave", () => this.mark(-1, false));
    this.place.addEventListener("pointerdown", (event) => (this.dragFrom = event.pointerType === "mouse" ? x(event) : null));
    this.place.addEventListener("pointerup", (event) => {
      const from = this.dragFrom;
      this.dragFrom = null;
      if (from === null || Math.abs(x(event) - from) < 8) return;
      const [a, b] = [this.timeAt(Math.min(from, x(event))), this.timeAt(Math.max(from, x(event)))];
      this.view = panned([a, Math.max(b, a + Math.min(100, this.limits[1] - this.limits[0]))], 0, this.limits);
      this.draw();
    });
    this.place.addEventListener("dblclick", () => {
      this.view = [...this.limits];
      this.draw();
    });
  }
}

/** Marks differ in shape, not only in colour. */
function markShape(kind: string, x: number, y: number): SVGElement {
  const paths: Record<string, string> = {
    wakeup: `M${x} ${y - 5}L${x + 4} ${y + 4}H${x - 4}Z`,
    ipi_send: `M${x} ${y + 5}L${x + 4} ${y - 4}H${x - 4}Z`,
    drop: `M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x + 4} ${y - 4}L${x - 4} ${y + 4}`,
    stage: `M${x} ${y - 5}L${x + 4} ${y}L${x} ${y + 5}L${x - 4} ${y}Z`,
  };
  return s("path", { class: `mk ${kind}`, d: paths[kind] ?? `M${x - 1} ${y - 5}H${x + 1}V${y + 5}H${x - 1}Z` });
}
