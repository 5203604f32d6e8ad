import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { standingKey } from '../../src/accounts/account-keys.ts';
import { accountIdOf, storeAccountIdOf } from '../../src/accounts/ids.ts';
import { Client, inParallel, sum } from './client.ts';
import { Credits, type Owner } from './credits.ts';
import { now } from './history.ts';
import type { Place } from './place.ts';
import type { Stand } from './proof.ts';
import type { Load, Stage } from './scenario.ts';

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
export class Moves implements Load {
  readonly #client: Client;
  readonly #place: Place;
  readonly #stand: Stand;
  readonly #guests: Guest[] = [];
  readonly #credits: Credits;
  #movesAgain = 0;
  #cutMoves = 0;

  static async open(stand: Stand, place: Place): Promise<Moves> {
    const client = new Client(() => place.url());
    stand.closing.push(() => client.close());
    const prefix = randomBytes(4).toString('hex');
    const accounts: StoreAccount[] = [];
    await inParallel(Array.from({ length: ACCOUNTS }).keys(), async (index) => {
      const subject = `${prefix}-subject-${index}`;
      const { token } = await client.need('/sandbox/issue', { kind: 'id_token', subject });
      const { sessionToken } = await client.need('/v1/account/store-provision', { token, session: 'token' });
      const account = storeAccountIdOf('sandbox', subject);
      accounts.push({
        account,
        token,
        session: sessionToken,
        asking: () => ({ bearer: accounts.find((one) => one.account === account)!.session }),
      });
    });
    const guests = Array.from({ length: GUESTS }, (_, index) => guestOf(`${prefix}-guest-${index}`, accounts[index % ACCOUNTS]!));
    const load = new Moves(stand, place, { client, guests, accounts });
    await inParallel(guests.entries(), async ([index, guest]) => {
      // A guest without a ledger needs other data to move.
      await client.need('/v1/entitlement/first-run', { installId: guest.installId });
      for (let count = LENGTHS[index % LENGTHS.length]!; count > 0; count--) await load.#credits.credit(guest);
    });
    return load;
  }

  private constructor(
    stand: Stand,
    place: Place,
    { client, guests, accounts }: { client: Client; guests: Guest[]; accounts: readonly StoreAccount[] },
  ) {
    [this.#stand, this.#place, this.#client, this.#guests] = [stand, place, client, guests];
    this.#credits = new Credits(client, stand, { perSecond: 300 }, [...guests, ...accounts]);
  }

  get done(): number {
    return this.#credits.done;
  }

  get keys(): string[] {
    return this.#credits.keys;
  }

  async run(isOver: () => boolean): Promise<void> {
    let haveMoved = false;
    const moving = Promise.all(
      this.#guests.map(async (guest, index) => {
        await pause((Math.floor(index / MOVES_AT_ONCE) * MOVES_AT_ONCE * MOVING_MS) / GUESTS);
        await this.#move(guest);
      }),
    ).finally(() => (haveMoved = true));
    await Promise.all([moving, this.#credits.run(() => haveMoved && isOver())]);
  }

  /** Signs a guest in to its account until it has moved. */
  async #move({ installId, target }: Guest): Promise<void> {
    const body = { token: target.token, installId, session: 'token' };
    for (let tries = 1; tries < 200; tries++, await pause(AGAIN_MS * (0.5 + Math.random()))) {
      const answer = await this.#client.post('/v1/account/store-provision', body);
      if (answer.status === 0) this.#cutMoves++;
      if (answer.status !== 200) {
        this.#movesAgain++;
        continue;
      }
      // `moved` is false for a guest that an earlier request has moved.
      if (answer.body.notMoved !== undefined) throw new Error(`a guest was not moved: ${answer.body.notMoved}`);
      target.session = answer.body.sessionToken;
      this.#stand.history.note({ moved: accountIdOf(installId), into: target.account });
      return;
    }
    throw new Error(`a guest could not move: ${installId}`);
  }

  async compare(stage: Stage): Promise<Record<string, number>> {
    const { figures } = this.#stand;
    figures.report('guests with ledgers of 0 to 130 entries, and store accounts', `${GUESTS}; ${ACCOUNTS}`);
    figures.report('processes that ended while they started, and were started again', this.#place.failedStarts);
    figures.report('sign-ins sent again; cut off by a kill', `${this.#movesAgain}; ${this.#cutMoves}`);
    const left = await this.#untilMoved();
    const homes = new Map(this.#guests.map(({ account, target }) => [account, target.account]));
    return { 'guests that are not in their account once the queue had time': left, ...(await this.#credits.compare(stage, homes)) };
  }

  /** Waits for the queue. @returns the guests whose standing does not lead into their account, because they are frozen or thawed */
  async #untilMoved(): Promise<number> {
    const isHome = async ({ account, target }: Guest): Promise<number> =>
      Number((await this.#place.command('GET', standingKey(account))) === `>${target.account}`);
    for (const giveUpAt = now() + QUEUE_MS; ; await pause(500)) {
      const left = GUESTS - sum(await Promise.all(this.#guests.map(isHome)));
      if (left === 0 || now() > giveUpAt) return left;
    }
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
