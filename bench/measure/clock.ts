/** Milliseconds on the machine's monotonic clock, which all its processes share: a moment noted in one means the same in another. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
