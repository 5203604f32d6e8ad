import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { privateRedisFigures } from '../../src/process/private-redis-figures.ts';
import { RedisFailures } from '../../src/process/redis-failures.ts';
import { RedisOutput } from '../../src/process/redis-output.ts';
import { troubleOf } from '../../src/redis/trouble.ts';
import { freshId, sleep, start } from '../harness.ts';
import { eventually } from '../realtime/watcher.ts';

const INCREMENTAL = 'redis/appendonlydir/appendonly.aof.1.incr.aof';

let folder: string;
let record: RedisFailures;
// oxlint-disable-next-line no-explicit-any
let lines: any[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-trouble-'));
  lines = [];
  record = new RedisFailures(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
const startRedis = (dataDir = folder): PrivateRedis => new PrivateRedis(dataDir, log, [], record);

/** Starts a Redis on the data of `folder`, works on it, and stops it. */
async function withRedis(work: (client: Redis) => Promise<unknown>): Promise<void> {
  const redis = startRedis();
  await redis.start();
  const client = new Redis({ path: redis.socketPath });
  await work(client);
  client.disconnect();
  await redis.stop();
}

const filled = (): Promise<void> => withRedis(async (client) => client.mset({ one: 'x'.repeat(50), two: 'y'.repeat(50) }));

describe('the start fails with the error of the private Redis and a page to read if Redis cannot read its data', () => {
  const damages: [name: string, damage: () => void, message: RegExp][] = [
    [
      'a damaged append-only file',
      () => appendFileSync(join(folder, INCREMENTAL), 'no command\r\n'.repeat(5)),
      /The files of Redis are damaged\. What to do: \S+#a-damaged-append-only-file\nRedis: Bad file format reading the append only file/,
    ],
    ['a missing file', () => rmSync(join(folder, INCREMENTAL)), /The files of Redis are damaged.*\nRedis: Unable to obtain the AOF file/],
    [
      'the data of a newer Redis',
      () => {
        const base = join(folder, 'redis/appendonlydir/appendonly.aof.1.base.rdb');
        writeFileSync(base, Buffer.concat([Buffer.from('REDIS0099'), readFileSync(base).subarray(9)]));
      },
      /The data was written by a newer Redis\. What to do: \S+#data-of-a-newer-redis\nRedis: Can't handle RDB format version 99/,
    ],
  ];

  test.each(damages)('%s', async (_, damage, message) => {
    await filled();
    damage();
    record.reserve();
    const redis = startRedis();
    await expect(redis.start()).rejects.toThrow(message);
    await redis.stop();
    expect(record.last).toMatchObject({ event: 'did not start', trouble: expect.anything() });
  });
});

test('a tail that was cut off in the middle of a write is logged with its file and its bytes', async () => {
  await filled();
  const path = join(folder, INCREMENTAL);
  const whole = readFileSync(path).length;
  await withRedis((client) => client.set('three', 'z'.repeat(100)));
  const end = readFileSync(path).length - 7;
  truncateSync(path, end);
  lines = [];
  await withRedis(async (client) => expect(await client.mget('one', 'three')).toEqual(['x'.repeat(50), null]));
  const cut = lines.find(({ msg }) => msg.startsWith('private redis dropped the end'));
  // The second start selected the database again before its write.
  expect(cut).toMatchObject({ level: 40, file: 'appendonly.aof.1.incr.aof', offset: expect.any(Number), bytes: expect.any(Number) });
  expect(cut.offset).toBeGreaterThanOrEqual(whole);
  expect(cut.offset + cut.bytes).toBe(end);
});

/** A small disk: a file system in memory, which needs the rights of root. */
const canMount = process.getuid?.() === 0 && spawnSync('mount', ['--version']).status === 0;

describe.skipIf(!canMount)('on a full disk', () => {
  let disk: string;
  beforeEach((context) => {
    disk = join(folder, 'disk');
    mkdirSync(disk);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status !== 0) context.skip();
    record = new RedisFailures(disk);
    record.reserve();
  });
  afterEach(() => void spawnSync('umount', ['-l', disk]));
  const fill = (): void => writeFileSync(join(disk, 'filling'), Buffer.alloc(statfsSync(disk).bavail * 4096));

  test('the private Redis ends: the log, the record and the next start name it', async () => {
    const redis = startRedis(disk);
    try {
      await redis.start();
      const client = new Redis({ path: redis.socketPath, maxRetriesPerRequest: 0, retryStrategy: () => 50 });
      client.on('error', () => {});
      await client.set('kept', 'x'.repeat(1000));
      let ends = 0;
      for (let write = 0; ends < 3; write++)
        await client.set(`key-${write}`, 'x'.repeat(100_000)).catch(async () => {
          ends++;
          await eventually(() => client.status === 'ready');
        });
      await eventually(() => record.last?.trouble !== undefined);
      // A busy machine may see the next start fail as well.
      const event = expect.stringMatching(/^(ended, code 1|did not start)$/);
      expect(record.last).toMatchObject({ event, trouble: { kind: 'disk_full' } });
      expect(await client.get('kept')).toBe('x'.repeat(1000));
      client.disconnect();
      const ended = lines.filter(({ msg }) => msg === 'private redis ended, starting it again');
      // Only once, also if Redis ends several times.
      const words = { level: 50, reason: 'The disk of Redis is full.', mend: 'docs/operations/runbook.md#a-full-disk' };
      expect(ended).toEqual([expect.objectContaining(words)]);
      expect(ended[0].redis.join('\n')).toMatch(/Short write|No space left on device/);
      expect(readFileSync(join(disk, 'redis/redis.log'))).toHaveLength(8192);
    } finally {
      await redis.stop();
    }
  });

  test('the service does not end its Redis: reads are answered, and /ready says why', async () => {
    const redis = startRedis(disk);
    await redis.start();
    const service = await start({ redis: { socketPath: redis.socketPath }, privateRedis: privateRedisFigures(disk) });
    try {
      const installId = freshId();
      const balance = () => service.get(`/v1/balance?installId=${installId}`);
      expect((await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' })).status).toBe(200);
      // The disk has room for the writes of Redis at its start, and for no others.
      fill();
      await eventually(async () => {
        await service.post('/v1/coins/credit', { installId: freshId(), coins: 5, key: 'x'.repeat(200) });
        return record.last !== undefined;
      });
      await eventually(async () => (await balance()).status === 200);
      const { pid } = redis;
      // Three looks.
      for (let read = 0; read < 30; read++) {
        expect((await balance()).body).toEqual({ ok: true, balanceCoins: 5 });
        await sleep(100);
      }
      expect(redis.pid).toBe(pid);
      expect((await service.get('/ready')).body.error.message).toContain('would end at its next write: The disk of Redis is full');
    } finally {
      await service[Symbol.asyncDispose]();
      await redis.stop();
    }
  });

  test('an end of Redis is reported until there is room again', () => {
    const endedAt = (ms: number) =>
      writeFileSync(
        join(disk, 'redis/redis.log'),
        `\n${new Date(Date.now() + ms).toISOString()} ended, code 1\n  Error writing to the AOF file: No space left on device\n`,
      );
    endedAt(-3_600_000);
    fill();
    const watch = privateRedisFigures(disk);
    expect(watch.trouble()?.kind).toBe('disk_full');
    rmSync(join(disk, 'filling'));
    expect(watch.trouble()).toBeUndefined();
    // The clock has been set back since then.
    endedAt(3_600_000);
    expect(watch.trouble()).toBeUndefined();
    endedAt(-1000);
    expect(watch.trouble()?.kind).toBe('disk_full');
  });
});

describe('the output of Redis', () => {
  const AT = '20732:M 23 Nov 2026 15:53:02.573';

  test('is kept without its prefix, routine lines and the data in a crash report', () => {
    const told: string[] = [];
    const words = new RedisOutput((line) => told.push(line));
    words.take(`${AT} # Server initialized\n${AT} # WARNING Memory overcommit must be enabled!\n${AT} # Can't handle RDB for`);
    words.take(`mat version 99\n\n=== REDIS BUG REPORT START: Cut & paste starting from here ===\n`);
    words.take(`${AT} # Redis 7.0.15 crashed by signal: 11, si_code: 0\n${AT} # argv[1]: 'a-secret'\n`);
    expect(told).toEqual(["Can't handle RDB format version 99", 'Redis 7.0.15 crashed by signal: 11, si_code: 0']);
    expect(words.last).toEqual(told);
    words.begin();
    expect(words.last).toEqual([]);
  });

  test.each([
    ['Error writing to the AOF file: No space left on device', 'disk_full'],
    ['MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.', 'disk_failed'],
    ["Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...", 'disk_failed'],
    ["Can't open the append-only file appendonly.aof.1.incr.aof: Permission denied", 'no_rights'],
    ['Out Of Memory allocating 64 bytes!', 'no_memory'],
    ['Unexpected end of file reading the append only file appendonly.aof.1.incr.aof.', 'cut_tail'],
    ['Redis 7.0.15 crashed by signal: 11, si_code: 0', 'crash'],
    ['DB loaded from base file', undefined],
    [[], 'no_memory', 'SIGKILL'],
    [[], undefined, 'SIGTERM'],
  ] as const)('%j is %s', (line, kind, signal?: NodeJS.Signals) => {
    expect(troubleOf([line].flat(), signal)?.kind).toBe(kind);
  });
});

test('each trouble refers to an existing heading of the runbook', () => {
  const runbook = readFileSync('docs/operations/runbook.md', 'utf8');
  const anchors = [...runbook.matchAll(/^###? (.+)$/gm)].map(([, title]) => title!.toLowerCase().replaceAll(' ', '-'));
  const named = [...readFileSync('src/redis/trouble.ts', 'utf8').matchAll(/\{RUNBOOK\}#([\w-]+)/g)].map(([, anchor]) => anchor!);
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((anchor) => !anchors.includes(anchor))).toEqual([]);
});
