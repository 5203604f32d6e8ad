/** The long-polls of a topic, which wait for its next state. */
export class LongPolls {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next `wake`, after `waitMs`, or when `onGone` calls its callback. */
  async wait(waitMs: number, onGone: (callback: () => void) => void): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, waitMs);
      const waiting = this.#waiting;
      function done(): void {
        clearTimeout(timer);
        waiting.delete(done);
        resolve();
      }
      waiting.add(done);
      onGone(done);
    });
  }

  wake(): void {
    for (const done of [...this.#waiting]) done();
  }
}
