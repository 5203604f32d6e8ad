/** Shares one call among all callers that come while the call is under way, so that expensive work never runs twice at the same time. */
export function oneAtATime<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined;
  return () =>
    (underWay ??= call().finally(() => {
      underWay = undefined;
    }));
}

/**
 * Keeps a call's result for `milliseconds`, so that expensive work for the public runs no more often, however many clients ask.
 * @param monotonic a monotonic clock, in milliseconds
 */
export function keptFor<Result>(milliseconds: number, monotonic: () => number, call: () => Promise<Result>): () => Promise<Result> {
  let kept: { result: Result; at: number } | undefined;
  return async () => {
    if (kept !== undefined && monotonic() - kept.at < milliseconds) return kept.result;
    const at = monotonic();
    const result = await call();
    kept = { result, at };
    return result;
  };
}
