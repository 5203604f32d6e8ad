/**
 * The clock that measures intervals: limits, caches, pauses. NTP, an operator and a virtual machine that wakes up set the clock of
 * `Date.now()`, and never this one. Whole milliseconds since the process began: with fractions a wait of 1000 ms would be told as 1001.
 */
export const monotonic = (): number => Math.floor(performance.now());
