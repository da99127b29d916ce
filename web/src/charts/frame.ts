// The common part of all figures: a frame that adapts to its width, redraws for the theme, shows a
// tip, and can be read with the keyboard.

import uPlot from "uplot";
import { h } from "../dom.ts";
import { onTheme, palette } from "../theme.ts";
import { markerElement } from "./marker.ts";

export const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/** Dash patterns in CSS pixels; the first is solid. Lines differ not only in colour. */
export const dashPatterns: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [10, 3, 2, 3], [14, 5]];

export interface TipRow {
  colour: number | null;
  dash: number;
  label: string;
  value: string;
}

export interface Tip {
  title: string;
  note?: string;
  rows: TipRow[];
}

const maxTipRows = 14;

export interface FrameOptions {
  id: string;
  label: string;
  height: (width: number) => number;
  /** Makes the plot, or returns null if there is nothing to draw. */
  make: (width: number, height: number, place: HTMLElement) => uPlot | null;
  empty: string;
  /** Moves the cursor by so many steps; 0 is the first position. */
  step?: (plot: uPlot, by: number, from: "here" | "start" | "end") => void;
}

export class Frame {
  readonly element: HTMLElement;
  private readonly place: HTMLElement;
  private readonly tip: HTMLElement;
  private readonly said: HTMLElement;
  private plot: uPlot | null = null;
  private width = 0;
  private byKeyboard = false;

  constructor(private readonly options: FrameOptions) {
    this.place = h("div", { class: "plot" });
    this.tip = h("div", { class: "tip", hidden: true });
    this.said = h("div", { class: "offscreen", "aria-live": "polite" });
    this.element = h("div", { class: "chart", id: options.id, tabindex: 0, role: "group", "aria-roledescription": "figure", "aria-label": `${options.label}. Arrow keys read its values.` },
      this.place, this.tip, this.said);
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("pointermove", () => (this.byKeyboard = false));
    this.element.addEventListener("pointerleave", () => this.hideTip());
    this.element.addEventListener("blur", () => this.hideTip());
    new ResizeObserver(() => {
      if (this.place.clientWidth !== this.width) this.draw();
    }).observe(this.place);
    onTheme(() => this.draw());
  }

  /** Redraws the figure for the reader's selection. */
  draw(): void {
    this.width = this.place.clientWidth;
    this.plot?.destroy();
    this.plot = null;
    this.hideTip();
    this.place.replaceChildren();
    if (this.width < 50) return; // not laid out yet: the observer calls again
    this.plot = this.options.make(this.width, this.options.height(this.width), this.place);
    if (this.plot === null) this.place.append(h("p", { class: "empty" }, this.options.empty));
  }

  /** Shows a tip at a position within the plot, or hides it. */
  showTip(plot: uPlot, left: number, top: number, content: Tip | null): void {
    if (content === null) {
      this.hideTip();
      return;
    }
    const rows = content.rows.slice(0, maxTipRows);
    const more = content.rows.length - rows.length;
    this.tip.replaceChildren(
      h("div", { class: "tip-title" }, content.title),
      ...rows.map((row) => h("div", { class: "tip-row" }, row.colour === null ? h("span") : swatch(row.colour, row.dash), h("span", null, row.label), h("b", null, row.value))),
      more > 0 ? h("div", { class: "tip-note" }, `and ${more} more`) : "",
      content.note ? h("div", { class: "tip-note" }, content.note) : "");
    this.tip.hidden = false;
    const frame = plot.over;
    const room = this.element.clientWidth;
    const x = frame.offsetLeft + left;
    const width = this.tip.offsetWidth;
    const right = x + 14 + width <= room;
    this.tip.style.left = `${Math.max(0, right ? x + 14 : Math.max(x - 14 - width, 0))}px`;
    this.tip.style.top = `${Math.max(0, Math.min(frame.offsetTop + top - 20, frame.offsetTop + frame.clientHeight - this.tip.offsetHeight))}px`;
    if (this.byKeyboard) this.said.textContent = [content.title, ...rows.map((row) => `${row.label} ${row.value}`)].join("; ");
  }

  hideTip(): void {
    this.tip.hidden = true;
  }

  private key(event: KeyboardEvent): void {
    if (this.plot === null || !this.options.step) return;
    const steps: Record<string, [number, "here" | "start" | "end"]> = {
      ArrowRight: [1, "here"], ArrowLeft: [-1, "here"], ArrowUp: [10, "here"], ArrowDown: [-10, "here"], Home: [0, "start"], End: [0, "end"],
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    this.byKeyboard = true;
    this.options.step(this.plot, ...step);
  }
}

/** A short piece of a line as it is drawn, with its marker. */
export function swatch(colour: number, dash: number): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("viewBox", "0 0 36 10");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of Object.entries({ x1: 1, x2: 35, y1: 5, y2: 5, "stroke-width": 2.5 })) line.setAttribute(name, String(value));
  line.style.stroke = colour < 0 ? "var(--muted)" : `var(--series-${colour})`;
  const pattern = colour < 0 ? [3, 3] : dashPatterns[dash] ?? [];
  if (pattern.length > 0) line.setAttribute("stroke-dasharray", pattern.map((n) => n * 0.7).join(" "));
  svg.append(line);
  if (colour >= 0) {
    const mark = markerElement(colour, 18, 5, 3.6);
    mark.style.fill = `var(--series-${colour})`;
    svg.append(mark);
  }
  return svg;
}

/** The look of an axis. */
export function axis(options: uPlot.Axis): uPlot.Axis {
  const colours = palette();
  return {
    stroke: colours.muted,
    font,
    labelFont: font,
    labelSize: 20,
    labelGap: 2,
    gap: 6,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
    border: { show: true, stroke: colours.grid, width: 1 },
    // Our ticks choose their labels; uPlot would leave out those of a logarithmic axis that do not
    // begin with certain digits, and so the median, or all labels of a narrow range.
    filter: (_, splits) => splits,
    ...options,
  };
}
