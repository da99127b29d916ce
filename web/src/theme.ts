// Light and dark. The system's preference applies until the reader chooses.

import { h } from "./dom.ts";

export type Theme = "light" | "dark";

const prefersDark = () => window.matchMedia("(prefers-color-scheme: dark)");
let chosen: Theme | null = null;
let printing = false;
const listeners: (() => void)[] = [];

export function theme(): Theme {
  if (printing) return "light";
  return chosen ?? (prefersDark().matches ? "dark" : "light");
}

export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

function apply(): void {
  document.documentElement.dataset["theme"] = theme();
  for (const listener of listeners) listener();
}

export function startTheme(): void {
  prefersDark().addEventListener("change", apply);
  // Paper is white, so figures are redrawn for printing.
  window.addEventListener("beforeprint", () => { printing = true; apply(); });
  window.addEventListener("afterprint", () => { printing = false; apply(); });
  apply();
}

export function themeSwitch(): HTMLElement {
  const label = () => (theme() === "dark" ? "Light" : "Dark");
  const button = h("button", { type: "button", id: "theme", class: "quiet", click: () => {
    chosen = theme() === "dark" ? "light" : "dark";
    apply();
  } });
  const update = () => {
    button.textContent = label();
    button.setAttribute("aria-label", `Switch to the ${label().toLowerCase()} colours`);
  };
  onTheme(update);
  update();
  return button;
}

/** The colours of the figures, from the style sheet, the only list of them. */
export function palette(): { text: string; muted: string; grid: string; surface: string; series: string[] } {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: get("--text"), muted: get("--muted"), grid: get("--grid"), surface: get("--surface"),
    series: Array.from({ length: 8 }, (_, i) => get(`--series-${i}`)),
  };
}
