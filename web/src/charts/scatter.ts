// Points: one for each slow packet over time, for each trial, or for each value of a figure (with
// lines between them). uPlot draws the axes; this file draws points and lines, because each series
// has its own x values.

import uPlot from "uplot";
import { palette } from "../theme.ts";
import { axis, Frame, type Tip } from "./frame.ts";
import { traceMarker } from "./marker.ts";

export interface Point {
  x: number;
  y: number;
  colour: number;
  marker: number;
  /** Drawn without a filling. */
  open?: boolean;
  /** Drawn as an outline, used for gaps. */
  hollow?: boolean;
  /** Drawn as a cross, used for invalid trials. */
  crossed?: boolean;
  /** Drawn as a ring, used for published values. */
  ring?: boolean;
  /** From the smallest to the largest value of the repeats. */
  whisker?: [number, number];
  /** How many CSS pixels aside it is drawn, so that whiskers at one place stand beside one another. */
  aside?: number;
  tip: () => Tip;
}

/** A line through points; a negative colour means the text's colour. */
export interface ScatterLine {
  colour: number;
  dash: readonly number[];
  aside?: number;
  points: readonly { x: number; y: number }[];
}

export interface ScatterAxis {
  label: string;
  log: boolean;
  range: [number, number];
  ticks: (low: number, high: number, most: number) => { splits: number[]; text: (value: number) => string };
}

export interface ScatterOptions {
  id: string;
  label: string;
  height: (width: number) => number;
  empty: string;
  /** The points and axes to draw; null if there are none. */
  content: () => { points: Point[]; lines?: ScatterLine[]; x: ScatterAxis; y: ScatterAxis; diagonal?: boolean; radius: number } | null;
}

/** How near the pointer must be, in CSS pixels. */
const reach = 24;

export function scatter(options: ScatterOptions): Frame {
  let points: Point[] = [];
  let marked: Point | null = null;
  const frame: Frame = new Frame({
    id: options.id, label: options.label, height: options.height, empty: options.empty, make,
    step: (plot, by, from) => {
      const visible = points.filter((p) => inside(plot, p)).sort((a, b) => a.x - b.x);
      if (visible.length === 0) return;
      const here = marked ? visible.indexOf(marked) : -1;
      const next = from === "start" ? 0 : from === "end" ? visible.length - 1 : Math.max(0, Math.min(here + by, visible.length - 1));
      mark(plot, visible[next]!);
    },
  });
  return frame;

  function inside(plot: uPlot, p: Point): boolean {
    const { x, y } = plot.scales;
    return p.x >= (x!.min ?? p.x) && p.x <= (x!.max ?? p.x) && p.y >= (y!.min ?? p.y) && p.y <= (y!.max ?? p.y);
  }

  function mark(plot: uPlot, point: Point | null): void {
    if (point === marked) return;
    marked = point;
    plot.redraw(false, false);
    if (point === null) frame.hideTip();
    else frame.showTip(plot, plot.valToPos(point.x, "x"), plot.valToPos(point.y, "y"), point.tip());
  }

  function make(width: number, height: number, place: HTMLElement): uPlot | null {
    const content = options.content();
    marked = null;
    points = content?.points ?? [];
    if (content === null || points.length === 0) return null;
    const colours = palette();
    const side = (which: "x" | "y", of: ScatterAxis, size: number, most: number): uPlot.Axis => {
      const ticks = (plot: uPlot) => of.ticks(plot.scales[which]!.min ?? of.range[0], plot.scales[which]!.max ?? of.range[1], most);
      return axis({ label: of.label, size, splits: (plot) => ticks(plot).splits, values: (plot, splits) => splits.map((v) => ticks(plot).text(v)) });
    };
    const { x, y } = content;
    return new uPlot({
      width, height,
      padding: [10, 16, 0, 0],
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: true, y: false } },
      scales: {
        x: { time: false, distr: x.log ? 3 : 1, range: (_, low, high) => [low, high] },
        y: { distr: y.log ? 3 : 1, range: () => y.range },
      },
      axes: [side("x", x, 28, Math.floor(width / 70)), side("y", y, 58, Math.floor(height / 26))],
      series: [{}, { show: false }],
      hooks: {
        draw: [(plot) => paint(plot)],
        setCursor: [(plot) => {
          const { left, top } = plot.cursor;
          mark(plot, left === undefined || top === undefined || left < 0 ? null : nearest(plot, left, top));
        }],
      },
    }, [x.range, [null, null]] as uPlot.AlignedData, place);

    function paint(plot: uPlot): void {
      const { ctx, bbox } = plot;
      const pixel = uPlot.pxRatio;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      if (content!.diagonal) {
        const low = Math.max(x.range[0], y.range[0]);
        const high = Math.min(x.range[1], y.range[1]);
        ctx.strokeStyle = colours.muted;
        ctx.lineWidth = pixel;
        ctx.setLineDash([3 * pixel, 3 * pixel]);
        ctx.beginPath();
        ctx.moveTo(plot.valToPos(low, "x", true), plot.valToPos(low, "y", true));
        ctx.lineTo(plot.valToPos(high, "x", true), plot.valToPos(high, "y", true));
        ctx.stroke();
        ctx.setLineDash([]);
      }
      for (const line of content!.lines ?? []) {
        ctx.strokeStyle = line.colour < 0 ? colours.muted : colours.series[line.colour] ?? colours.text;
        ctx.lineWidth = 2 * pixel;
        ctx.setLineDash(line.dash.map((n) => n * pixel));
        ctx.beginPath();
        line.points.forEach((p, i) => ctx[i === 0 ? "moveTo" : "lineTo"](plot.valToPos(p.x, "x", true) + (line.aside ?? 0) * pixel, plot.valToPos(p.y, "y", true)));
        ctx.stroke();
        ctx.setLineDash([]);
      }
      for (const point of points) {
        if (!inside(plot, point)) continue;
        const colour = point.colour < 0 ? colours.muted : colours.series[point.colour] ?? colours.text;
        const at = plot.valToPos(point.x, "x", true) + (point.aside ?? 0) * pixel;
        if (point.whisker && point.whisker[1] > point.whisker[0]) {
          ctx.strokeStyle = colour;
          ctx.lineWidth = pixel;
          ctx.beginPath();
          ctx.moveTo(at, plot.valToPos(point.whisker[0], "y", true));
          ctx.lineTo(at, plot.valToPos(point.whisker[1], "y", true));
          ctx.stroke();
        }
        shape(ctx, point, at, plot.valToPos(point.y, "y", true), content!.radius * pixel, colour, pixel);
      }
      if (marked) {
        ctx.strokeStyle = colours.text;
        ctx.lineWidth = 1.5 * pixel;
        ctx.beginPath();
        ctx.arc(plot.valToPos(marked.x, "x", true) + (marked.aside ?? 0) * pixel, plot.valToPos(marked.y, "y", true), (content!.radius + 4) * pixel, 0, 2 * Math.PI);
        ctx.stroke();
      }
      ctx.restore();
    }
  }

  function nearest(plot: uPlot, left: number, top: number): Point | null {
    let best: Point | null = null;
    let bestDistance = reach * reach;
    for (const point of points) {
      const dx = plot.valToPos(point.x, "x") - left;
      if (dx > reach || dx < -reach) continue;
      const dy = plot.valToPos(point.y, "y") - top;
      const distance = dx * dx + dy * dy;
      if (distance < bestDistance && inside(plot, point)) [best, bestDistance] = [point, distance];
    }
    return best;
  }
}

/** Draws a point; markers follow the colours, so points differ not only in these. */
function shape(ctx: CanvasRenderingContext2D, point: Point, x: number, y: number, r: number, colour: string, pixel: number): void {
  ctx.beginPath();
  if (point.ring) {
    ctx.arc(x, y, 1.3 * r, 0, 2 * Math.PI);
    ctx.strokeStyle = colour;
    ctx.lineWidth = 2 * pixel;
    ctx.stroke();
    return;
  }
  if (point.crossed) {
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x - r, y + r);
    ctx.lineTo(x + r, y - r);
    ctx.strokeStyle = colour;
    ctx.lineWidth = 2 * pixel;
    ctx.stroke();
    return;
  }
  if (point.hollow) {
    ctx.moveTo(x - 1.4 * r, y);
    ctx.lineTo(x + 1.4 * r, y);
    ctx.moveTo(x, y - 1.4 * r);
    ctx.lineTo(x, y + 1.4 * r);
    ctx.strokeStyle = colour;
    ctx.globalAlpha = 0.9;
    ctx.lineWidth = 1.5 * pixel;
    ctx.stroke();
    ctx.globalAlpha = 1;
    return;
  }
  traceMarker(ctx, point.marker, x, y, r);
  if (point.open) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.2 * pixel;
    ctx.stroke();
    return;
  }
  ctx.fillStyle = colour;
  ctx.globalAlpha = 0.65;
  ctx.fill();
  ctx.globalAlpha = 1;
}
