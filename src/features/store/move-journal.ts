import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { accountKey, movesKey } from '../../accounts/keys.ts';
import { refuse, Refusal } from '../../errors.ts';
import { DueQueue } from '../../redis/due-queue.ts';
import { Queue, type Ahead } from '../../redis/queue.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { coinKeys, dayOf } from '../coins/model.ts';
import { boardKeys, moveScores, type Orders } from '../highscores/model.ts';
import { storeKeys, type NotMovedReason } from './model.ts';
import {
  acceptGuest,
  cleanGuest,
  clearStaged,
  closeGuest,
  copyChunk,
  freezeGuest,
  lookAtMove,
  movedFields,
  openMove,
  outcomeOfMove,
  readChunk,
  revokeMove,
  thawGuest,
} from './move/steps.ts';

export interface MoveJournalParts {
  readonly scripts: CallerScripts;
  readonly catalogue: Orders;
  /** `KeySecret` of the coins. */
  readonly keySecret: { readonly text: string; hashOf(key: string): number; otherData(): Refusal };
  readonly log: Logger;
  readonly now: () => number;
}

export type Moved = { moved: true; created: boolean; coins: number; generation: string } | { moved: false; reason: NotMovedReason };

export interface MoveTarget {
  readonly accountId: string;
  readonly store: 'google' | 'sandbox';
}

/** A move under way, as the guest's side has it. While the guest is frozen none of this changes. */
interface FrozenMove {
  readonly guestId: string;
  readonly moveId: string;
  readonly target: MoveTarget;
  /** The UTC day of the freeze, whose credits move. */
  readonly day: string;
  /** The seq of the ledger's last entry, 0 without a ledger. */
  readonly seq: number;
  /** Retention may have deleted the first entries, so it may be less than `seq`. */
  readonly entries: number;
  readonly isSmall: boolean;
  readonly creditedToday: string;
  /** In the order of `movedFields`. */
  readonly fields: readonly string[];
}

/** A move that is not done after this long is taken over by the queue. Most take some milliseconds. */
const TAKE_OVER_MS = 10_000;

/** How long a request of a frozen guest waits for the end of the move, in milliseconds. It has 2 s in all. */
const HELP_MS = 1500;

/**
 * How long the account keeps the word about a move. A move that nobody could finish for so long, because Redis was away, is void,
 * and taken back.
 */
const KEPT_SECONDS = 86_400;

/** How long a move stays open without a copy: the freeze follows at once. Until then it keeps its place in the queue. */
const OPEN_SECONDS = 30;

/** Moves of one guest that one call may meet: each but the last was refused. And rounds of one copy, which other helpers cut short. */
const MOST_ROUNDS = 20;

/**
 * Moves all that a guest has into a store account.
 *
 * A move is a journal: single steps in the guest's slot and in the account's, each repeatable, whose order is such that any
 * process can finish the move, or take it back, from what Redis holds (docs/decisions/moves-as-a-journal.md). Whoever meets the
 * frozen guest does it: the request that began, a request of the guest, the queue.
 */
export class MoveJournal {
  readonly #parts: MoveJournalParts;
  readonly #queue: Queue;
  /** Guests whose moves this process is finishing. Concurrent requests of one guest share the work. */
  readonly #finishing = new Map<string, Promise<string | undefined>>();

  constructor(parts: MoveJournalParts) {
    this.#parts = parts;
    this.#queue = new Queue(storeKeys.unfinishedMoves, parts.scripts);
  }

  /**
   * Begins a move and finishes it. If the process dies or the request's time ends, others finish it. The same sign-in sent again
   * then finds the guest moved.
   * @param isConfirmed the request has `move:true`: without it a guest whose session came from a pairing does not move
   * @throws Refusal `store_unavailable` while the ledgers are being upgraded
   */
  async begin(guest: Caller, target: MoveTarget, isConfirmed: boolean): Promise<Moved> {
    const { scripts, now } = this.#parts;
    const guestId = guest.accountId;
    // Most refusals come here, before anything is written.
    const told = await this.#freeze(guest, target, isConfirmed, '');
    if (told !== 'movable') return { moved: false, reason: told as NotMovedReason };

    const moveId = randomBytes(12).toString('base64url');
    const member = `${guestId} ${target.accountId} ${moveId}`;
    const record = storeKeys.moveRecord(target.accountId, moveId);
    // First open, then queued: the queue forgets a move that is not open and has no guest.
    await scripts.run(openMove, { record }, { guestId, keptSeconds: OPEN_SECONDS });
    const entry = await this.#queue.ahead(member, now() + TAKE_OVER_MS);
    const word = await this.#freeze(guest, target, isConfirmed, moveId).catch(async (error: unknown) => {
      // Refused for certain: the guest moved, its session ended, or another move of it is still under way.
      if (error instanceof Refusal || error instanceof SessionEnded) await this.#forget(record, member, entry);
      throw error;
    });
    if (word !== 'frozen') {
      await this.#forget(record, member, entry);
      return { moved: false, reason: word as NotMovedReason };
    }

    const movedInto = await this.#finish(guestId);
    const [outcome, ...figures] = await scripts.run(outcomeOfMove, { record }, {});
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
      if ((await Promise.race([this.#finish(guestId), late])) === 'late') throw new Error('the move of the guest takes longer');
    } finally {
      limit.abort();
    }
  }

  /**
   * The queue's work: finishes a move, hands over the guest's scores, and deletes what the guest left.
   * @param member `<guest id> <account id> <move id>`, from data version 2 without a move id
   */
  async work(member: string): Promise<number | undefined> {
    const [guestId, targetId, moveId] = member.split(' ') as [string, string, string?];
    // Asked before the guest: a move that was open then may still freeze the guest, so that it has to stay in the queue.
    const state = moveId === undefined ? 'void' : await this.#stateOf(targetId, moveId);
    const movedInto = await this.#finish(guestId);
    if (movedInto !== undefined) await this.#handOver(guestId, movedInto);
    else if (state === 'open') return this.#parts.now() + TAKE_OVER_MS;
    return undefined;
  }

  async #stateOf(targetId: string, moveId: string): Promise<string> {
    const [state] = await this.#parts.scripts.run(outcomeOfMove, { record: storeKeys.moveRecord(targetId, moveId) }, {});
    return state;
  }

  /** @param moveId '': only tells whether the guest may move */
  async #freeze(guest: Caller, target: MoveTarget, isConfirmed: boolean, moveId: string): Promise<string> {
    const { scripts, keySecret, now } = this.#parts;
    const { accountId } = guest;
    const unconfirmed = guest.session?.isPaired === true && !isConfirmed ? 1 : 0;
    const keys = { account: accountKey(accountId), ledger: coinKeys.ledger(accountId) };
    const args = { moveId, targetId: target.accountId, store: target.store, day: dayOf(now()), unconfirmed, secret: keySecret.text };
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
    const finishing = this.#finishing.get(guestId) ?? this.#finishNow(guestId).finally(() => this.#finishing.delete(guestId));
    this.#finishing.set(guestId, finishing);
    return finishing;
  }

  async #finishNow(guestId: string): Promise<string | undefined> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const look = await this.#look(guestId);
      if (typeof look !== 'object') return look;
      const word = await this.#decide(look);
      if (word === 'accepted') await this.#closeGuest(look);
      else if (word !== 'thawed') await this.#takeBack(look);
    }
    throw new Error('the move of the guest does not end');
  }

  /** @returns the guest's move, or else what `#finish` answers with */
  async #look(guestId: string): Promise<FrozenMove | string | undefined> {
    const keys = { account: accountKey(guestId), ledger: coinKeys.ledger(guestId), moves: movesKey(guestId) };
    const [word, first, ...rest] = await this.#parts.scripts.run(lookAtMove, keys, {});
    if (word === 'still') return undefined;
    if (word === 'moved') return first!;
    const [accountId, store, day, seq, entries, isSmall, creditedToday, ...fields] = rest as [string, MoveTarget['store'], ...string[]];
    return {
      guestId,
      moveId: first!,
      target: { accountId, store },
      day: day!,
      seq: Number(seq),
      entries: Number(entries),
      isSmall: isSmall === '1',
      creditedToday: creditedToday!,
      fields,
    };
  }

  /** Copies the ledger and lets the account decide. @returns `thawed` if another helper has taken the move back meanwhile */
  async #decide(move: FrozenMove): Promise<'accepted' | 'refused' | 'void' | 'thawed'> {
    for (let round = 0, position = 0; round < MOST_ROUNDS; round++) {
      if ((await this.#copy(move, position)) === 'thawed') return 'thawed';
      const [word, copied] = await this.#accept(move);
      if (word === 'other_data') throw this.#parts.keySecret.otherData();
      if (word !== 'incomplete') return word;
      position = Number(copied);
    }
    throw new Error('the copy of the guest’s ledger differs from the ledger');
  }

  /**
   * Copies the ledger from a position on. The last, empty chunk also shows that the guest is still frozen, a moment before the
   * account decides: a failover may have lost the freeze.
   */
  async #copy(move: FrozenMove, from: number): Promise<'copied' | 'thawed'> {
    const { scripts, keySecret } = this.#parts;
    const { guestId, moveId, target, seq, isSmall } = move;
    const keys = { ledger: coinKeys.ledger(guestId), moves: movesKey(guestId) };
    const copyKeys = keysOfMove(target.accountId, moveId);
    for (let position = from; ;) {
      const [word, ...entries] = await scripts.run(readChunk, keys, { moveId, position });
      if (word === 'thawed') return word;
      if (entries.length === 0) return 'copied';
      // A small ledger is filed, and needs no index. The index has no entries of moves (`m`).
      const hashOf = (entry: string): number | '-' => (isSmall || /^\S+ m/.test(entry) ? '-' : keySecret.hashOf(keyOf(entry)));
      const lines = entries.map((entry) => `${hashOf(entry)} ${entry}\n`).join('');
      const [state, length] = await scripts.run(copyChunk, copyKeys, { position, lastSeq: seq, lines, keptSeconds: KEPT_SECONDS });
      if (state === 'closed') return 'copied';
      position = Number(length);
    }
  }

  #accept({ guestId, moveId, target, day, seq, entries, creditedToday, fields }: FrozenMove) {
    const { scripts, keySecret } = this.#parts;
    const { accountId: targetId, store } = target;
    return scripts.run(
      acceptGuest,
      {
        account: accountKey(targetId),
        ledger: coinKeys.ledger(targetId),
        moves: movesKey(targetId),
        credited: coinKeys.creditedOn(targetId, day),
        ...keysOfMove(targetId, moveId),
      },
      {
        ...(Object.fromEntries(movedFields.map((name, index) => [name, fields[index]!])) as Record<(typeof movedFields)[number], string>),
        ...{ guestId, targetId, store, seq, entries, creditedToday, keptSeconds: KEPT_SECONDS, secret: keySecret.text },
      },
    );
  }

  async #closeGuest({ guestId, moveId, target, day }: FrozenMove): Promise<void> {
    const { scripts, log } = this.#parts;
    const keys = { account: accountKey(guestId), moves: movesKey(guestId), credited: coinKeys.creditedOn(guestId, day) };
    const [word] = await scripts.run(closeGuest, keys, { moveId, guestId, targetId: target.accountId });
    if (word === 'closed' || typeof (await this.#look(guestId)) === 'string') return;
    // Redis lost the freeze. What the guest did since is nowhere else, so it stays.
    log.error(
      { guestId, accountId: target.accountId, moveId },
      'an account has accepted a guest that is not frozen any more: npm run audit',
    );
  }

  /** The copy goes before the guest thaws: once it has thawed, nobody looks for the copy any more. */
  async #takeBack({ guestId, moveId, target, seq }: FrozenMove): Promise<void> {
    const { scripts } = this.#parts;
    for (let from = '0'; from !== '';) {
      const [word, next] = await scripts.run(clearStaged, keysOfMove(target.accountId, moveId), { lastSeq: seq, from });
      from = word === 'cleared' ? next! : '';
    }
    await scripts.run(thawGuest, { moves: movesKey(guestId) }, { moveId });
  }

  /** Hands the scores over and deletes what is left of the guest. */
  async #handOver(guestId: string, accountId: string): Promise<void> {
    const { scripts } = this.#parts;
    for (let from = '0'; from !== '';) {
      const [word, next] = await scripts.run(cleanGuest, { ledger: coinKeys.ledger(guestId), moves: movesKey(guestId) }, { from });
      from = word === 'cleaned' ? next! : '';
    }
    await moveScores(guestId, accountId, this.#parts);
  }
}

/** Finishes the moves that a process left behind. */
export function unfinishedMoves({ moves, ...parts }: Pick<MoveJournalParts, 'scripts' | 'log' | 'now'> & { moves: MoveJournal }): DueQueue {
  const work = (member: string): Promise<number | undefined> => moves.work(member);
  return new DueQueue({ ...parts, name: storeKeys.unfinishedMoves, leaseMs: TAKE_OVER_MS, work });
}

function keysOfMove(accountId: string, moveId: string): { record: string; staged: string } {
  return { record: storeKeys.moveRecord(accountId, moveId), staged: storeKeys.stagedLedger(accountId, moveId) };
}

/** The idempotency key of an entry `<seq>:<balance> <operation> <time> <key>`; data version 1 wrote a blank in place of the colon. */
function keyOf(entry: string): string {
  return /^\d+[ :]\d+ \S+ \S+ (.*)$/.exec(entry)![1]!;
}
