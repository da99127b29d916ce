// Rates and loss: over time, and received against intended. Where everything arrived there is nothing to draw.

import type { Frame } from "../charts/frame.ts";
import { offeredChart, offeredTitle, rateChart } from "../charts/rate.ts";
import type { Page } from "../data.ts";
import { h, section, toggle } from "../dom.ts";
import type { Selection } from "../selection.ts";

/** Whether a plot of rates can show anything: packets that were lost, or not sent. */
export function ratesDiffer(page: Page): boolean {
  return page.trials.some((t) => t.lost_packets > 0 || (t.unsent_packets ?? 0) > 0);
}

export function rateSection(page: Page, selection: Selection, figure: (frame: Frame) => HTMLElement): HTMLElement {
  const title = "Rate and loss";
  if (!ratesDiffer(page)) return section("rates", title, "Every packet that was due was sent, and every one of them arrived: a plot would show one line.");
  return section("rates", title, null,
    h("div", { class: "tools left" }, toggle("share", "in % of the packets that were due", false, (on) => selection.change(() => (selection.share = on)))),
    h("div", { class: "pair" },
      h("div", null, h("h3", null, "Received over time; dotted: due"), figure(rateChart(page, selection))),
      h("div", null, h("h3", null, `${offeredTitle(page)}; dotted: all of it`), figure(offeredChart(page, selection)))));
}
