import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { Diagnosis, type Finding } from '../../../src/apart/doctor/diagnosis.ts';
import { examineRedis } from '../../../src/apart/doctor/examine-redis.ts';
import { examineDiskGrowth, examineRecord } from '../../../src/apart/doctor/private-redis.ts';
import { PrivateRedis } from '../../../src/process/private-redis.ts';
import { RedisFailures } from '../../../src/process/redis-failures.ts';
import { testConfig } from '../../environment.ts';
import { usePlace } from '../../commands/place.ts';

const place = usePlace();
beforeEach(async () => {
  const redis = new PrivateRedis(place.folder, pino({ level: 'silent' }));
  await redis.start();
  const client = new Redis({ path: redis.socketPath });
  await client.set('key', 'x'.repeat(100));
  client.disconnect();
  await redis.stop();
});

const aof = (): string => join(place.folder, 'redis/appendonlydir/appendonly.aof.1.incr.aof');

async function found(): Promise<Map<string, Finding>> {
  const diagnosis = new Diagnosis();
  await examineRedis(testConfig({ DATA_DIR: place.folder }), diagnosis);
  return new Map(diagnosis.findings.map((finding) => [finding.kind, finding]));
}

test('data that ends in the middle of a write is a warning with the bytes that a start will drop, and the doctor drops none', async () => {
  const { length } = readFileSync(aof());
  truncateSync(aof(), length - 7);
  const cut = readFileSync(aof());
  const finding = (await found()).get('cut_tail')!;
  expect(finding).toMatchObject({ level: 'warning', mend: 'docs/operations/runbook.md#a-cut-tail' });
  const [, okUpTo, size, bytes] = /up to byte (\d+) of (\d+); (\d+) bytes follow/.exec(finding.text)!.map(Number);
  expect([size, okUpTo! + bytes!]).toEqual([length - 7, length - 7]);
  expect(bytes).toBeGreaterThan(0);
  expect(readFileSync(aof()).equals(cut)).toBe(true);
});

test('damaged data is a danger with the error message of Redis and the place of the damage', async () => {
  const { length } = readFileSync(aof());
  appendFileSync(aof(), 'no command\r\n'.repeat(5));
  const findings = await found();
  expect([...findings.keys()]).toEqual(['damaged_data']);
  const { level, text, mend } = findings.get('damaged_data')!;
  expect([level, mend]).toEqual(['danger', 'docs/operations/runbook.md#a-damaged-append-only-file']);
  expect(text).toContain('It says: Bad file format reading the append only file');
  expect(text).toContain(`is right up to byte ${length} of ${length + 60}; 60 bytes follow`);
});

test('the last trouble of the private Redis is a warning', async () => {
  const recorded = (): Finding | undefined => {
    const diagnosis = new Diagnosis();
    examineRecord(place.folder, diagnosis);
    return diagnosis.findings[0];
  };
  expect(recorded()).toBeUndefined();
  const record = new RedisFailures(place.folder);
  record.reserve();
  record.note('ended, SIGKILL', []);
  expect(recorded()!.text).toContain('ended, SIGKILL. SIGKILL ended Redis: the kernel sent it because memory ran out');
  record.note('ended, code 1', ['Short write while writing to the AOF file: (nwritten=39, expected=368)']);
  const { text, mend } = recorded()!;
  // The whole examination has the same finding.
  expect((await found()).get('redis_ended')!.text).toBe(text);
  expect(text).toContain('ended, code 1. The disk of Redis is full. Its last words: Short write while writing to the AOF file');
  expect(mend).toBe('docs/operations/runbook.md#a-full-disk');
});

test('a disk that the data will soon fill is named', () => {
  const levelAt = (partADay: number, isOfDay: boolean): string | undefined => {
    const diagnosis = new Diagnosis();
    examineDiskGrowth(place.folder, { partADay, error: 0, ledgers: 100, isOfDay }, diagnosis);
    return diagnosis.findings[0]?.level;
  };
  expect([levelAt(0.01, true), levelAt(1e12, true), levelAt(1e12, false)]).toEqual([undefined, 'danger', 'warning']);
});
