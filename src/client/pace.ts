/** Returns the milliseconds to wait before an act, or 0 if it may be sent now; then it is counted. */
export type Pace = (action: string) => number;

/** Allows a rate and a burst by the generic cell rate algorithm, as the service does. */
function bucket(perSecond: number, atOnce: number) {
  const intervalMs = 1000 / perSecond;
  let paidUntil = 0;
  return {
    waitMs: (): number => paidUntil - performance.now() - intervalMs * (atOnce - 1),
    take: (): void => void (paidUntil = Math.max(paidUntil, performance.now()) + intervalMs),
  };
}

/**
 * Below the budgets of a seat: 30 acts a second and 60 at once, of which 20 and 40 may be messages. A second tab of the player shares the
 * budgets.
 */
export function paceOfSeat(): Pace {
  const acts = bucket(25, 30);
  const messages = bucket(16, 20);
  return (action) => {
    const counted = action === 'message' ? [acts, messages] : [acts];
    const waitMs = Math.max(...counted.map((budget) => budget.waitMs()));
    if (waitMs > 0) return waitMs;
    for (const budget of counted) budget.take();
    return 0;
  };
}

/** Below the 120 frames a second that a socket may send. */
export function paceOfServer(): Pace {
  const acts = bucket(60, 50);
  return () => {
    const waitMs = acts.waitMs();
    if (waitMs > 0) return waitMs;
    acts.take();
    return 0;
  };
}
