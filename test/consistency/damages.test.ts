import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { accountKey } from '../../src/accounts/account-keys.ts';
import type { Finding } from '../../src/consistency/auditor.ts';
import { halfSipHash } from '../../src/features/coins/key-hash.ts';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { adviceOf, advisedKinds } from '../../src/commands/audit/advice.ts';
import { seasonKeys } from '../../src/features/highscores/model.ts';
import { subscriptionKeys } from '../../src/features/subscription/model.ts';
import { DATA_VERSION_KEY } from '../../src/redis/data-version.ts';
import { freshId, start, type TestService } from '../harness.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { Watcher } from '../realtime/watcher.ts';
import { openFullRoom } from '../server/full-room.ts';
import { issue, signInToStore } from '../store.ts';
import { audited } from './audited.ts';
import {
  accountWith,
  bought,
  bucket,
  fillQueues,
  hashOf,
  largeAccount,
  linkedTrial,
  moved,
  paired,
  pairing,
  player,
  redis,
  service,
  useData,
} from './damages/data.ts';
import { aloneDamages } from './damages/alone.ts';
import { mend, nameOf } from './damages/mend.ts';
import { seasonDamages } from './damages/seasons.ts';
import { damages } from './damages/table.ts';

const DAY_MS = 86_400_000;

/** Words with an underscore in the same files that are no kinds of findings. */
const NO_KINDS = new Set(['sign_in_required']);

let own: OwnRedis;
let shared: TestService;

beforeAll(async () => {
  own = await startRedis();
  shared = await start({ redis: own.location });
  useData(shared, own.redis);
});
afterAll(async () => {
  await shared[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});

test('data that only the service has written has no drift', { timeout: 60_000 }, async () => {
  await accountWith([5, 6, -7, 8]);
  await largeAccount();
  await accountWith([5, 6], 'with a blank key'.replaceAll(' ', '-'));
  await moved((installId) => accountWith([5, -5], installId));
  await moved((installId) => largeAccount(installId));
  await moved(async (installId) => service.post('/v1/account/resolve', { installId }));
  await moved(async (installId) => {
    for (const game of ['clean', 'other']) await service.post(`/v1/highscores/${game}`, { installId, score: 3, name: 'Ä' });
  });
  for (let index = 0; index < 20; index++) await player('clean', index % 7);
  await bought();
  await moved((guest) => bought(guest));
  // One purchase that leaves a guest for another one, and one that replaces it.
  const { purchaseToken } = await issue(service, { kind: 'subscription' });
  for (const buyer of [freshId(), freshId()]) await service.post('/v1/subscription/purchase', { installId: buyer, purchaseToken });
  const { purchaseToken: upgrade } = await issue(service, { kind: 'subscription', linkedPurchaseToken: purchaseToken });
  await service.post('/v1/subscription/purchase', { installId: freshId(), purchaseToken: upgrade });
  // An account keeps at most ten lines.
  const collector = freshId();
  for (let index = 0; index < 12; index++) await bought(collector);
  const installId = freshId();
  const { body } = await service.post('/v1/rooms', { installId });
  const watcher = await Watcher.open(service.url, `/v1/rooms/${body.room.code}/live`);
  watcher.send({ type: 'hello', installId });
  await expect.poll(() => redis.zcard('rooms:due')).toBe(1);
  const post = (path: string, fields: object) => service.post(path, fields);
  await openFullRoom(async (path, fields) => (await post(path, fields)).body, redis, freshId());
  // All players have left, and one was kicked.
  const { code } = (await post('/v1/rooms', { installId })).body.room;
  const other = freshId();
  await post(`/v1/rooms/${code}/join`, { installId: other });
  await post(`/v1/rooms/${code}/kick`, { installId, playerId: 'p2' });
  await post(`/v1/rooms/${code}/leave`, { installId });
  await service.post('/v1/pair/new');
  await paired();
  await pairing(async () => {});
  await linkedTrial();
  // Two guests with seats in one room move into one account, which then holds both.
  const subject = freshId('subject');
  const [first, second] = [freshId(), freshId()];
  const shared = (await post('/v1/rooms', { installId: first })).body.room.code;
  await post(`/v1/rooms/${shared}/join`, { installId: second });
  const sessions = [];
  for (const guest of [first, second]) sessions.push((await signInToStore(service, subject, { installId: guest })).cookies);
  await service.post(`/v1/rooms/${shared}/ready`, {}, { cookies: sessions[1]! });
  await redis.set('something-else:12', 'x');

  const { findings, counts } = await audited(own.location);
  expect(findings).toEqual([]);
  expect(counts.unknown).toEqual({ 'something-else:n': 1 });
  expect(counts.checked).toMatchObject({ boards: 2, purchases: 16, rooms: 4, 'queue entries': 16 });
  expect(counts.checked['entries']).toBe(4 + 130 + 2 + 2 + (131 + 1));
  watcher.close();
});

test('a purchase whose line has still to follow, and an entry of a purchase that was not recorded, are no drift', async () => {
  const { hash, id } = await bought();
  await redis.hset(subscriptionKeys.purchase(hash), { todo: 'line', act: 'some-act' });
  await redis.hdel(accountKey(id), 'purchases');
  await redis.zrem('purchases:due', hash);
  await redis.zadd('purchases:due', Date.now() + 60_000, `${hash}#some-act`, Date.now() + 60_000, 'not-recorded#another-act');
  expect((await audited(own.location)).findings).toEqual([]);
});

test('two keys with the same hash are no drift', async () => {
  const seen = new Map<string, string>();
  let one: string | undefined;
  let other = '';
  const hash = halfSipHash(Buffer.from((await redis.get(KEY_SECRET))!, 'hex'));
  while (one === undefined) {
    other = `key-${seen.size}`;
    one = seen.get(String(hash(other)));
    seen.set(String(hash(other)), other);
  }
  const installId = freshId();
  for (const key of [one, 'between', other]) await service.post('/v1/coins/credit', { installId, coins: 1, key });
  expect(await redis.hget(bucket(accountIdOf(installId)), await hashOf(one))).toBe('1,3');
  expect((await audited(own.location)).findings).toEqual([]);
});

describe('one finding, and advice that works, for', () => {
  afterAll(() => useData(shared, own.redis));

  test.each(Object.entries(aloneDamages))('%s', { timeout: 60_000 }, async (_, { make, kind, mends }) => {
    await using aside = await startRedis();
    await using writing = await start({ redis: aside.location });
    useData(writing, aside.redis);
    const subject = await make();
    const { findings } = await audited(aside.location);
    expect(findings.map(nameOf)).toEqual([nameOf({ kind, subject })]);
    await mend(findings, mends === undefined ? findings : [], aside.location);
  });
});

describe('one finding for a season with', () => {
  test('each damage of its keys', { timeout: 60_000 }, async () => {
    await using aside = await startRedis();
    const folder = mkdtempSync(join(tmpdir(), 'coinop-season-damages-'));
    const file = join(folder, 'catalogue.json');
    const lines = Object.values(seasonDamages).map((line, index) => ({ ...line, game: `season-${index}` }));
    const season = { period: 'daily', prizes: [{ upTo: 1, coins: 500 }] };
    const app = {
      kind: 'game',
      tagline: '',
      icon: '/i.png',
      url: '/g',
      status: 'live',
      platforms: [],
      updatedAt: '2026-11-22T12:00:00.000Z',
    };
    writeFileSync(file, JSON.stringify({ apps: lines.map(({ game }) => ({ ...app, id: game, name: game, season })) }));
    const settings = { CATALOGUE_FILE: file };
    useData(await start({ redis: aside.location, settings }), aside.redis);
    for (const { game } of lines) for (const score of [10, 20]) await player(game, score);
    {
      await using tomorrow = await start({ redis: aside.location, settings, redisAheadMs: DAY_MS });
      tomorrow.advance(DAY_MS);
      await expect.poll(() => redis.zcard('seasons:due'), { timeout: 20_000 }).toBe(0);
    }
    const clean = await audited(aside.location);
    expect([clean.findings, clean.counts.checked['prizes']]).toEqual([[], lines.length]);
    const expected = [];
    for (const { game, damage, kind, isOfBoard, mends } of lines) {
      const [id = ''] = await redis.zrange(seasonKeys.seasons(game), '0', '0');
      await damage(game, id);
      expected.push({ kind, subject: isOfBoard ? `board ${game}` : `season ${id} of board ${game}`, mends });
    }
    const { findings } = await audited(aside.location);
    expect(findings.map(nameOf).toSorted()).toEqual(expected.map(nameOf).toSorted());
    const left = new Set(expected.filter(({ mends }) => mends === undefined).map(nameOf));
    await mend(
      findings,
      findings.filter((finding) => left.has(nameOf(finding))),
      aside.location,
    );
    await service[Symbol.asyncDispose]();
    useData(shared, own.redis);
    rmSync(folder, { recursive: true });
  });
});

describe('the secret of the ledgers', () => {
  test.each([
    ['is missing', 'no_key_secret', (client: Redis) => client.del(KEY_SECRET)],
    ['is no secret', 'bad_key_secret', (client: Redis) => client.set(KEY_SECRET, 'abc')],
    ['has the wrong type', 'wrong_type', (client: Redis) => client.del(KEY_SECRET).then(() => client.lpush(KEY_SECRET, 'abc'))],
  ] as const)('that %s is one finding, however many ledgers there are (%s)', async (_, kind, damage) => {
    await using aside = await startRedis();
    await using writing = await start({ redis: aside.location });
    for (let count = 0; count < 60; count++) await writing.post('/v1/coins/credit', { installId: freshId(), coins: 5, key: 'k' });
    await damage(aside.redis);
    const { findings } = await audited(aside.location);
    expect(findings).toEqual([{ kind, subject: `key ${KEY_SECRET}`, text: expect.any(String) }]);
  });
});

describe('the version of the data', () => {
  test('that is lost is drift', async () => {
    await using aside = await startRedis();
    await using writing = await start({ redis: aside.location });
    await writing.service.redis.del(DATA_VERSION_KEY);
    const { findings } = await audited(aside.location);
    expect(findings).toEqual([{ kind: 'wrong_version', subject: 'key data:version', text: expect.stringContaining('is missing') }]);
  });

  test('is not expected of an empty Redis', async () => {
    await using empty = await startRedis();
    expect((await audited(empty.location)).findings).toEqual([]);
  });
});

describe('the audit names', () => {
  const found = new Map<string, Finding[]>();
  const subjects = new Map<string, string>();
  beforeAll(async () => {
    await fillQueues();
    for (const [name, { make }] of Object.entries(damages)) subjects.set(name, await make());
    for (const finding of (await audited(own.location)).findings)
      found.set(finding.subject, [...(found.get(finding.subject) ?? []), finding]);
  }, 120_000);

  test.each(Object.keys(damages))('%s', (name) => {
    const findings = found.get(subjects.get(name)!) ?? [];
    expect(findings.map(({ kind }) => kind)).toEqual([damages[name]!.kind]);
    expect(findings[0]!.text).toMatch(/^[A-Z].*\.$/);
    expect(adviceOf(findings[0]!)?.right).toEqual(expect.any(String));
  });

  test('nothing else', () => {
    const known = new Set(subjects.values());
    expect([...found].filter(([subject]) => !known.has(subject)).flatMap(([, findings]) => findings)).toEqual([]);
  });

  test('the commands of the advice put right what they promise, and change nothing about the rest', { timeout: 120_000 }, async () => {
    const all = Object.keys(damages).map((name) => ({ ...damages[name]!, finding: found.get(subjects.get(name)!)![0]! }));
    const left = all.filter(({ mends }) => mends === undefined);
    await mend(
      all.map(({ finding }) => finding),
      left.map(({ finding }) => finding),
      own.location,
    );
  });

  test('each kind with an advice', () => {
    const all = readdirSync(new URL('../../src', import.meta.url), { recursive: true, encoding: 'utf8' });
    const kinds = all
      .filter((path) => /(?:auditor|check|version|cluster-scan|secret-use)\.ts$/.test(path))
      .map((path) => readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8'))
      .flatMap((text) => [...text.matchAll(/(?:kind: |[fF]ind\(\s*|\[\[?|\? |: )'([a-z]+(?:_[a-z]+)+)'/g)].map(([, kind]) => kind!))
      .filter((kind) => !NO_KINDS.has(kind));
    const known = new Set([...kinds, 'expires', 'never_expires', 'wrong_type']);
    expect([...known].toSorted()).toEqual([...advisedKinds].toSorted());
  });
});
