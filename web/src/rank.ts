// The rule for percentiles, which is that of result/rank.go.

/** 1 − 1/x of any two whole x up to this differ in 53 bits. */
const mostNines = 1e7;

/**
 * The place, from 1, of the percentile p among count values in rising order: of the
 * smallest that at least p of them do not exceed. p is 0 to 1, and count at least 1.
 */
export function rank(p: number, count: number): number {
  const x = Math.round(1 / (1 - p));
  if (x <= mostNines && p === 1 - 1 / x) return Math.max(count - Math.floor(count / x), 1);
  const place = Math.max(Math.ceil(p * count), 1);
  return Math.min(place > 1 && (place - 1) / count >= p ? place - 1 : place, count);
}
