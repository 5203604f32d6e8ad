import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { Diagnosis } from '../../../src/apart/doctor/diagnosis.ts';
import { examineAccounts } from '../../../src/apart/doctor/fast-accounts.ts';
import { examineAddresses } from '../../../src/apart/doctor/fast-addresses.ts';
import { drawKeys } from '../../../src/apart/doctor/growth.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';

const DAY_MS = 86_400_000;

const own = await forFile(startRedis());
const { redis } = own;

const findingsOf = (diagnosis: Diagnosis) => diagnosis.findings.map(({ kind, text }) => [kind, text]);
const factsOf = (diagnosis: Diagnosis) => Object.fromEntries(diagnosis.facts.map(({ name, value }) => [name, value]));

describe('the addresses that make ledgers grow fastest', () => {
  const settings = { RATE_LIMIT: 'on', RATE_LIMIT_PER_SECOND: '10000', RATE_LIMIT_BURST: '10000', TRUSTED_PROXIES: '127.0.0.1' };
  const budget = { LEDGER_ENTRIES_PER_DAY: '50' };
  const credit = async (service: TestService, from: string, times: number) => {
    const installId = freshId();
    for (let index = 0; index < times; index++)
      await service.post('/v1/coins/credit', { installId, coins: 1, key: `k${index}` }, { headers: { 'x-forwarded-for': from } });
  };
  const examined = async (at: number): Promise<Diagnosis> => {
    const diagnosis = new Diagnosis();
    await examineAddresses(redis, { LEDGER_ENTRIES_PER_DAY: 50 }, at, diagnosis);
    return diagnosis;
  };

  test('are named with their entries of today and yesterday through all processes, and are then forgotten', async () => {
    let at: number;
    {
      await using one = await start({ redis: own.location, settings: { ...settings, ...budget }, stoppedClock: true });
      await using other = await start({ redis: own.location, settings: { ...settings, ...budget }, stoppedClock: true });
      at = one.now();
      await credit(one, '203.0.113.1', 20);
      await credit(other, '203.0.113.1', 60);
      await credit(one, '2001:db8:0:1::7', 10);
      // Draining stores the remaining counts.
    }
    const today = await examined(at);
    expect(factsOf(today)).toEqual({
      'fastest addresses today': '203.0.113.1 (70 entries), 2001:db8:0:1::/64 (10 entries)',
    });
    expect(findingsOf(today)).toEqual([
      ['fast_address', 'The address 203.0.113.1 wrote 70 ledger entries today (UTC). Its budget is 50 a day.'],
    ]);
    expect(Object.keys(factsOf(await examined(at + DAY_MS)))).toEqual(['fastest addresses yesterday']);
    const [key] = await redis.keys('{grown}:*');
    expect(await redis.ttl(key!)).toBeGreaterThan(172_000);
    expect((await audited(own.location)).findings).toEqual([]);
  });

  test('do not appear in public answers', async () => {
    await using service = await start({ redis: own.location, settings: { ...settings, ...budget } });
    await credit(service, '203.0.113.77', 60);
    for (const path of ['/metrics', '/ready', '/health', '/?format=json'])
      expect(JSON.stringify((await service.get(path)).body)).not.toContain('203.0.113');
  });
});

describe('the accounts whose ledgers grow fastest', () => {
  /** Entries in the format of ledger.lua: this many a day, for two days. */
  const fill = async (id: string, aDay: number, now: number) => {
    const entries = Array.from(
      { length: 2 * aDay },
      (_, index) =>
        `${index + 1}:${index + 1} c1 ${Math.floor(now - 2 * DAY_MS + ((index + 0.5) * DAY_MS) / aDay).toString(36)} key-${index}`,
    );
    for (let index = 0; index < entries.length; index += 5000) await redis.rpush(`{${id}}:ledger`, ...entries.slice(index, index + 5000));
    for (let bucket = 0; bucket < entries.length / 32; bucket++) await redis.hset(`{${id}}:index:${bucket}`, 'a', '1');
  };

  test('are found among many by their keys, and named with their entries of 24 hours', async () => {
    await redis.flushdb();
    const now = Date.now();
    const [fast, busy] = [accountIdOf('fast'), accountIdOf('busy')];
    const pipeline = redis.pipeline();
    for (let index = 0; index < 20_000; index++)
      pipeline.rpush(`{${accountIdOf(`quiet-${index}`)}}:ledger`, `1:1 c1 ${now.toString(36)} k`);
    await pipeline.exec();
    await fill(busy, 2000, now);
    await fill(fast, 12_000, now);
    const diagnosis = new Diagnosis();
    await examineAccounts(redis, await drawKeys(redis), now, diagnosis);
    expect(factsOf(diagnosis)['fastest accounts']).toMatch(
      new RegExp(`^${fast} \\(12000 entries, [\\d.]+ KB\\), ${busy} \\(2000 entries, [\\d.]+ KB\\) in the last 24 hours$`),
    );
    expect(findingsOf(diagnosis)).toEqual([
      ['fast_account', `The ledger of the account ${fast} grew by 12000 entries in the last 24 hours.`],
    ]);
  });
});
