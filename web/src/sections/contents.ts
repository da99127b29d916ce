// The contents of the page: a link to each of its sections.

import { h } from "../dom.ts";

export function contents(sections: readonly HTMLElement[]): HTMLElement {
  return h("nav", { class: "contents", "aria-label": "Contents" },
    h("ul", null, ...sections.map((one) => h("li", null, h("a", { href: `#${one.id}` }, one.querySelector("h2")?.textContent ?? one.id)))));
}
