// Tab separated values, as spreadsheets and `column -t` read them.

/** One field: tabs and line breaks become spaces, because TSV has no quoting. */
export function field(text: string): string {
  return text.replace(/[\t\r\n]+/g, " ");
}

export function toTSV(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map(field).join("\t")).join("\n") + "\n";
}

/** Orders cells: numbers by value, text alphabetically, missing values always at the end. */
export function compare(a: string | number | null, b: string | number | null, descending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return descending ? -order : order;
}
