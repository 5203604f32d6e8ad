/** Makes one call serve everybody who asks while it is under way: what is dear is done once at a time. */
export function oneAtATime<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined;
  return () =>
    (underWay ??= call().finally(() => {
      underWay = undefined;
    }));
}

/**
 * Gives what a call resolved with for `milliseconds` more: what is dear and public is done no more often, however many ask.
 * @param now milliseconds; a clock that was set back asks anew
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
