import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { accountKey } from '../../src/accounts/account-keys.ts';
import type { Finding } from '../../src/consistency/auditor.ts';
import { halfSipHash } from '../../src/features/coins/key-hash.ts';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { adviceOf, advisedKinds } from '../../src/commands/audit/advice.ts';
import { seasonKeys } from '../../src/features/highscores/model.ts';
import { subscriptionKeys } from '../../src/features/subscription/model.ts';
import { forFile, freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { Watcher } from '../realtime/watcher.ts';
import { seeded } from '../seeded.ts';
import { openFullRoom } from '../server/full-room.ts';
import { atFullSize, sized } from '../sized.ts';
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
const SEED = 20_261_128;

const own = await forFile(startRedis());
const shared = await forFile(start({ redis: own.location }));
beforeAll(() => useData(shared, own.redis));

atFullSize('data that only the service has written has no drift', { timeout: 60_000 }, async () => {
  const post = async (path: string, fields: object = {}) => (await service.post(path, fields)).body;
  await accountWith([5, 6, -7, 8]);
  await largeAccount();
  await accountWith([5, 6], 'with-a-blank-key');
  await moved((installId) => accountWith([5, -5], installId));
  await moved(largeAccount);
  await moved((installId) => post('/v1/account/resolve', { installId }));
  await moved(async (installId) => {
    for (const game of ['clean', 'other']) await post(`/v1/highscores/${game}`, { installId, score: 3, name: 'Ä' });
  });
  for (let index = 0; index < 20; index++) await player('clean', index % 7);
  await bought();
  await moved(bought);
  // One purchase that leaves a guest for another one, and one that replaces it.
  const { purchaseToken } = await issue(service, { kind: 'subscription' });
  const { purchaseToken: upgrade } = await issue(service, { kind: 'subscription', linkedPurchaseToken: purchaseToken });
  for (const token of [purchaseToken, purchaseToken, upgrade])
    await post('/v1/subscription/purchase', { installId: freshId(), purchaseToken: token });
  // An account keeps at most ten lines.
  const collector = freshId();
  for (let index = 0; index < 12; index++) await bought(collector);
  const [installId, other] = [freshId(), freshId()];
  const { room } = await post('/v1/rooms', { installId });
  const watcher = await Watcher.open(service.url, `/v1/rooms/${room.code}/live`);
  watcher.send({ type: 'hello', installId });
  await expect.poll(() => redis.zcard('rooms:due')).toBe(1);
  await openFullRoom(post, redis, freshId());
  // All players have left, and one was kicked.
  const { code } = (await post('/v1/rooms', { installId })).room;
  await post(`/v1/rooms/${code}/join`, { installId: other });
  await post(`/v1/rooms/${code}/kick`, { installId, playerId: 'p2' });
  await post(`/v1/rooms/${code}/leave`, { installId });
  await post('/v1/pair/new');
  await paired();
  await pairing(async () => {});
  await linkedTrial();
  // Two guests with seats in one room move into one account, which then holds both.
  const [first, second, subject] = [freshId(), freshId(), freshId('subject')];
  const both = (await post('/v1/rooms', { installId: first })).room.code;
  await post(`/v1/rooms/${both}/join`, { installId: second });
  await signInToStore(service, subject, { installId: first });
  const { cookies } = await signInToStore(service, subject, { installId: second });
  await service.post(`/v1/rooms/${both}/ready`, {}, { cookies });
  await redis.set('something-else:12', 'x');

  const { findings, counts } = await audited(own.location);
  expect([findings, counts.unknown]).toEqual([[], { 'something-else:n': 1 }]);
  expect(counts.checked).toMatchObject({
    ...{ boards: 2, purchases: 16, rooms: 4, 'queue entries': 16 },
    entries: 4 + 130 + 2 + 2 + (131 + 1),
  });
  watcher.close();
});

atFullSize('a purchase whose line has still to follow, and an entry of a purchase that was not recorded, are no drift', async () => {
  const { hash, id } = await bought();
  await redis.hset(subscriptionKeys.purchase(hash), { todo: 'line', act: 'some-act' });
  await redis.hdel(accountKey(id), 'purchases');
  await redis.zrem('purchases:due', hash);
  await redis.zadd('purchases:due', Date.now() + 60_000, `${hash}#some-act`, Date.now() + 60_000, 'not-recorded#another-act');
  expect((await audited(own.location)).findings).toEqual([]);
});

atFullSize('two keys with the same hash are no drift', async () => {
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

  atFullSize.each(Object.entries(aloneDamages))('%s', { timeout: 60_000 }, async (_, { make, kind, mends }) => {
    await using aside = await startRedis();
    await using writing = await start({ redis: aside.location });
    useData(writing, aside.redis);
    const subject = await make();
    const { findings } = await audited(aside.location);
    expect(findings.map(nameOf)).toEqual([nameOf({ kind, subject })]);
    await mend(findings, mends === true ? [] : findings, aside.location);
  });

  atFullSize('each damage of the keys of a season', { timeout: 60_000 }, async () => {
    await using aside = await startRedis();
    const folder = mkdtempSync(join(tmpdir(), 'coinop-season-damages-'));
    const file = join(folder, 'catalogue.json');
    const lines = Object.values(seasonDamages).map((line, index) => ({ ...line, game: `season-${index}` }));
    const app = {
      ...{ kind: 'game', tagline: '', icon: '/i.png', url: '/g', status: 'live', platforms: [], updatedAt: '2026-11-22T12:00:00.000Z' },
      season: { period: 'daily', prizes: [{ upTo: 1, coins: 500 }] },
    };
    writeFileSync(file, JSON.stringify({ apps: lines.map(({ game }) => ({ ...app, id: game, name: game })) }));
    const settings = { CATALOGUE_FILE: file };
    await using writing = await start({ redis: aside.location, settings });
    useData(writing, aside.redis);
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
    await expectFindings(expected, aside.location);
    rmSync(folder, { recursive: true });
  });
});

test('the version of the data is not expected of an empty Redis', async () => {
  await using empty = await startRedis();
  expect((await audited(empty.location)).findings).toEqual([]);
});

/** Expects exactly these findings, and that the advice puts right what it promises, and changes nothing about the rest. */
async function expectFindings(
  expected: readonly (Pick<Finding, 'kind' | 'subject'> & { mends?: boolean })[],
  location: { socketPath: string },
): Promise<void> {
  const { findings } = await audited(location);
  expect(findings.map(nameOf).toSorted()).toEqual(expected.map(nameOf).toSorted());
  for (const finding of findings) {
    expect(finding.text).toMatch(/^[A-Z].*\.$/);
    expect([finding.kind, adviceOf(finding)?.right]).toEqual([finding.kind, expect.any(String)]);
  }
  const left = new Set(expected.filter(({ mends }) => mends !== true).map(nameOf));
  await mend(
    findings,
    findings.filter((finding) => left.has(nameOf(finding))),
    location,
  );
}

const LINES = sized(10, Infinity);

test(
  `an audit has one finding for each of ${sized(10, Object.keys(damages).length)} damages, and its advice puts right what it promises`,
  { timeout: 240_000 },
  async () => {
    const draw = seeded(SEED);
    const lines = Object.values(damages)
      .map((damage) => ({ damage, place: draw() }))
      .toSorted((one, other) => one.place - other.place)
      .slice(0, LINES);
    await fillQueues();
    const expected = [];
    for (const { damage } of lines) expected.push({ ...damage, subject: await damage.make() });
    await expectFindings(expected, own.location);
  },
);

test('each kind of a finding has an advice', () => {
  // Words with an underscore in the same files that are no kinds of findings.
  const noKinds = new Set(['sign_in_required']);
  const found = readdirSync(new URL('../../src', import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?:auditor|check|version|cluster-scan|secret-use)\.ts$/.test(path))
    .map((path) => readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8'))
    .flatMap((text) => [...text.matchAll(/(?:kind: |[fF]ind\(\s*|\[\[?|\? |: )'([a-z]+(?:_[a-z]+)+)'/g)].map(([, kind]) => kind!));
  const kinds = new Set([...found.filter((kind) => !noKinds.has(kind)), 'expires', 'never_expires', 'wrong_type']);
  expect([...kinds].toSorted()).toEqual([...advisedKinds].toSorted());
});
