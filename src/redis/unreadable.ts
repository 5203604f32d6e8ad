import { Refusal } from '../errors.ts';
import { redisFailure } from './script-runner.ts';

/**
 * Whether a read failed because the data itself is damaged, for example because a key has the wrong type. Reads of other data then still
 * work.
 */
export function isUnreadable(error: unknown): boolean {
  return !(error instanceof Refusal) && redisFailure(error) === undefined;
}

/**
 * Reads data that consists of parts, of which some may be damaged. A damaged part is left out, and noted by its name, so that it hides no
 * other part.
 */
export class Parts {
  readonly #unreadable = new Set<string>();

  /** The names of the damaged parts. */
  get unreadable(): string[] {
    return [...this.#unreadable].toSorted();
  }

  /** Notes that a part is damaged. */
  note(name: string): void {
    this.#unreadable.add(name);
  }

  /** Reads a part. @returns undefined if the part is damaged */
  async read<Found>(name: string, read: () => Found | Promise<Found>): Promise<Found | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      this.note(name);
      return undefined;
    }
  }

  /** Reads a part for each item, and leaves out the items that are damaged or not there. */
  async readEach<Item, Found>(
    items: readonly Item[],
    nameOf: (item: Item) => string,
    read: (item: Item) => Found | undefined | Promise<Found | undefined>,
  ): Promise<Found[]> {
    const found = await Promise.all(items.map((item) => this.read(nameOf(item), () => read(item))));
    return found.filter((each) => each !== undefined);
  }
}
