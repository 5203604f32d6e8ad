/** Returns the milliseconds to wait before an act. If it returns 0, the act may be sent now, and was counted. */
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
 * The pace of a player's acts, below the limits of a seat: 30 acts a second and 60 at once, of which 20 and 40 may be messages. A second
 * tab of the same player shares these limits.
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

/** The pace of a server's acts, below the limit of 120 frames a second of a socket. */
export function paceOfServer(): Pace {
  const acts = bucket(60, 50);
  return () => {
    const waitMs = acts.waitMs();
    if (waitMs > 0) return waitMs;
    acts.take();
    return 0;
  };
}
