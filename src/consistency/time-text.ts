/** A time for people, in ISO 8601. A time beyond the range of dates is shown as a number of milliseconds since 1970. */
export function timeText(milliseconds: number): string {
  return Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : String(milliseconds);
}
