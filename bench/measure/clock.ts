/** Milliseconds on the machine's monotonic clock, which all its processes share: a moment noted in one means the same in another. */
export function monotonicMs(): number {
  return offset + performance.now();
}

const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
