/**
 * The clock for intervals: limits, caches, pauses. NTP, an operator or a virtual machine that wakes up may set the clock of `Date.now()`,
 * but never the monotonic clock. The result is in whole milliseconds since the process began. With fractions a wait of 1000 ms would be
 * reported as 1001.
 */
export const monotonic = (): number => Math.floor(performance.now());
