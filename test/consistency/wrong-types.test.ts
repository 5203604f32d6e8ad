import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AuditCounts } from '../../src/consistency/counts.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { audited } from './audited.ts';
import { expectOneFinding, writtenKeys, type KindKey } from './damages/kinds.ts';

/** Every key that a service writes, and a made key of every other kind, one after the other. `wrong-types-sample.test.ts` has a part. */

let own: OwnRedis;
let keys: readonly KindKey[];
let clean: AuditCounts;
beforeAll(async () => {
  own = await startRedis();
  keys = await writtenKeys(own);
  const { findings, counts } = await audited(own.location, { marks: true });
  expect(findings).toEqual([]);
  clean = counts;
}, 60_000);
afterAll(() => own[Symbol.asyncDispose]());

test(
  'a key of another type is one finding for each kind of key, and the audit counts all other keys as before',
  { timeout: 600_000 },
  async () => {
    expect(keys.length).toBeGreaterThan(100);
    for (const key of keys) await expectOneFinding(own, key, clean);
  },
);
