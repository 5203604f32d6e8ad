export interface Entry {
  readonly player: number;
  readonly name: string;
  readonly score: number;
  /** The number of the arrival. Of equal scores the earlier is listed first. */
  readonly arrival: number;
}

/** A simple model of a board, as the contract describes it. */
export class BoardModel {
  readonly #isBetter: (a: number, b: number) => boolean;
  readonly #entries = new Map<number, Entry>();
  /** Entries of banned players. */
  readonly #hidden = new Map<number, Entry>();
  #arrivals = 0;

  constructor(order: 'asc' | 'desc') {
    this.#isBetter = order === 'asc' ? (a, b) => a < b : (a, b) => a > b;
  }

  submit(player: number, score: number, name: string) {
    const held = this.#entries.get(player);
    const personalBest = held === undefined || this.#isBetter(score, held.score);
    const entry = personalBest ? { player, name, score, arrival: ++this.#arrivals } : { ...held, name };
    this.#entries.set(player, entry);
    return { personalBest, best: entry.score, rank: this.#rank(entry.score), top: this.top() };
  }

  /** Moves the guest's entry to the player. The better of two scores stays, or the earlier of equal ones. */
  move(guest: number, player: number): void {
    const brought = this.#entries.get(guest);
    const held = this.#entries.get(player);
    if (brought === undefined) return;
    this.#entries.delete(guest);
    const isBetter =
      held === undefined || this.#isBetter(brought.score, held.score) || (brought.score === held.score && brought.arrival < held.arrival);
    if (isBetter) this.#entries.set(player, { ...brought, player });
  }

  /** Removes an entry, as an operator or the deletion of the account does. */
  remove(player: number): void {
    this.#entries.delete(player);
    this.#hidden.delete(player);
  }

  ban(player: number): void {
    const entry = this.#entries.get(player);
    if (entry !== undefined) this.#hidden.set(player, entry);
    this.#entries.delete(player);
  }

  unban(player: number): void {
    const entry = this.#hidden.get(player);
    if (entry !== undefined) this.#entries.set(player, entry);
    this.#hidden.delete(player);
  }

  /** Removes all entries, but a board with only hidden entries keeps them. */
  reset(): void {
    if (this.#entries.size > 0) this.#hidden.clear();
    this.#entries.clear();
  }

  /** The entries after a given one, which may have left the board, or the first entries; with their `<rank> <name> <score>`. */
  page(limit: number, last?: Entry): { readonly lines: string[]; readonly last: Entry | undefined } {
    const isBehind = ({ score, arrival }: Entry): boolean =>
      last === undefined || this.#isBetter(last.score, score) || (score === last.score && arrival > last.arrival);
    const found = this.#sorted().filter(isBehind).slice(0, limit);
    return { lines: found.map((entry) => this.#line(entry)), last: found.at(-1) };
  }

  /** `<rank> <name> <score>` of a player and of the neighbours on both sides. */
  around(player: number, limit: number): string[] {
    const place = this.#sorted().findIndex((entry) => entry.player === player);
    return place === -1 ? [] : this.#all().slice(Math.max(0, place - limit), place + limit + 1);
  }

  /** `<rank> <name> <score>` of the ten best. */
  top(): string[] {
    return this.#all().slice(0, 10);
  }

  #all(): string[] {
    return this.#sorted().map((entry) => this.#line(entry));
  }

  #line({ name, score }: Entry): string {
    return `${this.#rank(score)} ${name} ${score}`;
  }

  #sorted(): Entry[] {
    return [...this.#entries.values()].toSorted((a, b) =>
      a.score === b.score ? a.arrival - b.arrival : this.#isBetter(a.score, b.score) ? -1 : 1,
    );
  }

  #rank(score: number): number {
    return 1 + [...this.#entries.values()].filter((entry) => this.#isBetter(entry.score, score)).length;
  }
}
