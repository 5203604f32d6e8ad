import fc from 'fast-check';
import { expect, test } from 'vitest';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, sleep, start, type TestReply } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { RedisLink } from '../../realtime/redis-link.ts';
import { sized } from '../../sized.ts';
import { postAs, type Who } from '../../store.ts';

/**
 * Random moves, credits and debits reach two processes whose Redis connections break at random, one after the other. The balances then
 * are those of a naive model. Installs and accounts use the same keys, so that moves bring operations together that replay each other.
 */

const [INSTALLS, SUBJECTS] = [4, 3];

type Step =
  | { do: 'credit' | 'debit'; install: number; coins: number; key: string; at: number; again: boolean }
  | { do: 'move'; install: number; subject: number; at: number }
  | { do: 'cut'; at: number };

const at = fc.nat(1);
const install = fc.nat(INSTALLS - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('credit' as const, 'credit' as const, 'debit' as const),
      install,
      coins: fc.integer({ min: 1, max: 20 }),
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
      at,
      again: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), install, subject: fc.nat(SUBJECTS - 1), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cut' as const), at }) },
);

const redis = await forFile(startRedis());
const links = await Promise.all([0, 1].map(() => forFile(RedisLink.open(redis.location.socketPath))));
const services = await Promise.all(links.map((link) => forFile(start({ redis: link.location }))));

/** Repeats a request until the answer is not 503, as an app does with the same key. */
async function untilAnswered(send: () => Promise<TestReply>): Promise<TestReply> {
  for (let tries = 0; tries < 500; tries++) {
    const reply = await send();
    if (reply.status !== 503) return reply;
    // The pause of an app between two tries.
    await sleep(20);
  }
  throw new Error('never answered');
}

/** The expected balances. */
class Model {
  readonly #ledgers = new Map<string, { balance: number; keys: Set<string> }>();
  readonly #movedTo = new Map<string, string>();

  balanceOf(install: number): number {
    return this.#ledger(this.#ownerOf(install)).balance;
  }

  move(install: number, subject: number): void {
    const [guest, account] = [`install ${install}`, `subject ${subject}`];
    if (this.#movedTo.has(guest)) return;
    this.#movedTo.set(guest, account);
    this.#ledger(account).balance += this.#ledger(guest).balance;
  }

  apply(install: number, type: 'credit' | 'debit', coins: number, key: string): void {
    const owner = this.#ownerOf(install);
    const known = [owner, ...[...this.#movedTo].flatMap(([guest, account]) => (account === owner ? [guest] : []))];
    if (known.some((one) => this.#ledger(one).keys.has(key))) return;
    const ledger = this.#ledger(owner);
    const after = ledger.balance + (type === 'credit' ? coins : -coins);
    if (after < 0) return;
    ledger.balance = after;
    ledger.keys.add(key);
  }

  #ownerOf(install: number): string {
    return this.#movedTo.get(`install ${install}`) ?? `install ${install}`;
  }

  #ledger(owner: string) {
    const ledger = this.#ledgers.get(owner) ?? { balance: 0, keys: new Set<string>() };
    this.#ledgers.set(owner, ledger);
    return ledger;
  }
}

async function run(steps: readonly Step[]): Promise<void> {
  const installs = Array.from({ length: INSTALLS }, () => freshId());
  const subjects = Array.from({ length: SUBJECTS }, () => freshId('subject'));
  const model = new Model();

  const signIn = async (subject: string, place: number, installId?: string): Promise<string> => {
    const service = services[place]!;
    const { token } = (await untilAnswered(() => service.post('/sandbox/issue', { kind: 'id_token', subject }))).body;
    const reply = await untilAnswered(() => service.post('/v1/account/store-provision', { token, installId }));
    expect([reply.status, reply.body.error]).toEqual([200, undefined]);
    return reply.cookies[0]!;
  };
  /** Who an install is now: itself, or the account into which it moved. */
  const whoIs = async (index: number, place: number): Promise<Who> => {
    const installId = installs[index]!;
    if ((await redis.redis.exists(standingKey(accountIdOf(installId)))) === 0) return { installId };
    return { cookies: await signIn(subjects[movedTo[index]!]!, place) };
  };
  const movedTo: Partial<Record<number, number>> = {};

  for (const one of steps) {
    if (one.do === 'cut') {
      links[one.at]!.cut('commands');
      links[one.at]!.restore();
    } else if (one.do === 'move') {
      movedTo[one.install] ??= one.subject;
      await signIn(subjects[one.subject]!, one.at, installs[one.install]!);
      model.move(one.install, one.subject);
    } else {
      const who = await whoIs(one.install, one.at);
      const send = () => untilAnswered(() => postAs(services[one.at]!, `/v1/coins/${one.do}`, { coins: one.coins, key: one.key }, who));
      for (const { status, body } of await Promise.all(one.again ? [send(), send()] : [send()]))
        expect([200, 409, 422], JSON.stringify(body)).toContain(status);
      model.apply(one.install, one.do, one.coins, one.key);
    }
  }
  for (const index of installs.keys()) {
    const who = await whoIs(index, 0);
    const options = 'cookies' in who ? who : { headers: { 'x-install-id': who.installId } };
    const { body } = await untilAnswered(() => services[0]!.get('/v1/balance', options));
    expect(body.balanceCoins).toBe(model.balanceOf(index));
  }
}

test('random moves and operations on two processes come out as a naive model says', { timeout: 120_000 }, async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), run), { numRuns: sized(3, 20) });
  expect((await audited(redis.location)).findings).toEqual([]);
});
