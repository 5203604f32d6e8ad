/** Milliseconds on the machine's monotonic clock. All processes of the machine share it, so their times can be compared. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
