// Tables that sort by a click on a heading and copy as TSV.

import { copyText, h } from "./dom.ts";
import { compare, toTSV } from "./tsv.ts";

export interface Cell {
  text: string;
  /** The value to sort and copy: numbers unrounded, null if missing. */
  value: string | number | null;
  node?: Node;
  class?: string;
}

export interface Column<Row> {
  title: string;
  unit?: string;
  /** Whether the column has words, which are left-aligned; numbers are right-aligned. */
  words?: boolean;
  /** The heading's tooltip. */
  hint?: string;
  /** Whether its text stands below the row, over the whole width, where it is not empty: a sentence
   * in a last column would be the first to be cut off. */
  below?: boolean;
  cell: (row: Row) => Cell;
}

export const number = (value: number | null | undefined, text: (value: number) => string): Cell =>
  value === null || value === undefined ? { text: "–", value: null } : { text: text(value), value };

export const words = (text: string): Cell => ({ text, value: text });

export interface TableOptions<Row> {
  id: string;
  caption: string | (() => string);
  columns: Column<Row>[];
  rows: () => Row[];
  /** A first column that is neither sorted nor copied, such as a check box. */
  lead?: { title: () => Node; cell: (row: Row) => Node };
  rowClass?: (row: Row) => string;
  /** Makes rows selectable, by a click, or by Enter on the focused row. */
  pick?: { label: string; choose: (row: Row) => void; chosen: (row: Row) => boolean };
}

export interface Table {
  element: HTMLElement;
  update: () => void;
}

export function table<Row>(options: TableOptions<Row>): Table {
  let sortedBy: number | null = null;
  let descending = false;
  let count = 0; // of rows
  const { columns } = options;
  const beside = columns.filter((column) => !column.below);
  const below = columns.filter((column) => column.below);
  const leadHead = h("th", { scope: "col", class: "check" });
  const heads = beside.map((column, i) =>
    h("th", { scope: "col", class: column.words ? "words" : "", "aria-sort": "none" },
      h("button", { type: "button", title: column.hint, click: () => {
        // The third click restores the order of the sweep.
        if (sortedBy !== i) [sortedBy, descending] = [i, false];
        else if (!descending) descending = true;
        else sortedBy = null;
        update();
      } }, column.title, column.unit ? h("span", { class: "unit" }, column.unit) : null)));
  const body = h("tbody");
  const copy = h("button", { type: "button", class: "quiet copy", click: () => { void copyTable(); } }, "Copy as TSV");
  const status = h("span", { role: "status", class: "copied" });
  const caption = () => (typeof options.caption === "string" ? options.caption : options.caption());
  const title = h("span", null, caption());
  const region = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption() },
    h("table", null, h("thead", null, h("tr", null, options.lead ? leadHead : null, ...heads)), body));
  const whole = h("button", { type: "button", class: "quiet", click: () => {
    region.classList.toggle("whole");
    tellCut();
  } });
  const cut = h("p", { class: "cut" }, h("span"), whole);
  const element = h("figure", { class: "table", id: options.id },
    h("figcaption", null, title, h("span", { class: "tools" }, status, copy)), region, cut);

  /** Says how many rows there are where the table shows a part of them, and lets the reader see all. */
  function tellCut(): void {
    const isWhole = region.classList.contains("whole");
    const hidden = region.scrollHeight > region.clientHeight + 1;
    cut.hidden = !hidden && !isWhole;
    region.classList.toggle("more", hidden);
    cut.firstElementChild!.textContent = hidden ? `${count} rows: scroll in the table, or` : "";
    whole.textContent = isWhole ? "Show fewer rows" : `Show all ${count} rows`;
  }
  new ResizeObserver(tellCut).observe(region);

  function ordered(): Row[] {
    const rows = options.rows();
    if (sortedBy === null) return rows;
    const column = beside[sortedBy]!;
    return rows.map((row) => ({ row, value: column.cell(row).value }))
      .sort((a, b) => compare(a.value, b.value, descending)).map(({ row }) => row);
  }

  function update(): void {
    title.textContent = caption();
    region.setAttribute("aria-label", caption());
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== sortedBy ? "none" : descending ? "descending" : "ascending"));
    if (options.lead) leadHead.replaceChildren(options.lead.title());
    // A check box keeps the focus when its table is redrawn.
    const focused = body.contains(document.activeElement) ? document.activeElement?.id : null;
    const rows = ordered();
    count = rows.length;
    // All rows are one stop of the Tab key; the arrow keys move between them.
    const stop = options.pick ? Math.max(rows.findIndex(options.pick.chosen), 0) : -1;
    body.replaceChildren(...rows.flatMap((row, i) => [
      h("tr", { class: options.rowClass?.(row) ?? "", ...picking(row, i === stop) }, options.lead ? h("td", { class: "check" }, options.lead.cell(row)) : null,
        ...beside.map((column) => {
          const cell = column.cell(row);
          return h("td", { class: [column.words ? "words" : "", cell.class ?? ""].join(" ").trim() }, cell.node ?? cell.text);
        })),
      ...belowOf(row),
    ]));
    if (focused) document.getElementById(focused)?.focus();
    tellCut();
  }

  function belowOf(row: Row): HTMLElement[] {
    const parts = below.map((column) => ({ column, cell: column.cell(row) })).filter(({ cell }) => cell.text !== "");
    if (parts.length === 0) return [];
    return [h("tr", { class: "below" }, h("td", { colspan: beside.length + (options.lead ? 1 : 0) },
      ...parts.map(({ column, cell }) => h("div", null, h("b", null, `${column.title}: `), cell.node ?? cell.text))))];
  }

  function picking(row: Row, stop: boolean): Record<string, string | number | boolean | ((event: Event) => void)> {
    const pick = options.pick;
    if (!pick) return {};
    const choose = (at: Element) => {
      pick.choose(row);
      for (const other of body.children) {
        other.setAttribute("tabindex", other === at ? "0" : "-1");
        other.removeAttribute("aria-current");
      }
      at.setAttribute("aria-current", "true");
    };
    return {
      tabindex: stop ? 0 : -1, title: pick.label, "aria-current": pick.chosen(row) && "true",
      click: (event) => choose(event.currentTarget as Element),
      keydown: (event) => {
        const { key, currentTarget } = event as KeyboardEvent;
        const here = currentTarget as Element;
        const next = key === "ArrowDown" ? here.nextElementSibling : key === "ArrowUp" ? here.previousElementSibling : null;
        if (key === "Enter" || key === " ") choose(here);
        else if (next) (next as HTMLElement).focus();
        else return;
        event.preventDefault();
      },
    };
  }

  async function copyTable(): Promise<void> {
    const head = columns.map((column) => (column.unit ? `${column.title} (${column.unit})` : column.title));
    const rows = ordered().map((row) => columns.map((column) => {
      const { value } = column.cell(row);
      return value === null ? "" : String(value);
    }));
    try {
      await copyText(toTSV([head, ...rows]));
      status.textContent = `${rows.length} rows copied`;
    } catch (error) {
      status.textContent = `not copied: ${error instanceof Error ? error.message : String(error)}`;
    }
    window.setTimeout(() => (status.textContent = ""), 4000);
  }

  update();
  return { element, update };
}
