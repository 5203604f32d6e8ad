import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { accountsOn, entryOn } from '../../board-entries.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { storeKeys } from '../../../src/features/store/model.ts';
import { accountIdOf, storeAccountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../../src/accounts/account-keys.ts';
import { audited } from '../../consistency/audited.ts';
import { freshId, request, sleep, type TestReply } from '../../harness.ts';
import { seeded } from '../../seeded.ts';
import { childEnvironment } from '../../environment.ts';

/**
 * Guests move, earn and spend while SIGKILL ends the service, its Redis or both. Every answered operation must be applied
 * once, no guest may be half moved, every balance must be the sum of its history, and scores must arrive in the end.
 *
 * CRASH_ROUNDS=… sets how often they end. CRASH_SEED=… repeats the same operations and pauses. The timing of the machine still
 * differs between runs.
 */

const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 3);
const CLIENTS = 8;
const SUBJECTS = 4;
const GAMES = ['crash-one', 'crash-two', 'crash-three'];

const main = new URL('../../../src/main.ts', import.meta.url).pathname;
const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 32));

let dataDir: string;
let service: { child: ChildProcess; url: string; exited: Promise<unknown> } | undefined;

beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'coinop-crash-'))));
afterEach(async () => {
  service?.child.kill('SIGTERM');
  await service?.exited;
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

async function launch(): Promise<void> {
  const child = spawn(process.execPath, [main], {
    env: childEnvironment({ PORT: '0', RATE_LIMIT: 'off', DATA_DIR: dataDir }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => void (output += text.toString()));
  service = { child, url: '', exited };
  const url = (): string | undefined => /^coinop listening on (http:\S+) /m.exec(output)?.[1];
  await vi.waitUntil(() => url() !== undefined || child.exitCode !== null, { timeout: 30_000, interval: 10 });
  if (child.exitCode !== null) throw new Error(`did not start: ${output}`);
  service.url = url()!;
}

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
  service!.child.kill('SIGKILL');
  await service!.exited;
  await launch();
}

interface Operation {
  type: 'credit' | 'debit';
  coins: number;
  key: string;
  installId: string;
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
    await expect.poll(() => this.moves >= moves && this.operations.length >= operations, { timeout: 30_000 }).toBe(true);
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
    const operation: Operation = {
      type: turn < 0.75 ? 'credit' : 'debit',
      coins: 1 + Math.floor(this.#random() * 50),
      key: `k${this.operations.length}`,
      installId,
      outcome: 'unknown',
    };
    this.operations.push(operation);
    let tries = 0;
    const reply = await this.#untilAnswered(() => {
      tries++;
      return apply(operation);
    });
    if (reply === undefined) return;
    // The guest moved between two tries, so the first try may have been applied.
    const isUnknown = reply.status === 401 && tries > 1;
    operation.outcome = reply.status === 200 ? 'done' : isUnknown ? 'unknown' : 'refused';
  }

  async #move(installId: string): Promise<void> {
    const subject = this.subjects[Math.floor(this.#random() * SUBJECTS)]!;
    const issued = await this.#untilAnswered(() => post('/sandbox/issue', { kind: 'id_token', subject }));
    if (issued === undefined) return;
    const { token } = issued.body;
    const reply = await this.#untilAnswered(() => post('/v1/account/store-provision', { token, installId }));
    // Counts answered moves only. An unanswered one may have moved the guest too.
    if (reply?.body.moved === true) this.moves++;
  }

  async #submit(installId: string): Promise<void> {
    const game = GAMES[Math.floor(this.#random() * GAMES.length)]!;
    const sent = { installId, game, score: Math.floor(this.#random() * 1e6), answered: false };
    this.scores.push(sent);
    const reply = await this.#untilAnswered(() => post(`/v1/highscores/${game}`, { installId, score: sent.score, name: 'Ada' }));
    sent.answered = reply?.status === 200;
  }

  /** Repeats a request until it is answered. Undefined when the app gives up. */
  async #untilAnswered(send: () => Promise<TestReply>): Promise<TestReply | undefined> {
    for (;;) {
      const reply = await answered(send);
      if (reply !== undefined) return reply;
      if (this.#random() < 0.02) return undefined;
      // The pause of an app between two tries.
      await sleep(30);
    }
  }
}

const post = (path: string, body: object, cookies?: string[]): Promise<TestReply> =>
  request(service!.url, path, { method: 'POST', ...(cookies === undefined ? {} : { cookies }) }, JSON.stringify(body));

/** @param cookies of the account that the install moved into */
const apply = ({ type, installId, coins, key }: Operation, cookies?: string[]): Promise<TestReply> =>
  post(`/v1/coins/${type}`, { installId, coins, key }, cookies);

/** The reply, or undefined when the outcome is unknown: on a 503 or a broken connection. */
async function answered(send: () => Promise<TestReply>): Promise<TestReply | undefined> {
  try {
    const reply = await send();
    if (reply.status === 503) return undefined;
    // A moved install is answered with 401 sign_in_required.
    if (reply.body.error?.code !== 'sign_in_required') expect([200, 409], JSON.stringify(reply.body)).toContain(reply.status);
    return reply;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

interface Entry {
  seq: number;
  balance: number;
  type: string;
  coins: number;
  key: string;
}

/** Reads a ledger and checks that sequence number and balance of each entry follow from the entry before. */
async function ledgerOf(redis: Redis, accountId: string): Promise<Entry[]> {
  const target = (await redis.get(standingKey(accountId)))?.match(/^>(.*)/)?.[1];
  const lines = await redis.lrange(target === undefined ? coinKeys.ledger(accountId) : coinKeys.guestLedger(target, accountId), 0, -1);
  let sum = 0;
  return lines.map((line, index) => {
    const [, seq, balance, type, coins, key] = /^(\d+):(\d+) (\w)(-?\d+) \w+ (.*)$/.exec(line)!;
    sum += Number(coins);
    expect([Number(seq), Number(balance)], line).toEqual([index + 1, sum]);
    return { seq: Number(seq), balance: Number(balance), type: type!, coins: Number(coins), key: key! };
  });
}

async function everyOperationOnce(redis: Redis, apps: Apps, accounts: readonly string[]): Promise<void> {
  const written = new Map<string, number[]>();
  let total = 0;
  for (const accountId of accounts) {
    const ledger = await ledgerOf(redis, accountId);
    total += ledger.at(-1)?.balance ?? 0;
    for (const { type, key, coins } of ledger) if (type !== 'm') written.set(key, [...(written.get(key) ?? []), coins]);
  }
  let sum = 0;
  for (const { type, coins, key, outcome } of apps.operations) {
    const signed = type === 'credit' ? coins : -coins;
    const there = written.get(key) ?? [];
    if (outcome !== 'unknown') expect(there, `${type} ${key} ${outcome}`).toEqual(outcome === 'done' ? [signed] : []);
    else expect([[], [signed]], `${type} ${key}`).toContainEqual(there);
    sum += there.length * signed;
  }
  expect(total).toBe(sum);
}

/** Checks that a guest moved completely or not at all. Returns the account that it moved into. */
async function noGuestHalfMoved(redis: Redis, guestId: string, stores: readonly string[]): Promise<string | undefined> {
  const note = await redis.get(standingKey(guestId));
  const ledger = await ledgerOf(redis, guestId);
  const out = ledger.filter(({ type }) => type === 'm');
  const into: Entry[] = [];
  const lines: string[] = [];
  for (const storeId of stores) {
    into.push(...(await ledgerOf(redis, storeId)).filter(({ key }) => key === `merge:${guestId}`));
    const guests = ((await redis.get(standingKey(storeId))) ?? '').split('\n');
    lines.push(...guests.filter((line) => line.startsWith(`${guestId} `)).map((line) => `${storeId} ${line}`));
  }
  if (note === null) {
    expect([out, into, lines]).toEqual([[], [], []]);
    return undefined;
  }
  expect(stores).toContain(note.slice(1));
  expect(await redis.exists(accountKey(guestId))).toBe(0);
  expect(ledger.at(-1)?.balance ?? 0).toBe(0);
  expect(lines).toEqual([`${note.slice(1)} ${guestId} ${ledger.length}=`]);
  expect(into.map(({ coins }) => -coins)).toEqual(out.map(({ coins }) => coins));
  if (out.length > 0) expect(out).toEqual([{ ...ledger.at(-1), key: `merge:${note.slice(1)}` }]);
  return note.slice(1);
}

/** Waits until no guest is frozen any more, and none that moved has anything left. */
async function movesFinished(redis: Redis, guests: readonly string[]): Promise<void> {
  // Makes unfinished moves due at once. Otherwise the service would wait before it resumes them.
  for (const move of await redis.zrange(storeKeys.unfinishedMoves, '0', '-1')) await redis.zadd(storeKeys.unfinishedMoves, 0, move);
  const unfinished = async (guestId: string): Promise<boolean> => {
    const [record, left] = [
      await redis.get(standingKey(guestId)),
      await redis.exists(coinKeys.ledger(guestId), boardKeys.ofAccount(guestId)),
    ];
    return record !== null && (record.startsWith('~') || left > 0);
  };
  await expect
    .poll(async () => (await Promise.all(guests.map(unfinished))).filter(Boolean).length, { timeout: 15_000, interval: 200 })
    .toBe(0);
}

async function scoresHandedOver(redis: Redis, apps: Apps, ownerOf: (installId: string) => string): Promise<void> {
  for (const game of GAMES) {
    const sent = apps.scores.filter((score) => score.game === game);
    const accounts = await accountsOn(redis, game);
    expect(await redis.zcard(boardKeys.scores(game))).toBe(accounts.length);
    for (const accountId of new Set([...sent.map(({ installId }) => ownerOf(installId)), ...accounts])) {
      const own = sent.filter(({ installId }) => ownerOf(installId) === accountId);
      const least = Math.max(-1, ...own.filter((score) => score.answered).map(({ score }) => score));
      const entry = await entryOn(redis, game, accountId);
      if (entry === undefined) {
        expect(least).toBe(-1);
        continue;
      }
      const standing = Number(await redis.zscore(boardKeys.scores(game), entry.member));
      expect(own.map(({ score }) => score)).toContain(standing);
      expect(standing).toBeGreaterThanOrEqual(least);
    }
  }
}

/** Sends every applied operation again, to the account that owns it now, and expects a replay. */
async function nothingIsDoneAgain(redis: Redis, apps: Apps, ownerOf: (installId: string) => string): Promise<void> {
  const sessions = new Map<string, string[]>();
  for (const subject of apps.subjects) {
    const { token } = (await post('/sandbox/issue', { kind: 'id_token', subject })).body;
    const { body, cookies } = await post('/v1/account/store-provision', { token });
    sessions.set(body.accountId, cookies);
  }
  const sessionOf = (installId: string): string[] | undefined => sessions.get(ownerOf(installId));
  const done = apps.operations.filter(({ outcome }) => outcome === 'done');
  for (let start = 0; start < done.length; start += 32) {
    const replies = await Promise.all(done.slice(start, start + 32).map((operation) => apply(operation, sessionOf(operation.installId))));
    for (const { status, body } of replies) expect([status, body.replayed], JSON.stringify(body)).toEqual([200, true]);
  }
  for (const installId of apps.installs) {
    const cookies = sessionOf(installId);
    const who = cookies === undefined ? { headers: { 'x-install-id': installId } } : { cookies };
    const { body } = await request(service!.url, '/v1/balance', who);
    expect(body.balanceCoins).toBe((await ledgerOf(redis, ownerOf(installId))).at(-1)?.balance ?? 0);
  }
}

test(`crashes lose no coins and leave no guest half moved (CRASH_SEED=${seed})`, { timeout: 90_000 }, async () => {
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
    const stores = apps.subjects.map((subject) => storeAccountIdOf('sandbox', subject));
    const owners = new Map<string, string>();
    await movesFinished(redis, apps.installs.map(accountIdOf));
    for (const installId of apps.installs) {
      const guestId = accountIdOf(installId);
      owners.set(installId, (await noGuestHalfMoved(redis, guestId, stores)) ?? guestId);
    }
    await everyOperationOnce(redis, apps, [...apps.installs.map(accountIdOf), ...stores]);
    await scoresHandedOver(redis, apps, (installId) => owners.get(installId)!);
    await nothingIsDoneAgain(redis, apps, (installId) => owners.get(installId)!);
    expect((await audited({ socketPath: join(dataDir, 'redis.sock') })).findings).toEqual([]);
  } finally {
    redis.disconnect();
  }
});
