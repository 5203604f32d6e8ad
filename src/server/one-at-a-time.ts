/** Shares a call among all callers that come while it is under way, so that expensive work runs once at a time. */
export function oneAtATime<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined;
  return () =>
    (underWay ??= call().finally(() => {
      underWay = undefined;
    }));
}

/**
 * Keeps a call's result for `milliseconds`, so that expensive public work runs no more often, however many clients ask.
 * @param now in milliseconds; after the clock was set back, the call runs again
 */
export function keptFor<Result>(milliseconds: number, now: () => number, call: () => Promise<Result>): () => Promise<Result> {
  let kept: { result: Result; at: number } | undefined;
  return async () => {
    const age = kept === undefined ? -1 : now() - kept.at;
    if (kept !== undefined && age >= 0 && age < milliseconds) return kept.result;
    const at = now();
    const result = await call();
    kept = { result, at };
    return result;
  };
}
