/** Makes one call serve everybody who asks while it is under way: what is dear is done once at a time. */
export function oneAtATime<Result>(call: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined;
  return () =>
    (underWay ??= call().finally(() => {
      underWay = undefined;
    }));
}
