import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { accountKey } from '../../accounts/keys.ts';
import { LATE_MS } from '../../accounts/move-state.ts';
import { refuse, Refusal } from '../../errors.ts';
import { DueQueue } from '../../redis/due-queue.ts';
import { Queue, type Ahead } from '../../redis/queue.ts';
import { afterWrites } from '../../redis/script-runner.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { coinKeys, dayOf } from '../coins/model.ts';
import { storeKeys, type NotMovedReason } from './model.ts';
import { MoveFinisher, type MoveParts, type MoveTarget } from './move/finisher.ts';
import { freezeGuest, openMove, outcomeOfMove, revokeMove } from './move/steps.ts';

/** The account was banned or deleted while the guest was on its way. The sign-in then tells so, or opens the next account. */
type ClosedMeanwhile = 'account_banned' | 'account_deleted';

export type Moved =
  | { moved: true; created: boolean; coins: number; generation: string }
  | { moved: false; reason: NotMovedReason | ClosedMeanwhile };

/** A move that is not done after this long is taken over by the queue. Most take some milliseconds. */
const TAKE_OVER_MS = 10_000;

/** How long a request of a frozen guest waits for the end of the move, in milliseconds. It has 2 s in all. */
const HELP_MS = 1500;

/** Stands in a member of the queue for the look at the scores that arrived after the move. */
const LATE = 'late';

/** How long a move stays open without a copy: the freeze follows at once. Until then it keeps its place in the queue. */
const OPEN_SECONDS = 30;

/**
 * Moves all that a guest has into a store account.
 *
 * A move is a journal: single steps in the guest's slot and in the account's, each repeatable, whose order is such that any
 * process can finish the move, or take it back, from what Redis holds (docs/decisions/moves-as-a-journal.md). Whoever meets the
 * frozen guest does it: the request that began, a request of the guest, the queue.
 */
export class MoveJournal {
  readonly #parts: MoveParts;
  readonly #queue: Queue;
  readonly #finisher: MoveFinisher;
  /** Guests whose moves this process is finishing. Requests of a frozen guest share the work. */
  readonly #finishing = new Map<string, Promise<string | undefined>>();

  constructor(parts: MoveParts) {
    this.#parts = parts;
    this.#queue = new Queue(storeKeys.unfinishedMoves, parts.scripts, true);
    this.#finisher = new MoveFinisher(parts);
  }

  /**
   * Begins a move and finishes it. If the process dies or the request's time ends, others finish it. The same sign-in sent again
   * then finds the guest moved.
   * @throws Refusal `store_unavailable` while the ledgers are being upgraded
   */
  async begin(guest: Caller, target: MoveTarget): Promise<Moved> {
    const { scripts, now } = this.#parts;
    const guestId = guest.accountId;
    // Most refusals come here, before anything is written.
    const told = await this.#freeze(guest, target, '');
    if (told !== 'movable') return { moved: false, reason: told as NotMovedReason };

    const moveId = randomBytes(12).toString('base64url');
    const member = `${guestId} ${target.accountId} ${moveId}`;
    const record = storeKeys.moveRecord(target.accountId, moveId);
    // First open, then queued: the queue forgets a move that is not open and has no guest.
    await scripts.run(openMove, { record }, { guestId, keptSeconds: OPEN_SECONDS });
    const entry = await this.#queue.ahead(member, now() + TAKE_OVER_MS);
    const word = await this.#freeze(guest, target, moveId).catch(async (error: unknown) => {
      // Refused for certain: the guest moved, its session ended, or another move of it is still under way.
      if (error instanceof Refusal || error instanceof SessionEnded) await this.#forget(record, member, entry);
      throw error;
    });
    if (word !== 'frozen') {
      await this.#forget(record, member, entry);
      return { moved: false, reason: word as NotMovedReason };
    }

    // If this process gets no further, others go on: the outcome is unknown.
    const movedInto = await afterWrites(this.#finish(guestId));
    const [outcome, ...figures] = await afterWrites(scripts.run(outcomeOfMove, { record }, {}));
    if (movedInto !== undefined) {
      await this.#handOver(guestId, movedInto).then(
        () => this.#settle(member, entry),
        (error: unknown) => this.#leave(guestId, error),
      );
    } else if (outcome === 'refused') await this.#settle(member, entry);
    if (outcome === 'refused') return { moved: false, reason: figures[0] as NotMovedReason };
    // Redis lost the record of the move, and the guest was thawed. A new sign-in moves it.
    if (outcome !== 'accepted') throw refuse('store_unavailable', { retryAfterMs: 1000 });
    const [created, coins, generation] = figures;
    return { moved: true, created: created === '1', coins: Number(coins), generation: generation! };
  }

  /**
   * Finishes or takes back the move of a frozen guest.
   * @throws Error if it is still under way after HELP_MS; it goes on
   */
  async help(guestId: string): Promise<void> {
    const limit = new AbortController();
    const late = pause(HELP_MS, 'late' as const, { signal: limit.signal, ref: false }).catch(() => 'late' as const);
    try {
      // Whoever joins work that looked at the guest too early finds it moving once more, and helps again.
      const finishing = this.#finishing.get(guestId) ?? this.#finish(guestId);
      if ((await Promise.race([finishing, late])) === 'late') throw new Error('the move of the guest takes longer');
    } finally {
      limit.abort();
    }
  }

  /**
   * The queue's work: finishes a move, hands over the guest's scores, and deletes what the guest left.
   * @param member `<guest id> <account id> <move id>`, from data version 2 without a move id; LATE in its place: the last look
   */
  async work(member: string): Promise<number | undefined> {
    const [guestId, targetId, moveId] = member.split(' ') as [string, string, string?];
    // Asked before the guest: a move that was open then may still freeze the guest, so that it has to stay in the queue.
    const state = moveId === undefined || moveId === LATE ? 'void' : await this.#stateOf(targetId, moveId);
    const movedInto = await this.#finish(guestId);
    if (movedInto !== undefined) await this.#handOver(guestId, movedInto, moveId === LATE);
    else if (state === 'open') return this.#parts.now() + TAKE_OVER_MS;
    return undefined;
  }

  /** @param isLate a look of the queue, LATE_MS after the move */
  async #handOver(guestId: string, movedInto: string, isLate = false): Promise<void> {
    const { scripts, now } = this.#parts;
    const isLast = isLate || scripts.queueTags === 1;
    if (await this.#finisher.handOver(guestId, movedInto, isLast))
      await this.#queue.bring(`${guestId} ${movedInto} ${LATE}`, now() + LATE_MS);
  }

  async #stateOf(targetId: string, moveId: string): Promise<string> {
    const [state] = await this.#parts.scripts.run(outcomeOfMove, { record: storeKeys.moveRecord(targetId, moveId) }, {});
    return state;
  }

  /** @param moveId '': only tells whether the guest may move */
  async #freeze(guest: Caller, target: MoveTarget, moveId: string): Promise<string> {
    const { scripts, keySecret, now } = this.#parts;
    const { accountId } = guest;
    // A session proves that a pairing was claimed, and not that its holder has the install. A move is as final as a deletion.
    const fromPairing = guest.session?.kind === 'pairing' ? 1 : 0;
    const keys = { account: accountKey(accountId), ledger: coinKeys.ledger(accountId) };
    const args = { moveId, targetId: target.accountId, store: target.store, day: dayOf(now()), fromPairing, secret: keySecret.text };
    const [word] = await scripts.runAs(guest, freezeGuest, keys, args);
    if (word === 'other_data') throw keySecret.otherData();
    return word;
  }

  /** Forgets a move that did not begin. Best effort: the record expires, and the queue forgets a move without a record. */
  async #forget(record: string, member: string, entry: Ahead): Promise<void> {
    await this.#parts.scripts.run(revokeMove, { record }, {}).catch(() => {});
    await this.#settle(member, entry);
  }

  async #settle(member: string, entry: Ahead): Promise<void> {
    await this.#queue.settle(member, entry, undefined).catch(() => {});
  }

  #leave(guestId: string, error: unknown): void {
    const reason = (error as Error).message;
    this.#parts.log.warn({ reason, guestId }, 'the scores of a moved guest could not be handed over: the queue tries again');
  }

  /** @returns the account that the guest has moved into; undefined: the guest has not moved and is not frozen */
  #finish(guestId: string): Promise<string | undefined> {
    const finishing = this.#finisher.finish(guestId).finally(() => {
      if (this.#finishing.get(guestId) === finishing) this.#finishing.delete(guestId);
    });
    this.#finishing.set(guestId, finishing);
    return finishing;
  }
}

/** Finishes the moves that a process left behind. */
export function unfinishedMoves({ moves, ...parts }: Pick<MoveParts, 'scripts' | 'log' | 'now'> & { moves: MoveJournal }): DueQueue {
  const work = (member: string): Promise<number | undefined> => moves.work(member);
  return new DueQueue({ ...parts, name: storeKeys.unfinishedMoves, leaseMs: TAKE_OVER_MS, work });
}
