import { heartbeatText, MOST_BEHIND_MS } from './data-id.ts';
import type { Found } from './data-check.ts';
import { refusalText, type DataRefusal } from './data-refusal.ts';
import type { DataVerdictOptions } from './known-data.ts';
import { defineLibrary, defineScript } from '../script.ts';

const library = defineLibrary(new URL('data-id.lua', import.meta.url));

const refuseData = defineScript({
  file: new URL('refuse-data.lua', import.meta.url),
  keys: ['id', 'judged', 'secret'],
  args: ['known', 'least', 'seenSecret', 'refusal'],
  answers: ['refused', 'changed'],
  library,
});

const clearRefusal = defineScript({
  file: new URL('clear-refusal.lua', import.meta.url),
  keys: ['id', 'judged', 'secret'],
  args: ['rightSecret'],
  answers: ['cleared', 'changed'],
  library,
});

type NoteKeys = Record<'id' | 'judged' | 'secret', string>;

type RefusalNotesOptions = Pick<DataVerdictOptions, 'unchecked' | 'keys' | 'otherIds'>;

/** Writes a refusal into the data id, or removes it: in one Redis, or in every slot of a primary of a Cluster (`data-refusal.ts`). */
export class RefusalNotes {
  readonly #options: RefusalNotesOptions;
  #isBusy = false;

  constructor(options: RefusalNotesOptions) {
    this.#options = options;
  }

  /**
   * Notes that the data is refused, unless the data has changed since it was judged. Does not throw: the next check of the data tries
   * again.
   */
  async set({ id, heartbeat, secret }: Found, refusal: DataRefusal): Promise<void> {
    // `least`: if the data's heartbeat is above this value, the script changes nothing, because newer data has been brought back since.
    const words = { known: id, least: heartbeatText(heartbeat + MOST_BEHIND_MS), seenSecret: secret, refusal: refusalText(refusal) };
    await this.#forEachSlot((keys) => this.#options.unchecked.run(refuseData, keys, words));
  }

  /** Removes the refusal of data that has its right secret again. Does not throw. @returns whether the refusal is removed */
  async clear(rightSecret: string): Promise<boolean> {
    return this.#forEachSlot((keys) => this.#options.unchecked.run(clearRefusal, keys, { rightSecret }));
  }

  /**
   * Changes the data id in each slot. The id with the heartbeat comes last. The processes judge the primary by this id, so the other slots
   * must have been changed before.
   * @returns whether the id with the heartbeat was changed
   */
  async #forEachSlot(change: (keys: NoteKeys) => Promise<readonly string[]>): Promise<boolean> {
    const names = this.#options.keys();
    if (names === undefined || this.#isBusy) return false;
    this.#isBusy = true;
    try {
      const keysOf = (id: string): NoteKeys => ({ id, judged: names.id, secret: names.secret });
      await Promise.all(this.#options.otherIds().map((id) => change(keysOf(id))));
      const [word] = await change(keysOf(names.id));
      return word !== 'changed';
    } catch {
      // Redis does not answer or refuses writes, or a slot is moving. The next check tries again.
      return false;
    } finally {
      this.#isBusy = false;
    }
  }
}
