import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { standingKey } from '../../src/accounts/account-keys.ts';
import { accountIdOf, storeAccountIdOf } from '../../src/accounts/ids.ts';
import { inParallel, sum, times } from './client.ts';
import { Credits, type Owner } from './credits.ts';
import { within } from './history.ts';
import type { Place } from './place.ts';
import type { Stand } from './proof.ts';
import { AtPlace, type Load, type Stage } from './scenario.ts';

const GUESTS = 150;
const ACCOUNTS = 50;

/** Ledger lengths of guests before they move: none, part of a bucket, several buckets, and too long to be joined to the account's. */
const LENGTHS = [0, 1, 7, 40, 130];

/** This many guests begin to move at the same time, so that a kill usually hits some moves. */
const MOVES_AT_ONCE = 10;

/** The moves are spread over this time. */
const MOVING_MS = 16_000;

/** The queue takes over a move after 10 s, or 10 s later if the process that takes it over dies. */
const QUEUE_MS = 40_000;

const AGAIN_MS = 300;

interface StoreAccount extends Owner {
  /** The app store's token, which signs in. */
  readonly token: string;
  session: string;
}

interface Guest extends Owner {
  readonly installId: string;
  readonly target: StoreAccount;
}

/** Guests move into store accounts while both get credits. When a guest moves, its credits keep their keys and belong to the account. */
export class Moves extends AtPlace implements Load {
  readonly #guests: readonly Guest[];
  readonly #credits: Credits;

  static async open(stand: Stand, place: Place): Promise<Moves> {
    const { client } = place;
    const prefix = randomBytes(4).toString('hex');
    const accounts = await Promise.all(
      times(ACCOUNTS, async (index): Promise<StoreAccount> => {
        const subject = `${prefix}-subject-${index}`;
        const { token } = await client.need('/sandbox/issue', { kind: 'id_token', subject });
        const { sessionToken: session } = await client.need('/v1/account/store-provision', { token, session: 'token' });
        const asking = (): { bearer: string } => ({ bearer: account.session });
        const account = { account: storeAccountIdOf('sandbox', subject), token, session, asking };
        return account;
      }),
    );
    const guests = times(GUESTS, (index) => guestOf(`${prefix}-guest-${index}`, accounts[index % ACCOUNTS]!));
    const load = new Moves(stand, place, guests, accounts);
    await inParallel(guests.entries(), async ([index, guest]) => {
      // A guest without a ledger needs other data to move.
      await client.need('/v1/entitlement/first-run', { installId: guest.installId });
      for (let count = LENGTHS[index % LENGTHS.length]!; count > 0; count--) await load.#credits.credit(guest);
    });
    return load;
  }

  private constructor(stand: Stand, place: Place, guests: readonly Guest[], accounts: readonly StoreAccount[]) {
    super(stand, place);
    this.#guests = guests;
    this.#credits = new Credits(stand, place, { perSecond: 300 }, [...guests, ...accounts]);
  }

  get done(): number {
    return this.#credits.done;
  }

  get keys(): string[] {
    return this.#credits.keys;
  }

  async run(isOver: () => boolean): Promise<void> {
    let haveMoved = false;
    const moving = this.#guests.map(async (guest, index) => {
      await pause((Math.floor(index / MOVES_AT_ONCE) * MOVES_AT_ONCE * MOVING_MS) / GUESTS);
      await this.#move(guest);
    });
    const moved = Promise.all(moving).finally(() => (haveMoved = true));
    await Promise.all([moved, this.#credits.run(() => haveMoved && isOver())]);
  }

  /** Signs a guest in to its account until it has moved. */
  async #move({ installId, target }: Guest): Promise<void> {
    const body = { token: target.token, installId, session: 'token' };
    for (let tries = 1; tries < 200; tries++, await pause(AGAIN_MS * (0.5 + Math.random()))) {
      const answer = await this.place.client.post('/v1/account/store-provision', body);
      if (answer.status !== 200) continue;
      // `moved` is false for a guest that an earlier request has moved.
      if (answer.body.notMoved !== undefined) throw new Error(`a guest was not moved: ${answer.body.notMoved}`);
      target.session = answer.body.sessionToken;
      return this.stand.history.note({ moved: accountIdOf(installId), into: target.account });
    }
    throw new Error(`a guest could not move: ${installId}`);
  }

  async compare(stage: Stage): Promise<Record<string, number>> {
    let left = GUESTS;
    // The standing of a frozen or thawed guest does not lead into its account.
    const isHome = async ({ account, target }: Guest): Promise<number> =>
      Number((await this.place.command('GET', standingKey(account))) === `>${target.account}`);
    await within(QUEUE_MS, async () => (left = GUESTS - sum(await Promise.all(this.#guests.map(isHome)))) === 0, 500);
    const homes = new Map(this.#guests.map(({ account, target }) => [account, target.account]));
    return { 'guests that are not in their account once the queue had time': left, ...(await this.#credits.compare(stage, homes)) };
  }
}

function guestOf(installId: string, target: StoreAccount): Guest {
  let hasMoved = false;
  return {
    installId,
    target,
    account: accountIdOf(installId),
    asking: () => (hasMoved ? target.asking() : { installId }),
    refused: ({ body }) => (hasMoved ||= body.error?.code === 'sign_in_required'),
  };
}
