/** The accounts of which this process makes a page of the export now. One page costs as much as some hundred other requests. */
export class RunningExports {
  readonly #accountIds = new Set<string>();

  /** @returns false while a page of the account is under way */
  begin(accountId: string): boolean {
    if (this.#accountIds.has(accountId)) return false;
    this.#accountIds.add(accountId);
    return true;
  }

  end(accountId: string): void {
    this.#accountIds.delete(accountId);
  }
}
