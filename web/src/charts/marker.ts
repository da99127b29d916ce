// Markers, which tell series apart without their colours: one shape for each colour, the same as in figures for papers
// (report/figure/style.go).

import uPlot from "uplot";

type Corner = readonly [x: number, y: number];

/** The corners of a polygon around 0, the first at an angle; y goes down, as on a canvas. */
function polygon(corners: number, turn: number, size: number): Corner[] {
  return Array.from({ length: corners }, (_, i) => {
    const angle = turn + (2 * Math.PI * i) / corners;
    return [size * Math.cos(angle), -size * Math.sin(angle)];
  });
}

/** The corners of each marker with radius 1; the first is a circle. */
export const markers: readonly (readonly Corner[])[] = [
  [], polygon(4, Math.PI / 4, 1.2), polygon(3, Math.PI / 2, 1.3), polygon(4, 0, 1.3),
  polygon(3, -Math.PI / 2, 1.3), polygon(5, Math.PI / 2, 1.2), polygon(3, 0, 1.3), polygon(6, 0, 1.15),
];

const cornersOf = (marker: number): readonly Corner[] => markers[Math.max(marker, 0) % markers.length]!;

/** Begins a path with the marker, in the canvas' own pixels. */
export function traceMarker(ctx: CanvasRenderingContext2D, marker: number, x: number, y: number, r: number): void {
  const corners = cornersOf(marker);
  ctx.beginPath();
  if (corners.length === 0) ctx.arc(x, y, r, 0, 2 * Math.PI);
  corners.forEach(([dx, dy], i) => ctx[i === 0 ? "moveTo" : "lineTo"](x + r * dx, y + r * dy));
  ctx.closePath();
}

/** The marker as an element of an SVG. */
export function markerElement(marker: number, x: number, y: number, r: number): SVGElement {
  const corners = cornersOf(marker);
  const of = (name: string, attributes: Record<string, string | number>) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    return element;
  };
  if (corners.length === 0) return of("circle", { cx: x, cy: y, r });
  return of("polygon", { points: corners.map(([dx, dy]) => `${x + r * dx},${y + r * dy}`).join(" ") });
}

/** Where a line of a plot has its markers. */
export interface Marked {
  marker: number;
  colour: string;
  points: readonly { x: number; y: number }[];
}

/** How large the markers of lines are, in CSS pixels. */
const radius = 4;

/** Draws the markers of lines within the plot. */
export function drawMarks(plot: uPlot, lines: readonly Marked[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const { marker, colour, points } of lines) {
    ctx.fillStyle = colour;
    for (const { x, y } of points) {
      traceMarker(ctx, marker, plot.valToPos(x, "x", true), plot.valToPos(y, "y", true), radius * uPlot.pxRatio);
      ctx.fill();
    }
  }
  ctx.restore();
}
