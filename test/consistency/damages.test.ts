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
import { subscriptionKeys } from '../../src/features/purchases/subscription/model.ts';
import { forFile, freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { seeded } from '../seeded.ts';
import { atFullSize, sized } from '../sized.ts';
import { audited, type AuditedOptions } from './audited.ts';
import { bought, bucket, fillQueues, hashOf, makeOf, player, redis, service, useData, type Damage } from './damages/data.ts';
import { aloneDamages } from './damages/alone.ts';
import { mend, nameOf } from './damages/mend.ts';
import { seasonDamages } from './damages/seasons.ts';
import { damages } from './damages/table.ts';

const DAY_MS = 86_400_000;
const SEED = 20_261_128;

const own = await forFile(startRedis());
const shared = await forFile(start({ redis: own.location, settings: { EVENTS: 'on' } }));
beforeAll(() => useData(shared, own.redis));

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

  atFullSize.each(Object.entries(aloneDamages))('%s', async (_, damage) => {
    await using aside = await startRedis();
    await using writing = await start({ redis: aside.location, settings: { EVENTS: 'on' } });
    useData(writing, aside.redis);
    await expectFindings([await made(damage)], aside.location);
  });

  atFullSize('each damage of the keys of a season', async () => {
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
      await expect.poll(() => redis.zcard('seasons:due')).toBe(0);
    }
    const now = (): number => Date.now() + DAY_MS;
    const clean = await audited(aside.location, { now });
    expect([clean.findings, clean.counts.checked['prizes']]).toEqual([[], lines.length]);
    const expected = [];
    for (const { game, damage, kind, isOfBoard, isMended } of lines) {
      const [id = ''] = await redis.zrange(seasonKeys.seasons(game), '0', '0');
      await damage(game, id);
      expected.push({ kind, subject: isOfBoard ? `board ${game}` : `season ${id} of board ${game}`, isMended });
    }
    await expectFindings(expected, aside.location, { now });
    rmSync(folder, { recursive: true });
  });
});

/** Makes a damage. @returns its finding */
const made = async (damage: Damage) => ({ kind: damage.kind, subject: await makeOf(damage)(), isMended: 'mended' in damage });

/**
 * Expects the audit to report exactly the expected findings. Then carries out the advice of each finding: a finding with `isMended` must be
 * gone afterwards, and every other finding must stay.
 */
async function expectFindings(
  expected: readonly (Pick<Finding, 'kind' | 'subject'> & { isMended?: boolean })[],
  location: { socketPath: string },
  options: AuditedOptions = {},
): Promise<void> {
  const { findings } = await audited(location, options);
  expect(findings.map(nameOf).toSorted()).toEqual(expected.map(nameOf).toSorted());
  for (const finding of findings) {
    expect(finding.text).toMatch(/^[A-Z].*\.$/);
    expect([finding.kind, adviceOf(finding)?.right]).toEqual([finding.kind, expect.any(String)]);
  }
  const left = new Set(expected.filter(({ isMended }) => isMended !== true).map(nameOf));
  await mend(
    findings,
    findings.filter((finding) => left.has(nameOf(finding))),
    location,
    options,
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
    for (const { damage } of lines) expected.push(await made(damage));
    await expectFindings(expected, own.location);
  },
);

test('each kind of a finding has an advice', () => {
  // Words with an underscore in the same files that are no kinds of findings.
  const noKinds = new Set(['sign_in_required', 'first_run', 'goes_last', 'handed_over']);
  const found = readdirSync(new URL('../../src', import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?:auditor|check|version|run|holdings|cluster-scan|secret-use)\.ts$/.test(path))
    .map((path) => readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8'))
    .flatMap((text) => [...text.matchAll(/(?:kind: |[fF]ind\(\s*|\[\[?|\? |: )'([a-z]+(?:_[a-z]+)+)'/g)].map(([, kind]) => kind!));
  const kinds = new Set([...found.filter((kind) => !noKinds.has(kind)), 'expires', 'never_expires', 'wrong_type']);
  expect([...kinds].toSorted()).toEqual([...advisedKinds].toSorted());
});
