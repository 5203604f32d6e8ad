/** Steps of one piece of work. One that fails, such as one on a primary that is away, keeps none of the others from being done. */
export class Attempts {
  readonly #failures: unknown[] = [];

  /** @returns undefined if the step failed */
  async at<Done>(step: Promise<Done>): Promise<Done | undefined> {
    return step.catch((error: unknown) => void this.#failures.push(error));
  }

  /** @throws what the first step threw that failed: the work has to be repeated */
  end(): void {
    if (this.#failures.length > 0) throw this.#failures[0];
  }
}
