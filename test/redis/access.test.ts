import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allAuditors } from '../../src/auditors.ts';
import { ruleOf } from '../../src/redis/access.ts';
import { openConnections, type RedisUse } from '../../src/redis/redis-connections.ts';
import { redisAccess } from '../../src/serving/redis-access.ts';
import { freshId, start, type TestService } from '../harness.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { smallestRules } from '../smallest-user.ts';
import { freePort } from '../free-port.ts';

const SINGLE: RedisUse = { isCluster: false, database: 0, waits: true };
const CLUSTER: RedisUse = { isCluster: true, database: 0, waits: true };

/** Rules for all keys, and for those without a hash tag. */
const KEY_RULES = Object.keys(redisAccess(SINGLE).keys).map((pattern) => `~${pattern}`);
const BARE_KEY_RULES = KEY_RULES.filter((rule) => rule !== '~{*');

const root = fileURLToPath(new URL('../../', import.meta.url));
const textOf = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

describe('the list of what the Redis user must be allowed to do', () => {
  test('has every command of the scripts and no other, besides those of the process itself', () => {
    const files = [
      ...globSync('src/**/*.lua', { cwd: root }),
      ...['script-text', 'channels', 'outbox', 'script-batches', 'script-runner'].map((name) => `src/redis/${name}.ts`),
    ];
    const found = new Set<string>();
    // A call may choose between two commands: redis.call(is_named == '1' and 'SADD' or 'SREM', boards, game)
    for (const file of files)
      for (const [call] of textOf(file).matchAll(/(?:redis|connection)\.p?call\([^,)]*|pcall\(redis\.call, '[A-Z]+'|PUBSUB', '\$\{.*\}'/g))
        for (const [, name] of call.matchAll(/'([A-Z]+)'/g)) found.add(name!.toLowerCase());
    const listed = new Set(
      [...redisAccess(SINGLE).commands, ...redisAccess(CLUSTER).commands].map((command) => ruleOf(command).split('|')[0]!),
    );
    const ofProcess = ['cluster', 'info', 'mset', 'spublish', 'ssubscribe', 'subscribe', 'sunsubscribe', 'unsubscribe'];
    expect([...found].filter((name) => !listed.has(name))).toEqual([]);
    expect([...listed].filter((name) => !found.has(name) && !ofProcess.includes(name))).toEqual([]);
  });

  test('has a name for each form of key that an audit knows', () => {
    const names = Object.values(redisAccess(SINGLE).keys).flat();
    const forms = allAuditors().flatMap(({ keys }) => keys.map(({ pattern }) => pattern));
    expect(forms.filter((form) => !names.some((name) => form.test(name))).map(String)).toEqual([]);
  });

  test.each([
    ['one Redis', SINGLE],
    ['a Redis Cluster', CLUSTER],
  ])('is on the page for %s, as one rule of an ACL', (_, use) => {
    const lines = [...textOf('docs/operating.md').matchAll(/^user coinop on >PASSWORD (.*)$/gm)].map(
      ([, rules]) => new Set(rules!.split(' ')),
    );
    expect(lines).toContainEqual(new Set(smallestRules(use).filter((rule) => !['reset', 'on'].includes(rule))));
  });
});

describe('a Redis user', () => {
  let own: OwnRedis;
  let admin: Redis;
  let service: TestService;
  let url: string;
  const logLines: string[] = [];

  beforeAll(async () => {
    const port = await freePort();
    own = await startRedis('--port', String(port));
    admin = own.redis;
    await allow(...smallestRules(SINGLE));
    url = `redis://app:secret@127.0.0.1:${port}`;
    service = await start({ redis: { url }, logLines });
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await own[Symbol.asyncDispose]();
  });

  /** The rights of the user from now on. */
  async function allow(...rules: string[]): Promise<void> {
    await admin.acl('SETUSER', 'app', 'reset', 'on', ...rules, 'on', '>secret');
  }

  const readiness = async (): Promise<string> => {
    const { status, body } = await service.get('/ready');
    return status === 200 ? 'ready' : (body.error.message as string);
  };

  const all = ['~*', '&*', '+@all'];

  test.each([
    ['without channels, as Redis makes users', ['~*', '+@all'], '&0:*'],
    ['with the channels of another database', ['~*', '+@all', '&1:*'], '&0:*'],
    ['without dangerous commands', [...all, '-@dangerous'], '+info'],
    ['without INFO', [...all, '-info'], '+info'],
    ['without keys', ['&*', '+@all'], KEY_RULES.join(' ')],
    ['with keys to read only', ['%R~*', '&*', '+@all'], KEY_RULES.join(' ')],
    ['without the keys of accounts', [...BARE_KEY_RULES, '~{board:*', '&*', '+@all'], '~{*'],
    ['with the keys of some ids only', [...BARE_KEY_RULES, '~{[a-z0-9]*', '&*', '+@all'], '~{*'],
    ['without the ledgers of accounts', [...BARE_KEY_RULES, '~{*}', '~{*}:account', '&*', '+@all'], '~{*'],
    ['without Pub/Sub', [...all, '-@pubsub'], '+subscribe +unsubscribe +publish +pubsub|numsub'],
    ['who may not publish, without channels', ['~*', '+@all', '-publish'], '&0:* +publish ('],
    ['who may not write hashes, without channels', ['~*', '+@all', '-hset'], '&0:* +hset'],
    ['without scripts', [...all, '-@scripting'], '+eval +evalsha, and perhaps more, which shows once it may run scripts'],
    ['with the simple rules of the page', ['~*', '&*', '+@all', '-@dangerous', '+info'], undefined],
    ['without the database', [...all, '-select'], undefined],
    ['without CLIENT, CONFIG, ACL and CLUSTER', [...all, '-client', '-config', '-acl', '-cluster', '-command'], undefined],
  ])('%s: a start is not ready and says what is missing', async (_, rules, lacks) => {
    await allow(...rules);
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
    const connections = openConnections({ url }, 0, log, redisAccess);
    try {
      await connections.opened();
      const problem = lacks && expect.stringContaining(`redis cannot be used: the Redis user lacks ${lacks}`);
      expect([connections.isReady, connections.problem]).toEqual([lacks === undefined, problem]);
      expect(lines.map((line) => JSON.parse(line).msg)).toEqual(lacks === undefined ? [] : ['redis cannot be used']);
      expect(lines.join('')).not.toContain('secret"');
    } finally {
      connections.disconnect();
      await allow(...smallestRules(SINGLE));
    }
  });

  test.each([
    ['a channel', ['~*', '+@all'], '&0:*'],
    ['a command', [...all, '-rpush'], '+rpush'],
    ['a key', ['~data:*', '~ledger:secret', '&*', '+@all'], '~{*'],
  ])(
    'who loses %s while the service runs: not ready and 503 within seconds, and ready again without a restart once it is back',
    { timeout: 60_000 },
    async (_, rules, lacks) => {
      await expect.poll(readiness).toBe('ready');
      const installId = freshId();
      await allow(...rules);
      await expect.poll(readiness).toContain('Not ready: redis cannot be used: the Redis user lacks ');
      expect(await readiness()).toContain(lacks);
      await expect
        .poll(async () => (await service.post('/v1/coins/credit', { installId, coins: 1, key: 'one' })).body.error?.code)
        .toBe('store_unavailable');
      await allow(...smallestRules(SINGLE));
      await expect.poll(readiness).toBe('ready');
      expect((await service.post('/v1/coins/credit', { installId, coins: 1, key: 'one' })).body.balanceAfterCoins).toBe(1);
    },
  );

  test(
    'whose password changes, and whose connections Redis closes: used again once the password is back',
    { timeout: 60_000 },
    async () => {
      await admin.acl('SETUSER', 'app', 'resetpass', '>other');
      await admin.client('KILL', 'USER', 'app');
      await expect.poll(readiness).toBe('Not ready: redis cannot be used: WRONGPASS invalid username-password pair or user is disabled.');
      await allow(...smallestRules(SINGLE));
      await expect.poll(readiness).toBe('ready');
    },
  );
});
