import type { Curves, LatePacket, Page } from "./data.ts";

export type Metric = Exclude<keyof Curves, "undisturbed">;

/** Kind and name are indexes into the trace's lists; times count from when the packet was due. */
export type EventRow = LatePacket["events"][number];

export function readPage(text: string): Page {
  const data = JSON.parse(text) as Page;
  if (data.schema !== "nines/page/v1") throw new Error("This page has no data of nines in it.");
  return data;
}
