// Builds elements without markup in strings: text is always text.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes?: Attributes | null, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

/** A section with a heading that can be linked to. */
export function section(id: string, title: string, lead: string | null, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, h("a", { class: "anchor", href: `#${id}` }, title)), lead === null ? null : h("p", { class: "lead" }, lead), ...children);
}

/** A row of buttons, one of them pressed. */
export function choice<T extends string>(label: string, options: readonly [T, string][], current: () => T, choose: (value: T) => void): HTMLElement {
  const buttons = options.map(([value, text]) =>
    h("button", { type: "button", "data-value": value, "aria-pressed": String(current() === value), click: () => {
      choose(value);
      for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset["value"] === current()));
    } }, text));
  return h("div", { class: "choice", role: "group", "aria-label": label }, h("span", { class: "choice-label" }, label), h("span", { class: "segments" }, ...buttons));
}

/** A check box in a figure's head. */
export function toggle(id: string, text: string, checked: boolean, change: (checked: boolean) => void, mark?: Node): HTMLElement {
  const box = h("input", { type: "checkbox", id, change: () => change(box.checked) });
  box.checked = checked;
  return h("label", { for: id, class: "chip" }, box, mark, text);
}

/** Copies text to the clipboard, also if the page is not in a secure context. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard && window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch {
      // Not permitted; the old method needs no permission.
    }
  }
  const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("this browser does not let a page copy");
}
