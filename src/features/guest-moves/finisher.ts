import type { Logger } from 'pino';
import type { HeldFields } from '../../accounts/merge-rules.ts';
import { joinHeldKey } from '../../accounts/held-keys.ts';
import { keyNames, type Holding, type HoldingServices } from '../../accounts/holdings.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import { parseGuests, type MovedGuest } from '../../accounts/standing.ts';
import { signInEntry } from '../../accounts/sign-ins.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { standingOf } from '../../accounts/standing-reader.ts';
import type { Refusal } from '../../errors.ts';
import { IndependentSteps } from '../../journal/independent-steps.ts';
import { coinKeys } from '../coins/model.ts';
import { moveKeys, type MoveTarget } from './model.ts';
import {
  addGuestToAccount,
  deleteCopy,
  markGuestMoved,
  copyGuestLedger,
  followAccount,
  readFrozenGuest,
  readGuestLedger,
  readMerged,
  thawGuest,
} from './step-scripts.ts';

export interface MoveOptions extends HoldingServices {
  readonly holdings: readonly Holding[];
  /** The secret of the hashes of idempotency keys (`KeySecret` of the feature coins). */
  readonly keySecret: { readonly text: string; hashOf(key: string): number; otherData(): Refusal };
  /** Gives the name of a sign-in's provider, for events. If left out, the provider's key is its name. */
  readonly providerName?: (key: string) => string;
  readonly log: Logger;
}

/** A move under way, as the guest's Redis keys record it. While the guest is frozen, none of these values changes. */
interface FrozenMove {
  readonly guestId: string;
  readonly moveId: string;
  readonly target: MoveTarget;
  /** The UTC day of the freeze. The coins that the guest credited itself on this day count for the account's daily cap. */
  readonly day: string;
  /** The seq of the last entry of the guest's ledger, 0 without a ledger. */
  readonly seq: number;
  /**
   * The number of entries of the guest's ledger. This number may be less than `seq`, because retention may have deleted the first entries.
   */
  readonly entries: number;
  readonly isSmall: boolean;
  readonly creditedToday: string;
  /** The guests and sign-ins that move with an account that is merged, or the sign-in that is added. Undefined for a guest. */
  readonly brings: Brought | undefined;
  /** The fields of the guest that an account may take over, as JSON for `add-guest-to-account.lua`. */
  readonly fields: string;
}

/** The guests and the sign-ins that move with an account. */
interface Brought {
  readonly guests: readonly (MovedGuest & { readonly entries: number })[];
  /** For each sign-in: its id, its entry in the list of sign-ins, and the name of its provider. */
  readonly signIns: readonly (readonly [id: string, entry: string, provider: string])[];
}

/** How long the account keeps a move's record, in seconds. A move that is not finished by then is void, and its guest is thawed. */
const KEPT_SECONDS = 86_400;

/**
 * The most moves of one guest that `finish` handles one after the other. Also the most times that the ledgers are copied because the copies
 * were incomplete.
 */
const MOST_ROUNDS = 20;

/** The number of a merged account's guests that are changed at the same time. */
const GUESTS_AT_ONCE = 20;

/** Finishes the move of a frozen guest, or takes the move back. Several processes may do so at the same time. */
export class MoveFinisher {
  readonly #options: MoveOptions;
  /** The fields that an account may take over from a guest, in groups. */
  readonly #fields: readonly HeldFields[];
  readonly #names: readonly string[];

  constructor(options: MoveOptions) {
    this.#options = options;
    this.#fields = options.holdings.flatMap(({ fields = [] }) => fields.filter(({ merge }) => merge !== 'own'));
    this.#names = this.#fields.flatMap(({ names }) => names);
  }

  /**
   * Finishes or takes back the guest's move. @returns the account into which the guest moved; undefined: the guest has not moved and is not
   * frozen, or was deleted
   */
  async finish(guestId: string): Promise<string | undefined> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const move = await this.#readFrozen(guestId);
      if (typeof move !== 'object') return move;
      const word = await this.#decide(move);
      if (word === 'accepted') {
        await this.#letFollow(move);
        await this.#closeGuest(move);
      } else if (word !== 'thawed') await this.#takeBack(move);
    }
    throw new Error('the move of the guest does not end');
  }

  /** @returns the move of a frozen guest. For a guest that is not frozen, the value that `finish` returns */
  async #readFrozen(guestId: string): Promise<FrozenMove | string | undefined> {
    const keys = { account: accountKey(guestId), ledger: coinKeys.ledger(guestId), standing: standingKey(guestId) };
    const [word, id, ...frozen] = await this.#options.scripts.run(readFrozenGuest, keys, { fields: this.#names.join(' ') });
    if (word === 'still') return undefined;
    if (word === 'moved') return id!;
    const [accountId, store, day, seq, entries, isSmall, creditedToday, ...values] = frozen as [string, MoveTarget['store'], ...string[]];
    const brings = await this.#bringsOf(guestId, id!, store);
    if (brings === 'thawed') return this.#readFrozen(guestId);
    return {
      guestId,
      moveId: id!,
      target: { accountId, store },
      day: day!,
      seq: Number(seq),
      entries: Number(entries),
      isSmall: isSmall === '1',
      creditedToday: creditedToday!,
      brings,
      fields: this.#brought(values),
    };
  }

  /** What an account or a sign-in brings. Undefined for a guest. `thawed`: another process has ended the move meanwhile. */
  async #bringsOf(guestId: string, moveId: string, store: string): Promise<Brought | undefined | 'thawed'> {
    const { scripts, providerName = String, now } = this.#options;
    if (store.startsWith('+')) {
      const provider = store.slice(1);
      const entry = signInEntry.write({ addedAt: now(), usedAt: now(), provider });
      return { guests: [], signIns: [[guestId, entry, providerName(provider)]] };
    }
    if (store !== '-') return undefined;
    const [word, movedIn = '', lengths = '', ...words] = await scripts.run(readMerged, { standing: standingKey(guestId) }, { moveId });
    if (word === 'thawed') return word;
    const entries = lengths.split(' ');
    return {
      guests: parseGuests(movedIn).guests.map((guest, index) => ({ ...guest, entries: Number(entries[index]) })),
      signIns: pairsOf(words).map(([id, entry]) => [id, entry, providerName(signInEntry.parse(entry)?.provider ?? '-')]),
    };
  }

  /** Copies the ledgers and lets the account decide. @returns `thawed` if another process has taken the move back meanwhile */
  async #decide(move: FrozenMove): Promise<'accepted' | 'refused' | 'void' | 'thawed'> {
    // The guest's own ledger is copied last, so that nothing else of the guest is read between this copy and the account's decision.
    const ledgers = ledgersOf(move);
    const positions = ledgers.map(() => 0);
    for (let round = 0; round < MOST_ROUNDS + ledgers.length; round++) {
      for (const [place, ledger] of [...ledgers.entries()].reverse())
        if ((await this.#copy(move, ledger, positions[place]!)) === 'thawed') return 'thawed';
      const [word, place, copied] = await this.#accept(move);
      if (word === 'other_data') throw this.#options.keySecret.otherData();
      if (word !== 'incomplete') return word;
      positions[Number(place)] = Number(copied);
    }
    throw new Error('the copy of the guest’s ledger differs from the ledger');
  }

  /**
   * Copies a ledger from a position on. The last read gets an empty chunk. This read also shows whether the guest is still frozen just
   * before the account accepts or refuses the guest. A failover may have lost the freeze.
   */
  async #copy(move: FrozenMove, ledger: CopiedLedger, from: number): Promise<'copied' | 'thawed'> {
    const { scripts, keySecret } = this.#options;
    const { guestId, moveId } = move;
    const keys = { ledger: ledger.name, standing: standingKey(guestId) };
    for (let position = from; ;) {
      const [word, ...entries] = await scripts.run(readGuestLedger, keys, { moveId, position });
      if (word === 'thawed') return word;
      if (entries.length === 0) return 'copied';
      // A small ledger needs no index, because `file_guest` of ledger.lua stores its keys with the account. An entry of a move (`m`) is in
      // no index.
      const hashOf = (entry: string): number | '-' => (ledger.isSmall || /^\S+ m/.test(entry) ? '-' : keySecret.hashOf(keyOf(entry)));
      const lines = entries.map((entry) => `${hashOf(entry)} ${entry}\n`).join('');
      const args = { position, lastSeq: ledger.seq, lines, keptSeconds: KEPT_SECONDS };
      const [state, length] = await scripts.run(copyGuestLedger, ledger.copy, args);
      if (state === 'closed') return 'copied';
      position = Number(length);
    }
  }

  #accept({ guestId, moveId, target, day, seq, entries, creditedToday, fields, brings }: FrozenMove) {
    const { scripts, keySecret } = this.#options;
    const { accountId: targetId, store } = target;
    const joined = brings === undefined ? '' : JSON.stringify(brings);
    return scripts.run(
      addGuestToAccount,
      {
        account: accountKey(targetId),
        ledger: coinKeys.ledger(targetId),
        standing: standingKey(targetId),
        credited: coinKeys.creditedOn(targetId, day),
        ...keysOfMove(targetId, moveId),
      },
      {
        ...{ guestId, targetId, store, seq, entries, creditedToday, fields, joined, keptSeconds: KEPT_SECONDS },
        secret: keySecret.text,
      },
    );
  }

  /**
   * Makes the guests of a merged account point directly to the account that it was merged into. Then deletes the merged account's data
   * about these guests, because the account that it was merged into has a copy.
   */
  async #letFollow({ guestId, target, brings }: FrozenMove): Promise<void> {
    const { scripts, holdings, log } = this.#options;
    const guests = (brings?.guests ?? []).map(({ id }) => id);
    if (guests.length === 0) return;
    const follow = async (id: string): Promise<void> => {
      for (let round = 0; round < MOST_ROUNDS; round++) {
        const args = { from: guestId, to: target.accountId };
        const [word] = await scripts.run(followAccount, { standing: standingKey(id) }, args);
        // The merged account has accepted the guest, but the guest's move is not finished yet.
        if (word === 'moving') await this.finish(id);
        else if (word === 'followed') return;
        else {
          const state = await standingOf(id, scripts);
          if (state.word !== 'moved' && state.word !== 'deleted')
            log.error({ guestId: id, accountId: guestId }, 'a guest of a merged account has not moved into it: npm run audit');
          return;
        }
      }
      throw new Error('the move of a guest does not end');
    };
    for (let start = 0; start < guests.length; start += GUESTS_AT_ONCE)
      await Promise.all(guests.slice(start, start + GUESTS_AT_ONCE).map(follow));
    for (const { dropGuests } of holdings) await dropGuests?.({ accountId: guestId, guests }, this.#options);
  }

  async #closeGuest({ guestId, moveId, target }: FrozenMove): Promise<void> {
    const { scripts, log, holdings, now } = this.#options;
    const names = keyNames(holdings, now(), ({ whenMoved }) => whenMoved === 'goes').join(' ');
    const args = { moveId, targetId: target.accountId, names };
    const [word] = await scripts.run(markGuestMoved, { standing: standingKey(guestId) }, args);
    if (word === 'closed') return;
    const { word: state } = await standingOf(guestId, scripts);
    // Another process has finished the guest's move. After the move the account may have been deleted, and the guest with it.
    if (state === 'moved' || state === 'deleted') return;
    // Redis lost the freeze after the account had accepted the guest. Data that was written to the guest since the loss is only in the
    // guest, so the guest stays as it is.
    log.error(
      { guestId, accountId: target.accountId, moveId },
      'an account has accepted a guest that is not frozen any more: npm run audit',
    );
  }

  /** Deletes the copies of the ledgers, and then thaws the guest. After the thaw no process would find the copies. */
  async #takeBack(move: FrozenMove): Promise<void> {
    const { scripts } = this.#options;
    const { guestId, moveId } = move;
    for (const { copy, seq } of ledgersOf(move)) {
      for (let from = '0'; from !== '';) {
        const [word, next] = await scripts.run(deleteCopy, copy, { lastSeq: seq, from });
        // Redis lost the account's refusal, so the account may still accept the copy. The account has to decide again before the guest may
        // be thawed.
        if (word === 'open') return;
        from = next!;
      }
    }
    await scripts.run(thawGuest, { standing: standingKey(guestId) }, { moveId });
  }

  /**
   * Moves the data of the guest that `add-guest-to-account.lua` did not move.
   * @param isLast whether no further data can arrive under the guest's name
   * @returns whether further data may still arrive
   */
  async handOver(guestId: string, accountId: string, isLast: boolean): Promise<boolean> {
    const { holdings, scripts, now } = this.#options;
    const steps = new IndependentSteps();
    for (const name of keyNames(holdings, now(), ({ whenMoved }) => whenMoved === 'joins'))
      await steps.at(joinHeldKey(guestId, accountId, name, scripts));
    let mayArrive = false;
    for (const { handOver } of holdings)
      if (handOver !== undefined && (await steps.at(handOver({ guestId, accountId, isLast }, this.#options))) === true) mayArrive = true;
    steps.end();
    return mayArrive;
  }

  /** The guest's values of the groups of fields, each group with its rule, as JSON. @param values in the order of `#names` */
  #brought(values: readonly string[]): string {
    let next = 0;
    return JSON.stringify(this.#fields.map(({ names, merge }) => [merge, ...names.flatMap((name) => [name, values[next++]!])]));
  }
}

/** A ledger that a move copies: the ledger of the guest, or of one of the guests that had moved into it. */
interface CopiedLedger {
  readonly name: string;
  readonly copy: { readonly record: string; readonly staged: string };
  readonly seq: number;
  readonly isSmall: boolean;
}

function ledgersOf({ guestId, moveId, target, seq, isSmall, brings }: FrozenMove): CopiedLedger[] {
  const copy = keysOfMove(target.accountId, moveId);
  const guests = (brings?.guests ?? []).map(({ id, lastSeq, isFiled }, index): CopiedLedger => {
    const { staged } = keysOfMove(target.accountId, `${moveId}.${index + 1}`);
    return { name: coinKeys.guestLedger(guestId, id), copy: { ...copy, staged }, seq: lastSeq, isSmall: isFiled };
  });
  return [{ name: coinKeys.ledger(guestId), copy, seq, isSmall }, ...guests];
}

function keysOfMove(accountId: string, moveId: string): { record: string; staged: string } {
  return { record: moveKeys.record(accountId, moveId), staged: moveKeys.stagedLedger(accountId, moveId) };
}

/** The idempotency key of an entry `<seq>:<balance> <operation> <time>[~<origin>] <key>`. */
function keyOf(entry: string): string {
  return /^\d+:-?\d+ \S+ \S+ (.*)$/.exec(entry)![1]!;
}
