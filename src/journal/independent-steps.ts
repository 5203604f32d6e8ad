/** Runs independent steps of one piece of work. If a step fails, for example because a primary is down, the other steps are still done. */
export class IndependentSteps {
  readonly #failures: unknown[] = [];

  /** Awaits a step, and keeps its error if it fails. @returns undefined if the step failed */
  async at<Done>(step: Promise<Done>): Promise<Done | undefined> {
    return step.catch((error: unknown) => void this.#failures.push(error));
  }

  /** @throws the error of the first failed step: the work has to be repeated */
  end(): void {
    if (this.#failures.length > 0) throw this.#failures[0];
  }
}
