import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { storeKeys } from '../../../src/features/store/model.ts';
import { audited } from '../../consistency/audited.ts';
import { freshId, request, sleep, type TestReply } from '../../harness.ts';
import { startChild, type Child } from '../../realtime/child.ts';
import { seeded } from '../../seeded.ts';

/**
 * Guests move, earn and spend while SIGKILL ends the service, its Redis or both. Every answered operation must be applied
 * once, no guest may be half moved, and scores must arrive in the end.
 *
 * CRASH_ROUNDS=… sets how often they end. CRASH_SEED=… repeats the same operations and pauses. The timing of the machine still
 * differs between runs.
 */

const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 3);
const CLIENTS = 8;
const SUBJECTS = 4;
const GAMES = ['crash-one', 'crash-two', 'crash-three'];

const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 32));

let dataDir: string;
let service: Child | undefined;

beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'coinop-crash-'))));
afterEach(async () => {
  await service?.stop();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const launch = async (): Promise<void> => void (service = await startChild({ DATA_DIR: dataDir }));

/** The process id of Redis, undefined while Redis is unreachable. */
async function redisPid(): Promise<number | undefined> {
  const redis = new Redis({ path: join(dataDir, 'redis.sock'), lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return Number(/process_id:(\d+)/.exec(await redis.info('server'))![1]);
  } catch {
    return undefined;
  } finally {
    redis.disconnect();
  }
}

async function crash(victim: 'service' | 'redis' | 'both'): Promise<void> {
  const pid = await redisPid();
  expect(pid).toBeDefined();
  if (victim !== 'service') process.kill(pid!, 'SIGKILL');
  if (victim === 'redis') {
    // The service restarts its private Redis.
    await expect.poll(redisPid).not.toBeOneOf([pid, undefined]);
    return;
  }
  await service!.stop('SIGKILL');
  await launch();
}

const post = (path: string, body: object, cookies: string[] = []): Promise<TestReply> =>
  request(service!.url, path, { method: 'POST', cookies }, JSON.stringify(body));

/** Sends a request. Undefined when the outcome is unknown: on a 503 or a broken connection. */
async function answered(send: () => Promise<TestReply>): Promise<TestReply | undefined> {
  try {
    const reply = await send();
    return reply.status === 503 ? undefined : reply;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

interface Operation {
  readonly type: 'credit' | 'debit';
  readonly coins: number;
  readonly key: string;
  readonly installId: string;
  /** Unknown: the client received no answer and gave up. */
  outcome: 'done' | 'refused' | 'unknown';
}

/** Apps that earn, spend, score and sign in. Without an answer they repeat the request and sometimes give up. */
class Apps {
  readonly #random: () => number;
  readonly operations: Operation[] = [];
  readonly installs: string[] = [freshId()];
  readonly subjects = Array.from({ length: SUBJECTS }, () => freshId('subject'));
  /** Sent scores. The best of an account is at least its highest answered score. */
  readonly scores: { installId: string; game: string; score: number; answered: boolean }[] = [];
  moves = 0;
  #stopped = false;
  readonly #clients: Promise<void>[];

  constructor(random: () => number) {
    this.#random = random;
    this.#clients = Array.from({ length: CLIENTS }, async () => {
      while (!this.#stopped) await this.#step();
    });
  }

  /** Waits for 3 more moves and 30 more operations, so that a crash has something to lose on a slow machine too. */
  async atWork(): Promise<void> {
    const [moves, operations] = [this.moves + 3, this.operations.length + 30];
    await expect.poll(() => this.moves >= moves && this.operations.length >= operations, { timeout: 60_000 }).toBe(true);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  async #step(): Promise<void> {
    const turn = this.#random();
    if (turn < 0.15) this.installs.push(freshId());
    // One of the latest twelve installs, most of which have not moved yet.
    const installId = this.installs.at(-1 - Math.floor(this.#random() * Math.min(12, this.installs.length)))!;
    if (turn < 0.22) return this.#move(installId);
    if (turn < 0.32) return this.#submit(installId);
    const type = turn < 0.75 ? 'credit' : 'debit';
    const coins = 1 + Math.floor(this.#random() * 50);
    const operation: Operation = { type, coins, key: `k${this.operations.length}`, installId, outcome: 'unknown' };
    this.operations.push(operation);
    const { reply, tries } = await this.#untilAnswered(() => post(`/v1/coins/${type}`, { installId, coins, key: operation.key }));
    if (reply === undefined) return;
    // The guest moved between two tries, so the first try may have been applied.
    const isUnknown = reply.status === 401 && tries > 1;
    operation.outcome = reply.status === 200 ? 'done' : isUnknown ? 'unknown' : 'refused';
  }

  async #move(installId: string): Promise<void> {
    const subject = this.subjects[Math.floor(this.#random() * SUBJECTS)]!;
    const issued = await this.#untilAnswered(() => post('/sandbox/issue', { kind: 'id_token', subject }));
    const token: string | undefined = issued.reply?.body.token;
    if (token === undefined) return;
    const { reply } = await this.#untilAnswered(() => post('/v1/account/store-provision', { token, installId }));
    // Counts answered moves only. An unanswered one may have moved the guest too.
    if (reply?.body.moved === true) this.moves++;
  }

  async #submit(installId: string): Promise<void> {
    const game = GAMES[Math.floor(this.#random() * GAMES.length)]!;
    const sent = { installId, game, score: 1 + Math.floor(this.#random() * 1e6), answered: false };
    this.scores.push(sent);
    const { reply } = await this.#untilAnswered(() => post(`/v1/highscores/${game}`, { installId, score: sent.score, name: 'Ada' }));
    sent.answered = reply?.status === 200;
  }

  /** Repeats a request until it is answered, or until the app gives up. */
  async #untilAnswered(send: () => Promise<TestReply>): Promise<{ reply: TestReply | undefined; tries: number }> {
    for (let tries = 1; ; tries++) {
      const reply = await answered(send);
      if (reply !== undefined || this.#random() < 0.02) return { reply, tries };
      // The pause of an app between two tries.
      await sleep(30);
    }
  }
}

/** Waits until no guest is frozen any more, and none that moved has anything left. */
async function movesFinished({ installs }: Apps, redis: Redis): Promise<void> {
  // Makes unfinished moves due at once. Otherwise the service would wait before it resumes them.
  for (const move of await redis.zrange(storeKeys.unfinishedMoves, '0', '-1')) await redis.zadd(storeKeys.unfinishedMoves, 0, move);
  const isFinished = async (guestId: string): Promise<boolean> => {
    const standing = await redis.get(standingKey(guestId));
    if (standing === null) return true;
    return !standing.startsWith('~') && (await redis.exists(coinKeys.ledger(guestId), boardKeys.ofAccount(guestId))) === 0;
  };
  const all = () => Promise.all(installs.map((installId) => isFinished(accountIdOf(installId))));
  await expect.poll(all, { timeout: 60_000 }).not.toContain(false);
}

interface Owner {
  readonly accountId: string;
  readonly cookies: string[];
}

/** The account that has each install's data now, with a session of it. */
async function ownersOf({ installs, subjects }: Apps, redis: Redis): Promise<Map<string, Owner>> {
  const stores = new Map<string, string[]>();
  for (const subject of subjects) {
    const { token } = (await post('/sandbox/issue', { kind: 'id_token', subject })).body;
    const { body, cookies } = await post('/v1/account/store-provision', { token });
    stores.set(body.accountId, cookies);
  }
  const owners = new Map<string, Owner>();
  for (const installId of installs) {
    const target = (await redis.get(standingKey(accountIdOf(installId))))?.replace('>', '');
    const cookies = target === undefined ? (await post('/v1/login', { installId })).cookies : stores.get(target);
    owners.set(installId, { accountId: target ?? accountIdOf(installId), cookies: cookies! });
  }
  return owners;
}

/** Sends every operation again that may be applied. Each that was answered is a replay, and the balances are the sums of all. */
async function everyOperationOnce(apps: Apps, owners: ReadonlyMap<string, Owner>): Promise<void> {
  const sums = new Map<Owner['accountId'], number>();
  for (const { type, coins, key, installId, outcome } of apps.operations) {
    const { accountId, cookies } = owners.get(installId)!;
    if (!sums.has(accountId)) sums.set(accountId, 0);
    if (outcome === 'refused') continue;
    const { status, body } = await post(`/v1/coins/${type}`, { coins, key }, cookies);
    if (outcome === 'done') expect([key, status, body.replayed]).toEqual([key, 200, true]);
    // An unknown debit may be refused for a balance that is too low.
    else expect([200, 409]).toContain(status);
    if (status === 200) sums.set(accountId, sums.get(accountId)! + (type === 'credit' ? coins : -coins));
  }
  for (const { accountId, cookies } of new Map([...owners.values()].map((owner) => [owner.accountId, owner])).values()) {
    const { body } = await request(service!.url, '/v1/balance', { cookies });
    expect([accountId, body.balanceCoins]).toEqual([accountId, sums.get(accountId) ?? 0]);
  }
}

/** The best of each account on each board is one of the scores of its installs, and at least the highest that was answered. */
async function scoresHandedOver({ scores }: Apps, owners: ReadonlyMap<string, Owner>): Promise<void> {
  const groups = Map.groupBy(scores, ({ game, installId }) => `${game} ${owners.get(installId)!.accountId}`);
  for (const [group, sent] of groups) {
    const { cookies } = owners.get(sent[0]!.installId)!;
    const { body } = await post(`/v1/highscores/${sent[0]!.game}`, { score: 0, name: 'Ada' }, cookies);
    expect([group, 0, ...sent.map(({ score }) => score)]).toContain(body.best);
    expect(body.best, group).toBeGreaterThanOrEqual(Math.max(0, ...sent.filter(({ answered }) => answered).map(({ score }) => score)));
  }
}

test(`crashes lose no coins and leave no guest half moved (CRASH_SEED=${seed})`, { timeout: 180_000 }, async () => {
  const random = seeded(seed);
  await launch();
  const apps = new Apps(random);
  const victims = ['service', 'redis', 'both'] as const;
  for (let round = 0; round < ROUNDS; round++) {
    await apps.atWork();
    // Crash at a random moment.
    await sleep(random() * 200);
    await crash(victims[round % victims.length]!);
  }
  await apps.atWork();
  await apps.stop();

  const redis = new Redis({ path: join(dataDir, 'redis.sock') });
  try {
    await movesFinished(apps, redis);
    expect((await audited({ socketPath: join(dataDir, 'redis.sock') })).findings).toEqual([]);
    const owners = await ownersOf(apps, redis);
    await everyOperationOnce(apps, owners);
    await scoresHandedOver(apps, owners);
  } finally {
    redis.disconnect();
  }
});
