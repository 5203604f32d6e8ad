import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { allAuditors } from '../../src/auditors.ts';
import { openConnections, type RedisUse } from '../../src/redis/redis-connections.ts';
import { neededRights } from '../../src/serving/needed-rights.ts';
import { forFile, freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { smallestRules } from '../smallest-user.ts';
import { freePort } from '../free-port.ts';
import { reasonOf, untilReady } from './movable-services.ts';

// The tests of all other files use Redis as a user with these rights only.

const SINGLE: RedisUse = { isCluster: false, database: 0, waits: true };
const CLUSTER: RedisUse = { isCluster: true, database: 0, waits: true };

/** Rules for all keys, and for those without a hash tag. */
const KEY_RULES = Object.keys(neededRights(SINGLE).keys).map((pattern) => `~${pattern}`);
const BARE_KEY_RULES = KEY_RULES.filter((rule) => rule !== '~{*');

test('the rights of the Redis user have a name for each form of key that an audit knows', () => {
  const names = Object.values(neededRights(SINGLE).keys).flat();
  const forms = allAuditors().flatMap(({ keys }) => keys.map(({ pattern }) => pattern));
  expect(forms.filter((form) => !names.some((name) => form.test(name))).map(String)).toEqual([]);
});

test.each([
  ['one Redis', SINGLE],
  ['a Redis Cluster', CLUSTER],
])('the rights of the Redis user are on the page for %s, as one rule of an ACL', (_, use) => {
  const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const lines = [...page.matchAll(/^user coinop on >PASSWORD (.*)$/gm)].map(([, rules]) => new Set(rules!.split(' ')));
  expect(lines).toContainEqual(new Set(smallestRules(use).filter((rule) => !['reset', 'on'].includes(rule))));
});

const port = await freePort();
const own = await forFile(startRedis('--port', port));

/** Gives the user of the service other rights. */
async function allow(...rules: string[]): Promise<void> {
  await own.redis.acl('SETUSER', 'app', 'reset', 'on', ...rules, 'on', '>secret');
}
const restore = () => allow(...smallestRules(SINGLE));

await restore();
const url = `redis://app:secret@127.0.0.1:${port}`;
const service = await forFile(start({ redis: { url } }));

describe('a Redis user', () => {
  afterEach(restore);

  const all = ['~*', '&*', '+@all'];

  test.each([
    ['without channels, as Redis makes users', ['~*', '+@all'], '&0:*'],
    ['with the channels of another database', ['~*', '+@all', '&1:*'], '&0:*'],
    ['without dangerous commands', [...all, '-@dangerous'], '+info'],
    ['without keys', ['&*', '+@all'], KEY_RULES.join(' ')],
    ['with keys to read only', ['%R~*', '&*', '+@all'], KEY_RULES.join(' ')],
    ['without the keys of accounts', [...BARE_KEY_RULES, '~{board:*', '&*', '+@all'], '~{*'],
    ['with the keys of some ids only', [...BARE_KEY_RULES, '~{[a-z0-9]*', '&*', '+@all'], '~{*'],
    ['without the ledgers of accounts', [...BARE_KEY_RULES, '~{*}', '~{*}:account', '&*', '+@all'], '~{*'],
    ['without Pub/Sub', [...all, '-@pubsub'], '+subscribe +unsubscribe +publish +pubsub|numsub'],
    ['who may not publish, without channels', ['~*', '+@all', '-publish'], '&0:* +publish ('],
    ['without scripts', [...all, '-@scripting'], '+eval +evalsha, and perhaps more, which shows once it may run scripts'],
    ['with the simple rules of the page', ['~*', '&*', '+@all', '-@dangerous', '+info'], undefined],
    ['without the database', [...all, '-select'], undefined],
    ['without CLIENT, CONFIG, ACL and CLUSTER', [...all, '-client', '-config', '-acl', '-cluster', '-command'], undefined],
  ])('%s: a start is not ready and says what is missing', async (_, rules, lacks) => {
    await allow(...rules);
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
    const connections = openConnections({ url }, 0, log, neededRights);
    try {
      await connections.opened();
      const problem = lacks && expect.stringContaining(`redis cannot be used: the Redis user lacks ${lacks}`);
      expect([connections.isReady, connections.problem]).toEqual([lacks === undefined, problem]);
      expect(lines.map((line) => JSON.parse(line).msg)).toEqual(lacks === undefined ? [] : ['redis cannot be used']);
      expect(lines.join('')).not.toContain('secret"');
    } finally {
      connections.disconnect();
    }
  });

  test.each([
    ['a channel', ['~*', '+@all'], '&0:*'],
    ['a command', [...all, '-rpush'], '+rpush'],
    ['a key', ['~data:*', '~ledger:secret', '&*', '+@all'], '~{*'],
  ])(
    'who loses %s while the service runs makes it not ready and its answers 503, until the right is back, without a restart',
    async (_, rules, lacks) => {
      await untilReady(service);
      const installId = freshId();
      const credit = async () => (await service.post('/v1/coins/credit', { installId, coins: 1, key: 'one' })).body;
      await allow(...rules);
      await expect.poll(() => reasonOf(service)).toContain('Not ready: redis cannot be used: the Redis user lacks ');
      expect(await reasonOf(service)).toContain(lacks);
      await expect.poll(async () => (await credit()).error?.code).toBe('store_unavailable');
      await restore();
      await untilReady(service);
      expect((await credit()).balanceAfterCoins).toBe(1);
    },
  );

  test('whose password changes and whose connections Redis closes is used again once the password is back', async () => {
    await own.redis.acl('SETUSER', 'app', 'resetpass', '>other');
    await own.redis.client('KILL', 'USER', 'app');
    await expect
      .poll(() => reasonOf(service))
      .toBe('Not ready: redis cannot be used: WRONGPASS invalid username-password pair or user is disabled.');
    await restore();
    await untilReady(service);
  });
});
