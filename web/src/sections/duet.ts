// Two variants that ran side by side: the latencies of both, and their difference. The head of the page says what was
// decided.

import { differenceChart, sidesChart } from "../charts/duet.ts";
import type { Frame } from "../charts/frame.ts";
import { swatch } from "../charts/frame.ts";
import type { Page, Variants } from "../data.ts";
import { h, section } from "../dom.ts";

/** The names of the sides, which their settings explain. */
function legend(duet: Variants): HTMLElement {
  return h("ul", { class: "legend", "aria-label": "The sides" },
    ...duet.sides.map((side, i) => h("li", null, swatch(i, i), ` ${side.label}`, side.settings === side.label ? "" : `: ${side.settings}`)));
}

/** The sections of all duets; a file has one. */
export function duetSections(page: Page, figure: (frame: Frame) => HTMLElement): HTMLElement[] {
  return page.duets.map((duet, i) => {
    const id = i === 0 ? "duet" : `duet-${duet.id}`;
    return section(id, "Two variants, side by side", null,
      h("p", { class: "hint" }, duet.beside.map((sentence) => `${sentence}.`).join(" ")),
      h("div", { class: "pair" },
        h("div", null, h("h3", null, "Latency by percentile"), figure(sidesChart(duet, `${id}-sides`)), legend(duet)),
        h("div", null, h("h3", null, "Difference b − a, with its interval"), figure(differenceChart(duet, `${id}-difference`)))));
  });
}
