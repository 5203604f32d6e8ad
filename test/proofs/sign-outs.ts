import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { accountKey } from '../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { pairKeys } from '../../src/features/pairing/model.ts';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { times } from './client.ts';
import { now } from './history.ts';
import { AtPlace, type Load } from './scenario.ts';

const ROUNDS = 200;
const CALLERS = 8;

/** The longest time for which a session makes calls before it is signed out. */
const CALLING_MS = 60;

/** Calls of each kind that begin after the sign-out was answered. */
const LATER_CALLS = 5;

/**
 * Sessions that make calls without pause are signed out, every second one `everywhere`. Each call first checks the caller, then acts in a
 * room, on a board or in a pairing, which lie on other primaries than the account.
 */
export class SignOuts extends AtPlace implements Load {
  done = 0;
  #before = 0;
  #after = 0;
  readonly #found = { 'calls served although they began after the sign-out': 0, 'calls answered with neither 200 nor 401': 0 };
  readonly #rounds = Math.ceil(ROUNDS * this.stand.size);

  async run(): Promise<void> {
    const { client } = this.place;
    let rounds = 0;
    const call = async (): Promise<void> => {
      const installId = `prove-${randomBytes(8).toString('hex')}`;
      const account = this.#primaryOf(accountKey(accountIdOf(installId)));
      const elsewhere = async (make: () => Promise<string>, keyOf: (name: string) => string): Promise<string> => {
        for (;;) {
          const name = await make();
          if (this.#primaryOf(keyOf(name)) !== account) return name;
        }
      };
      const code = await elsewhere(async () => (await client.need('/v1/rooms', { installId })).room.code, roomKeys.room);
      const game = await elsewhere(async () => `game-${randomBytes(4).toString('hex')}`, boardKeys.scores);
      while (rounds < this.#rounds) {
        const round = rounds++;
        const token = await elsewhere(async () => (await client.need('/v1/pair/new', {})).token, pairKeys.pair);
        await this.#round(round, installId, {
          [`/v1/highscores/${game}`]: { name: 'Ann' },
          [`/v1/rooms/${code}/state`]: {},
          '/v1/pair/claim': { token },
        });
      }
    };
    await Promise.all(times(CALLERS, call));
  }

  async compare(): Promise<Record<string, number>> {
    const { figures } = this.stand;
    figures.exactly('sign-outs, every second one everywhere', this.done, this.#rounds);
    figures.atLeast('calls served before the sign-out', this.#before, this.#rounds);
    figures.atLeast('calls that began after the sign-out was answered', this.#after, this.#rounds * 3 * LATER_CALLS);
    return this.#found;
  }

  #primaryOf(key: string): number {
    const { cluster } = this.place;
    const slot = cluster!.slotOf(key);
    return cluster!.nodes.findIndex(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last));
  }

  /** @param calls the bodies, by path */
  async #round(round: number, installId: string, calls: Readonly<Record<string, object>>): Promise<void> {
    const { client } = this.place;
    const { sessionToken: bearer } = await client.need('/v1/login', { installId, session: 'token' });
    let isSignedOut = false;
    const calling = Object.entries(calls).map(async ([path, body]) => {
      for (let [later, value] = [0, round * 1000]; later < LATER_CALLS; value++) {
        const [beganAfter, sentAt] = [isSignedOut, now()];
        // A board takes the score, and a room the state.
        const answer = await client.post(path, { ...body, score: value, state: value }, { bearer });
        const { status } = answer;
        if (beganAfter) [later, this.#after] = [later + 1, this.#after + 1];
        if (status === 200 && beganAfter) this.#found['calls served although they began after the sign-out']++;
        if (status === 200 && !beganAfter) this.#before++;
        if (status !== 200 && status !== 401) this.#found['calls answered with neither 200 nor 401']++;
        this.stand.history.note({ round, path, sentAt, beganAfter, status, error: answer.body.error?.code });
      }
    });
    await pause(CALLING_MS * Math.random());
    // The calls go on until this is set.
    await client.need('/v1/logout', { everywhere: round % 2 === 1 }, bearer).finally(() => (isSignedOut = true));
    this.stand.history.event(`round ${round}: signed out`);
    await Promise.all(calling);
    this.done++;
  }
}
