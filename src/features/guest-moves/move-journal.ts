import { randomBytes } from 'node:crypto';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { accountKey } from '../../accounts/account-keys.ts';
import { LATE_MS } from '../../accounts/standing-reader.ts';
import { refuse, Refusal } from '../../errors.ts';
import { Journal } from '../../journal/journal.ts';
import type { DueQueue } from '../../redis/due-queue.ts';
import { afterWrites } from '../../redis/script-runner.ts';
import { within } from '../../redis/within.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { coinKeys, dayOf } from '../coins/model.ts';
import { moveKeys, type Moved, type MoveTarget, type NotMovedReason } from './model.ts';
import { MoveFinisher, type MoveOptions } from './finisher.ts';
import { freezeGuest, openMove, revokeMove } from './step-scripts.ts';
import { read } from '../../redis/reads.ts';

/** The outcome of a move that this process began. */
type Decision =
  | { readonly error: Error; readonly movedInto?: undefined }
  | {
      readonly error?: undefined;
      readonly outcome: Moved;
      /** The account into which the guest moved. Undefined: the guest did not move. */
      readonly movedInto?: string | undefined;
    };

/** How long a move may take before the queue takes it over, in milliseconds. Most moves take some milliseconds. */
const TAKE_OVER_MS = 10_000;

/** How long a request of a frozen guest waits for the end of the move, in milliseconds. The request may take 2 s in all. */
const HELP_MS = 1500;

/**
 * The queue checks a guest once more LATE_MS after its move, for data that arrived after the move. For this check, the queue's member has
 * LATE in place of the move's id.
 */
const LATE = 'late';

/**
 * The time after which an open move whose guest is not frozen becomes void, in seconds. The guest is frozen within milliseconds after the
 * move is opened.
 */
const OPEN_SECONDS = 30;

/**
 * Moves all that a guest has into a store account.
 *
 * A move is a journal of steps. Each step touches the guest's slot or the account's slot, and can be repeated. Redis has all data that a
 * step needs, so any process can finish the move or take it back (docs/decisions/moves-as-a-journal.md). The move is finished by the
 * request that began it, by a later request of the guest, or by the queue.
 */
export class MoveJournal {
  readonly #options: MoveOptions;
  readonly #journal: Journal;
  readonly #finisher: MoveFinisher;
  /** The moves that this process is finishing, by the guest's id. Several requests of a frozen guest wait for the same promise. */
  readonly #finishing = new Map<string, Promise<string | undefined>>();

  constructor(options: MoveOptions) {
    this.#options = options;
    this.#journal = new Journal({ ...options, name: moveKeys.unfinished, takeOverMs: TAKE_OVER_MS });
    this.#finisher = new MoveFinisher(options);
  }

  /**
   * Begins a move and finishes it. If the process dies or the request times out, another request or the queue finishes the move. If the
   * client then repeats its sign-in, the sign-in finds that the guest has moved.
   * @param signInId for an account that is merged: its sign-in whose token the request has
   * @throws Refusal `store_unavailable` while the ledgers are being upgraded
   */
  async begin(guest: Caller, target: MoveTarget, signInId = ''): Promise<Moved> {
    const { scripts } = this.#options;
    const guestId = guest.accountId;
    // This first call of `#freeze` finds most reasons to refuse the move, before anything is written.
    const told = await this.#freeze(guest, target, '', signInId);
    if (told !== 'movable') return { moved: false, reason: told as NotMovedReason };

    const moveId = randomBytes(12).toString('base64url');
    const member = `${guestId} ${target.accountId} ${moveId}`;
    const record = moveKeys.record(target.accountId, moveId);
    // The move is opened before it is queued, because the queue drops a move that is not open and whose guest has not moved.
    await scripts.run(openMove, { record }, { guestId, keptSeconds: OPEN_SECONDS });
    // An account has more data under its name than a guest, and the guests that moved into it may still hand over data to it. So it gets
    // the late check in any case.
    if (target.store === '-') await this.#journal.bring(`${guestId} ${target.accountId} ${LATE}`, this.#options.now() + LATE_MS);
    const { decision, done } = await this.#journal.begin(
      member,
      () => this.#decide(guest, target, moveId, signInId),
      async (decided) => {
        if (decided.movedInto !== undefined) await this.#handOver(guestId, decided.movedInto);
        // If this call fails, the record expires, and the queue drops a move without a record.
        else await scripts.run(revokeMove, { record }, {}).catch(() => {});
        return undefined;
      },
    );
    await done;
    if (decision.error !== undefined) throw decision.error;
    return decision.outcome;
  }

  /**
   * Freezes the guest, and finishes the move.
   * @returns `error` if the guest certainly did not move by this call: it had moved before, its session ended, or another move of it is
   * under way
   * @throws Error if the outcome is unknown, and another request or the queue has to finish the move
   */
  async #decide(guest: Caller, target: MoveTarget, moveId: string, signInId: string): Promise<Decision> {
    let word: string;
    try {
      word = await this.#freeze(guest, target, moveId, signInId);
    } catch (error) {
      if (error instanceof Refusal || error instanceof SessionEnded) return { error };
      throw error;
    }
    if (word !== 'frozen') return { outcome: { moved: false, reason: word as NotMovedReason } };
    const movedInto = await afterWrites(this.#finish(guest.accountId));
    const [outcome, ...figures] = await afterWrites(this.#recordOf(target.accountId, moveId));
    if (outcome === 'refused') return { outcome: { moved: false, reason: figures[0] as NotMovedReason }, movedInto };
    // Redis lost the record of the move, so the guest was thawed. The guest moves at the user's next sign-in.
    if (outcome !== 'accepted') throw refuse('store_unavailable', { retryAfterMs: 1000 });
    const [created, coins, generation, after] = figures;
    const balances = { coins: Number(coins), balanceAfter: Number(after) };
    return { outcome: { moved: true, created: created === '1', ...balances, generation: generation! }, movedInto };
  }

  /**
   * Finishes the move of a frozen guest, or takes it back. @throws Error if the move is still under way after `withinMs`; the work on it goes
   * on
   */
  async help(guestId: string, withinMs = HELP_MS): Promise<void> {
    // A promise that is already there may belong to work that read the guest before it was frozen. The caller then finds the guest still
    // moving, and calls again.
    const finishing = this.#finishing.get(guestId) ?? this.#finish(guestId);
    await within(withinMs, finishing, () => {
      throw new Error('the move of the guest takes longer');
    });
  }

  /**
   * Handles a member of the queue: finishes the move, hands over the guest's scores, and deletes the data that the guest left.
   * @param member `<guest id> <account id> <move id>`; with LATE in place of the move id: the last check
   */
  async work(member: string): Promise<number | undefined> {
    const [guestId, targetId, moveId] = member.split(' ') as [string, string, string];
    // The state of the move is read before the guest is read. If the move is open now, it may still freeze the guest, so it has to stay in
    // the queue.
    const state = moveId === LATE ? 'void' : await this.#stateOf(targetId, moveId);
    const movedInto = await this.#finish(guestId);
    if (movedInto !== undefined) await this.#handOver(guestId, movedInto, moveId === LATE);
    else if (state === 'open') return this.#options.now() + TAKE_OVER_MS;
    return undefined;
  }

  /** Moves the guest's other data. @param isLate whether this is the queue's check, LATE_MS after the move */
  async #handOver(guestId: string, movedInto: string, isLate = false): Promise<void> {
    const { scripts, now } = this.#options;
    const isLast = isLate || scripts.queueTags === 1;
    if (await this.#finisher.handOver(guestId, movedInto, isLast))
      await this.#journal.bring(`${guestId} ${movedInto} ${LATE}`, now() + LATE_MS);
  }

  async #stateOf(targetId: string, moveId: string): Promise<string> {
    return (await this.#recordOf(targetId, moveId))[0];
  }

  /** The state of a move (`void` if it has no record), and the figures of its outcome. `open-move.lua` has the format. */
  async #recordOf(targetId: string, moveId: string): Promise<[state: string, ...figures: string[]]> {
    const [record = ''] = await read(this.#options.scripts, 'GET', moveKeys.record(targetId, moveId));
    const [state, _guestId, ...figures] = record.split(' ');
    return [state || 'void', ...figures];
  }

  /** Freezes the guest. @param moveId '' only checks whether the guest may move */
  async #freeze(guest: Caller, target: MoveTarget, moveId: string, signInId: string): Promise<string> {
    const { scripts, keySecret, now } = this.#options;
    const { accountId } = guest;
    // A pairing's session only proves that somebody claimed the pairing. Such a session does not prove that the caller has the install. A
    // move is as final as a deletion, so such a session may not move the guest.
    const fromPairing = guest.session?.kind === 'pairing' ? 1 : 0;
    const keys = { account: accountKey(accountId), ledger: coinKeys.ledger(accountId) };
    const args = {
      moveId,
      targetId: target.accountId,
      store: target.store,
      day: dayOf(now()),
      fromPairing,
      signInId,
      secret: keySecret.text,
    };
    const [word] = await scripts.runAs(guest, freezeGuest, keys, args);
    if (word === 'other_data') throw keySecret.otherData();
    return word;
  }

  /**
   * Finishes or takes back the guest's move. @returns the account into which the guest moved; undefined: the guest has not moved and is not
   * frozen
   */
  #finish(guestId: string): Promise<string | undefined> {
    const finishing = this.#finisher.finish(guestId).finally(() => {
      if (this.#finishing.get(guestId) === finishing) this.#finishing.delete(guestId);
    });
    this.#finishing.set(guestId, finishing);
    return finishing;
  }

  /** Finishes moves when they are due in the queue, until the returned queue is closed. */
  takeOver(): DueQueue {
    return this.#journal.takeOver((member) => this.work(member), TAKE_OVER_MS, this.#options.log);
  }
}
