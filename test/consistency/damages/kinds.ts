import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { DATA_VERSION_KEY } from '../../../src/redis/data/data-version.ts';
import { freshId, start } from '../../harness.ts';
import type { OwnRedis } from '../../own-redis.ts';
import { issue, signInToStore } from '../../store.ts';
import { useEverything } from '../../accounts/use-everything.ts';
import { allAuditors } from '../../../src/auditors.ts';
import type { KeyLife, RedisType } from '../../../src/consistency/auditor.ts';
import type { AuditCounts } from '../../../src/consistency/counts.ts';
import { audited } from '../audited.ts';
import { accountWith, bought, boughtCoins, largeAccount, linkedTrial, moved, paired, player, room, useData } from './data.ts';
import { nameOf } from './mend.ts';
import { Names } from './names.ts';

/** The kinds of keys that the auditors declare, and keys of another type for each kind. */

export interface Kind {
  readonly pattern: RegExp;
  /** Undefined: any. */
  readonly type: RedisType | undefined;
  readonly life: KeyLife | undefined;
  /** The name of such keys in the counts of the report. */
  readonly counted: string | undefined;
  /** Names of such keys, made from the pattern: one for each of its alternatives. */
  readonly names: readonly string[];
}

const checks = Map.groupBy(
  allAuditors().flatMap(({ keys }) => keys),
  ({ pattern }) => pattern.source,
);

export const kinds: readonly Kind[] = [...checks.values()].map((all, number) => {
  const { pattern } = all[0]!;
  const { type } = all.find((each) => each.type !== undefined) ?? {};
  const { life } = all.find((each) => each.life !== undefined) ?? {};
  const { counted } = all.find((each) => each.counted !== undefined) ?? {};
  return { pattern, type, life, counted, names: new Names(pattern.source, number).all };
});

const countedKinds = new Set(kinds.flatMap(({ counted }) => counted ?? []));

/** The kind of a key: the first one, as in an audit. */
export function kindOf(key: string): Kind | undefined {
  return kinds.find(({ pattern }) => pattern.test(key));
}

/** A key to damage, and its kind. */
export interface KindKey {
  readonly key: string;
  readonly kind: Kind;
}

/** A Redis whose version of the data cannot be read is not opened at all (`lost-data-command.test.ts`). */
const canBeRead = ({ pattern, type }: Kind): boolean => type !== undefined && !pattern.test(DATA_VERSION_KEY);

/** A key for each kind, and for each alternative of its pattern. */
export const madeKeys: readonly KindKey[] = kinds.filter(canBeRead).flatMap((kind) => kind.names.map((key) => ({ key, kind })));

/** Fills a Redis with data of a service that has stopped. @returns the keys of each kind, or made ones where the data has none */
export async function writtenKeys({ location, redis }: OwnRedis): Promise<KindKey[]> {
  {
    await using service = await start({ redis: location, settings: { ADMIN_API: 'on', EVENTS: 'on' } });
    useData(service, redis);
    await useEverything(service);
    await accountWith([5, 6]);
    await moved((installId) => accountWith([5, -5], installId));
    await moved(largeAccount);
    await moved((installId) => service.post('/v1/account/resolve', { installId }));
    await moved(bought);
    // An account keeps at most ten lines.
    const collector = freshId();
    for (let index = 0; index < 12; index++) await bought(collector);
    // A purchase that is replaced.
    const { purchaseToken } = await issue(service, { kind: 'subscription' });
    const upgrade = await issue(service, { kind: 'subscription', linkedPurchaseToken: purchaseToken });
    const buyer = freshId();
    for (const token of [purchaseToken, upgrade.purchaseToken])
      await service.post('/v1/subscription/purchase', { installId: buyer, purchaseToken: token });
    await boughtCoins('pending');
    await linkedTrial();
    await paired();
    await player('a');
    await room(async () => {});
    // Two guests with seats in one room move into one account, which then holds both.
    const [first, second, subject] = [freshId(), freshId(), freshId('subject')];
    const { code } = (await service.post('/v1/rooms', { installId: first })).body.room;
    await service.post(`/v1/rooms/${code}/join`, { installId: second });
    for (const installId of [first, second]) await signInToStore(service, subject, { installId });
  }
  const written = Map.groupBy((await redis.keys('*')).toSorted(), kindOf);
  return kinds.filter(canBeRead).flatMap((kind) => (written.get(kind) ?? kind.names).map((key) => ({ key, kind })));
}

/** Expects exactly one finding for a key of another type, and that the audit counts all other keys as before. */
export async function expectOneFinding({ location, redis }: OwnRedis, { key, kind }: KindKey, clean: AuditCounts): Promise<void> {
  const undo = await retype(redis, key, kind);
  const { findings, counts } = await audited(location, { marks: true, isStill: true });
  expect(findings.map(nameOf)).toEqual([`wrong_type key ${key}`]);
  expect(findings[0]!.text).toMatch(new RegExp(`^The key's type in Redis is \\w+, but coinop writes it as a ${kind.type}\\.`));
  // Its content is not counted, and all keys are, this one too.
  const isNew = kind.counted !== undefined && kind.names.includes(key) ? 1 : 0;
  for (const name of countedKinds)
    expect([name, counts.checked[name] ?? 0]).toEqual([name, (clean.checked[name] ?? 0) + (name === kind.counted ? isNew : 0)]);
  for (const [name, number] of Object.entries(counts.checked))
    expect([name, number <= (clean.checked[name] ?? 0) + isNew]).toEqual([name, true]);
  await undo();
}

/** The expiry of a key that none had before, where its kind must expire. */
const LIFE_MS = 3_600_000;

/** Puts a value of another type in the place of a key, which expires as before. @returns a function that undoes it */
export async function retype(redis: Redis, key: string, { type, life }: Kind): Promise<() => Promise<unknown>> {
  const [before, ttlMs] = [await redis.dumpBuffer(key), await redis.pttl(key)];
  await redis.del(key);
  await (type === 'string' ? redis.rpush(key, 'another type') : redis.set(key, 'another type'));
  if (ttlMs > 0) await redis.pexpire(key, ttlMs);
  else if (ttlMs === -2 && life === 'ends') await redis.pexpire(key, LIFE_MS);
  // ioredis declares the answer as a Buffer, and it is null for a key that did not exist.
  return () => ((before as Buffer | null) === null ? redis.del(key) : redis.restore(key, Math.max(0, ttlMs), before, 'REPLACE'));
}
