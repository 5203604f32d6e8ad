/** Settles as `work` does. Resolves with the result of `late` if `milliseconds` have passed. The timer does not keep the process alive. */
export async function within<Result, Late>(milliseconds: number, work: Promise<Result>, late: () => Late): Promise<Result | Late> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds).unref()));
  try {
    return await Promise.race([work, limit.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
