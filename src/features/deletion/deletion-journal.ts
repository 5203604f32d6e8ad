import type { Logger } from 'pino';
import { banEndOf, refuseBanned } from '../../accounts/ban-end.ts';
import { keyNames, type Holding, type HoldingServices } from '../../accounts/holdings.ts';
import { standingKey } from '../../accounts/account-keys.ts';
import { LATE_MS, runWhereItIs, settled, standingOf } from '../../accounts/standing-reader.ts';
import { parseGuests, standingChanges, standingLibrary } from '../../accounts/standing.ts';
import { DELETIONS_DUE, indexTombstoneOf, markDeleted } from '../../accounts/tombstones.ts';
import { refuse } from '../../errors.ts';
import { IndependentSteps } from '../../journal/independent-steps.ts';
import { Journal } from '../../journal/journal.ts';
import type { DueQueue } from '../../redis/due-queue.ts';
import { defineScript } from '../../redis/script.ts';
import { within } from '../../redis/within.ts';

/**
 * Tells whether a deleted account still has to be erased (`left`), or is erased (`closed`). Answers left(time, guests that moved in),
 * closed, none.
 */
const readDeletion = defineScript({
  name: 'deletion/read-deletion',
  lua: `local state, at, _, moved_in = standing_of(standing)
    if state ~= 'deleted' then return {'none'} end
    if is_erased(standing) then return {'closed'} end
    return {'left', at, moved_in}`,
  keys: ['standing'],
  answers: ['left', 'closed', 'none'],
  library: [standingLibrary, standingChanges],
  readOnly: true,
});

const eraseAccount = defineScript({
  file: new URL('erase-account.lua', import.meta.url),
  keys: ['standing'],
  args: ['names', 'lastNames', 'isLast'],
  answers: ['erased', 'closed', 'not_deleted'],
  library: [standingLibrary, standingChanges],
  durable: true,
});

export interface DeletionJournalOptions extends HoldingServices {
  readonly holdings: readonly Holding[];
  readonly metrics: { accountDeleted(): void };
  readonly log: Logger;
}

/** How long after the beginning of a deletion the queue takes over unfinished steps, in milliseconds. Most steps take some milliseconds. */
const TAKE_OVER_MS = 10_000;

/** The longest time for which a request waits until all data is erased, in milliseconds. The account is closed before. */
const ERASE_MS = 5000;

/** How long a process may work on one account of the queue, in milliseconds. A ledger of a million entries takes some hundred scripts. */
const LEASE_MS = 60_000;

/** The number of an account's guests that are erased at the same time. */
const GUESTS_AT_ONCE = 20;

/** The account of a guest that is erased, and whether this call erases that account for the last time. */
interface Owner {
  readonly id: string;
  readonly isLast: boolean;
}

/**
 * Deletes accounts. One script in the slot of the account decides whether the account is deleted. The later steps may be repeated, and
 * Redis holds all data that the steps need, so the request or the queue can continue them (docs/decisions/deletion.md).
 */
export class DeletionJournal {
  readonly #options: DeletionJournalOptions;
  readonly #journal: Journal;

  constructor(options: DeletionJournalOptions) {
    this.#options = options;
    this.#journal = new Journal({ ...options, name: DELETIONS_DUE, takeOverMs: TAKE_OVER_MS });
  }

  /**
   * Deletes an account. When the promise resolves, no process serves requests for the account any more, and its data is erased. If erasing
   * takes longer than ERASE_MS, the data is erased soon after.
   * @param by who deletes the account. Only an operator can delete a banned account
   * @throws Refusal `account_deleted`, `account_banned`, `sign_in_required`, `store_unavailable`; nothing was deleted
   * @throws Error if Redis does not answer: the account may be deleted then, and its data is erased later
   */
  async delete(accountId: string, by: 'owner' | 'operator'): Promise<void> {
    const { decision: refusal, done } = await this.#journal.begin(
      accountId,
      () => this.#mark(accountId, this.#options.now(), by),
      async (refused) => (refused === undefined || refused.code === 'account_deleted' ? this.#erase(accountId) : undefined),
    );
    if (refusal !== undefined) throw refusal;
    await within(ERASE_MS, done, () => {});
  }

  /**
   * The queue's work: erases the data that is left of a deleted account.
   * @param member `<account id>`, or `<account id> <time of the deletion>` for an account that a restored backup has brought back: this
   * account is marked as deleted first
   * @returns when the member is due again, in milliseconds since 1970; undefined: never
   */
  async work(member: string): Promise<number | undefined> {
    const [accountId, at] = member.split(' ') as [string, string?];
    if (at !== undefined) await this.#mark(accountId, Number(at), 'backup');
    const nextAt = await this.#erase(accountId);
    if (at === undefined || nextAt === undefined) return nextAt;
    // An entry of the queue without a time continues the work.
    await this.#journal.bring(accountId, nextAt);
    return undefined;
  }

  /**
   * Marks an account as deleted.
   * @param at the time of the deletion, in milliseconds since 1970
   * @param by `owner`, `operator`, `backup`, or, for a guest that moved, the id of the account that it moved into
   * @returns the refusal, if this call did not mark the account; undefined: the account is marked
   * @throws Refusal `store_unavailable` if the account is moving for longer than a request waits
   */
  async #mark(accountId: string, at: number, by: string) {
    const { scripts } = this.#options;
    const { word, figures } = await runWhereItIs(accountId, scripts, (id) =>
      scripts.run(markDeleted, { standing: standingKey(id) }, { at, by }),
    );
    if (word === 'marked') return undefined;
    if (word === 'account_banned') return refuseBanned(banEndOf(figures[0]!));
    return word === 'other' ? refuse('forbidden', { message: 'The guest is not in the account any more.' }) : refuse(word);
  }

  /**
   * Erases the data that is left of a deleted account. Two calls may run at the same time.
   * @param owner for a guest: the account that it moved into
   * @returns when the account has to be erased a last time, in milliseconds since 1970; undefined: nothing is left
   */
  async #erase(accountId: string, owner?: Owner): Promise<number | undefined> {
    const { scripts, now, metrics, holdings } = this.#options;
    const keys = { standing: standingKey(accountId) };
    const [word, time, movedIn = ''] = await scripts.run(readDeletion, keys, {});
    if (word !== 'left') return undefined;
    const at = Number(time);
    await indexTombstoneOf({ accountId, at }, scripts);
    // On a Cluster a score, a seat or a purchase may arrive after the account is marked as deleted, if a process checked the account
    // before.
    const lateAt = at + (scripts.queueTags === 1 ? 0 : LATE_MS);
    // Guests have no entry of their own in the queue, so the account's last call has to be their last too. The clock is read only once,
    // because the estimate of Redis's clock may go back between two reads.
    const isLast = owner?.isLast ?? now() >= lateAt;
    const guests = parseGuests(movedIn).guests.map(({ id }) => id);
    // The accounts whose seats are freed.
    const owners = owner === undefined ? [accountId] : [accountId, owner.id];
    const steps = new IndependentSteps();
    // The guests are erased before the account. If a move hands over a score at the same time, this order finds the score either in the
    // guest or in the account, and does not miss it in both.
    for (let start = 0; start < guests.length; start += GUESTS_AT_ONCE)
      await Promise.all(
        guests.slice(start, start + GUESTS_AT_ONCE).map((id) => steps.at(this.#eraseGuest(id, { id: accountId, isLast }, at))),
      );
    for (const { erase } of holdings) if (erase !== undefined) await steps.at(erase({ accountId, owners, guests }, this.#options));
    steps.end();
    const goes = (when: 'goes' | 'goes_last') => keyNames(holdings, now(), ({ whenDeleted }) => whenDeleted === when).join(' ');
    const args = { names: goes('goes'), lastNames: goes('goes_last'), isLast: isLast ? 1 : 0 };
    const [outcome] = await scripts.run(eraseAccount, keys, args);
    if (outcome === 'closed') metrics.accountDeleted();
    return isLast ? undefined : lateAt;
  }

  /** Deletes a guest that moved into a deleted account: marks the guest as deleted, and erases the guest's remaining data. */
  async #eraseGuest(guestId: string, owner: Owner, at: number): Promise<void> {
    let refusal = await this.#mark(guestId, at, owner.id);
    // The guest belonged to another account, which was merged into the deleted account a moment ago. The guest's record still names that
    // other account.
    const state = refusal?.code === 'forbidden' ? await standingOf(guestId, this.#options.scripts) : undefined;
    if (state?.word === 'moved') {
      await settled(state.target, this.#options.scripts);
      refusal = await this.#mark(guestId, at, owner.id);
    }
    if (refusal?.code === 'forbidden')
      this.#options.log.error(
        { guestId, accountId: owner.id },
        'a guest of a deleted account has not moved into it, and is not deleted: npm run audit',
      );
    else await this.#erase(guestId, owner);
  }

  /**
   * Starts the queue, which erases the accounts that processes left unfinished when they died. On a Cluster it also erases each deleted
   * account a last time.
   */
  takeOver(): DueQueue {
    return this.#journal.takeOver((member) => this.work(member), LEASE_MS, this.#options.log);
  }
}
