export interface Entry {
  readonly player: number;
  readonly name: string;
  readonly score: number;
  /** Number of the arrival: of two equal scores the earlier is listed first. */
  readonly arrival: number;
}

/** A board as the contract describes it, in plain code. */
export class BoardModel {
  readonly #isBetter: (a: number, b: number) => boolean;
  readonly #entries = new Map<number, Entry>();
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

  /** Hands the guest's entry over to the player. The better one stays; of equal ones the earlier. */
  move(guest: number, player: number): void {
    const brought = this.#entries.get(guest);
    const held = this.#entries.get(player);
    if (brought === undefined) return;
    this.#entries.delete(guest);
    const isBetter =
      held === undefined || this.#isBetter(brought.score, held.score) || (brought.score === held.score && brought.arrival < held.arrival);
    if (isBetter) this.#entries.set(player, { ...brought, player });
  }

  /** `<rank> <name> <score>` of the ten best. */
  top(): string[] {
    return this.#sorted()
      .slice(0, 10)
      .map(({ name, score }) => `${this.#rank(score)} ${name} ${score}`);
  }

  /** `<rank> <name> <score>` of all. */
  all(): string[] {
    return this.#sorted().map(({ name, score }) => `${this.#rank(score)} ${name} ${score}`);
  }

  /** The place of a player, 0 for the best. */
  placeOf(player: number): number {
    return this.#sorted().findIndex((entry) => entry.player === player);
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
