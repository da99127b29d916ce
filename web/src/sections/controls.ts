// The bar that always stays visible: what to show, and how; null where there is nothing to choose.

import type { Page } from "../data.ts";
import { choice, h } from "../dom.ts";
import { raw, readable, shortNames } from "../format.ts";
import { valuesOf } from "../lines.ts";
import type { Selection } from "../selection.ts";

export function controls(page: Page, selection: Selection): HTMLElement | null {
  const short = shortNames(page.variables);
  const filters = page.variables.map((name) => ({ name, values: valuesOf(page, name) })).filter(({ values }) => values.length > 1)
    .map(({ name, values }) => h("fieldset", { class: "filter" }, h("legend", { title: name }, short.get(name) ?? name),
      ...values.map((value) => {
        const id = `filter-${name}-${raw(value)}`;
        const box = h("input", { type: "checkbox", id, change: () => selection.change(() => selection.setFiltered(name, raw(value), !box.checked)) });
        box.checked = true;
        return h("label", { for: id, class: "chip" }, box, readable(value));
      })));
  const repeats = page.groups.some((g) => g.trials.length > 1)
    ? choice("Repeats", [["together", "together"], ["each", "each"]], () => selection.mode, (mode) => selection.change(() => (selection.mode = mode)))
    : null;
  if (filters.length === 0 && repeats === null) return null;
  return h("div", { class: "controls", role: "region", "aria-label": "What to show" }, ...filters, repeats);
}
