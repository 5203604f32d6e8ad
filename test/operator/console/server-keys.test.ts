import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DATA_VERSION } from '../../../src/redis/data-version.ts';
import { PrivateRedis } from '../../../src/process/private-redis.ts';
import { runAuditCommand } from '../../consistency/command.ts';
import { freePort } from '../../free-port.ts';
import { startChild } from '../../realtime/child.ts';
import { statusWith } from '../../server-keys.ts';
import { eventually } from '../../realtime/watcher.ts';
import { hasTerminals, makeKey, openToolRedis, runAdmin, runAdminInTerminal, type ToolRedis } from './command.ts';

/** `npm run admin -- keys` as a process, like an operator's. */

const SECRET = /coinop_sk_[a-z0-9]{8}_[0-9A-Za-z]{32}/;

let tool: ToolRedis;
let settings: ToolRedis['settings'];
let redis: Redis;
beforeAll(async () => {
  tool = await openToolRedis();
  ({ settings, redis } = tool);
});
afterAll(() => tool[Symbol.asyncDispose]());

const keysOf = async (): Promise<{ id: string; [field: string]: unknown }[]> =>
  JSON.parse((await runAdmin(['keys', 'list', '--json'], settings)).out).keys;
const keyOf = async (id: string) => (await keysOf()).find((key) => key.id === id)!;

describe('keys', () => {
  test('create shows the key once, and Redis holds a hash of its secret', async () => {
    expect((await runAdmin(['keys', 'list'], settings)).out).toBe('There are no server keys.\n');
    const flags = ['--name', 'shop', '--scopes', 'scores,coins', '--game', 'tetris', '--expires', '90d', '--yes'];
    const { code, out, error } = await runAdmin(['keys', 'create', ...flags], settings);
    expect([code, error]).toEqual([0, '']);
    const token = SECRET.exec(out)![0];
    expect(out).toBe(`Key ${token.slice(10, 18)}. It is shown once, and kept nowhere:\n\n    ${token}\n`);
    const stored = JSON.stringify([await redis.hgetall('{server-keys}'), await redis.hgetall('{server-keys}:used')]);
    expect(stored).not.toContain(token.slice(19));
    const shown = await keyOf(token.slice(10, 18));
    expect(shown).toMatchObject({ name: 'shop', state: 'valid', scopes: ['coins', 'scores'], game: 'tetris' });
    expect(shown).not.toHaveProperty('hash');
    const lifeMs = Date.parse(shown['expiresAt'] as string) - Date.parse(shown['createdAt'] as string);
    expect(Math.abs(lifeMs - 90 * 86_400_000)).toBeLessThan(1000);
  });

  test('list shows a table, the newest key first', async () => {
    const { id } = await makeKey(settings, '--scopes', 'rooms');
    const { out } = await runAdmin(['keys', 'list'], settings);
    const [head, first, second] = out.split('\n');
    expect(head).toMatch(/^ID +NAME +STATE +SCOPES +GAME +MADE \(UTC\) +ENDS +LAST USED +REPLACES$/);
    expect(first).toMatch(
      new RegExp(`^${id}  game server  valid  rooms         -       \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  -                 -          -$`),
    );
    expect(second).toContain('shop');
    expect(out).not.toMatch(SECRET);
  });

  test('OPERATOR_KEY lets the tool do what the role of the key may, and the log names the key', async () => {
    const made = await runAdmin(['keys', 'create', '--name', 'zoë', '--role', 'support', '--yes', '--json'], settings);
    const { id, token, role, scopes } = JSON.parse(made.out);
    expect([role, scopes]).toEqual(['support', ['admin']]);
    expect((await runAdmin(['keys', 'list'], settings)).out).toMatch(new RegExp(`^${id}  zoë +valid  admin:support  -`, 'm'));
    const withKey = (words: string[], key: string = token) => runAdmin(words, { ...settings, OPERATOR_KEY: key });
    const nobody = ['A'.repeat(22), '--reason', 'test', '--yes'];
    const refusal = (least: string) => `coinop admin: This needs the role ${least}, and the key has the role support. Nothing was changed`;
    for (const [words, least] of [
      [['keys', 'list'], 'admin'],
      [['data', 'accept', '--yes'], 'admin'],
      [['boards', 'reset', 'tetris', '--reason', 'test', '--yes'], 'economist'],
    ] as const)
      expect(await withKey([...words])).toMatchObject({ code: 1, error: expect.stringContaining(refusal(least)) });
    await redis.set('data:version', String(DATA_VERSION));
    await redis.hset(`{${'A'.repeat(22)}}:account`, 'createdAt', Date.now());
    const adjust = (coins: string) =>
      withKey(['accounts', 'adjust', 'A'.repeat(22), coins, '--key', `a${coins}`, '--reason', 'test', '--yes']);
    expect((await adjust('1001')).error).toContain(refusal('economist'));
    const ban = await withKey(['accounts', 'ban', ...nobody]);
    expect([ban.code, ban.error]).toEqual([0, '']);
    const { entries } = JSON.parse((await withKey(['log', '--json'])).out);
    expect(entries[0]).toMatchObject({ action: 'accounts ban', by: expect.stringMatching(new RegExp(`^key:${id} as `)) });
    for (const [key, message] of [
      [`${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`, 'OPERATOR_KEY is no server key of this data.'],
      [(await makeKey(settings, '--scopes', 'coins')).token, 'OPERATOR_KEY belongs to a server, not to an operator'],
      ['key', 'OPERATOR_KEY must be a server key'],
    ] as const) {
      const { code, error } = await withKey(['log'], key);
      expect([code, error]).toEqual([expect.toBeOneOf([1, 2]), expect.stringContaining(message)]);
    }
  });

  test('rotate makes a second valid key, and sets an expiry for the first', async () => {
    const old = await makeKey(settings, '--scopes', 'coins', '--game', 'snake', '--expires', '30d');
    const { code, out } = await runAdmin(['keys', 'rotate', old.id, '--overlap', '2h', '--json', '--yes'], settings);
    const made = JSON.parse(out);
    expect([code, made.replaces, made.scopes, made.game]).toEqual([0, old.id, ['coins'], 'snake']);
    expect(made.token).toMatch(SECRET);
    const [oldNow, newNow] = [await keyOf(old.id), await keyOf(made.id)];
    expect([oldNow['state'], newNow['state'], newNow['replaces']]).toEqual(['valid', 'valid', old.id]);
    expect(Math.abs(Date.parse(oldNow['expiresAt'] as string) - Date.now() - 2 * 3_600_000)).toBeLessThan(60_000);
    // The new key has the expiry that the old key had.
    expect(Math.abs(Date.parse(newNow['expiresAt'] as string) - Date.now() - 30 * 86_400_000)).toBeLessThan(60_000);
    const again = await runAdmin(['keys', 'rotate', old.id, '--yes'], settings);
    expect([again.code, again.error]).toEqual([
      1,
      `coinop admin: The key ${made.id} replaces ${old.id} already. Rotate that one, or revoke it first.\n`,
    ]);
    // The end of a rotated key is never postponed.
    await runAdmin(['keys', 'revoke', made.id, '--yes'], settings);
    await runAdmin(['keys', 'rotate', old.id, '--overlap', '30d', '--yes'], settings);
    expect((await keyOf(old.id))['expiresAt']).toBe(oldNow['expiresAt']);
  });

  test('rotate with an overlap of 0 ends the old key at once', async () => {
    const old = await makeKey(settings, '--scopes', 'coins');
    expect((await runAdmin(['keys', 'rotate', old.id, '--overlap', '0m', '--yes'], settings)).code).toBe(0);
    expect((await keyOf(old.id))['state']).toBe('expired');
    const { code, error } = await runAdmin(['keys', 'rotate', old.id, '--yes'], settings);
    expect([code, error]).toEqual([1, `coinop admin: The key ${old.id} is expired: make a new one with "keys create".\n`]);
  });

  test('revoke ends a key permanently, and a second revoke reports that', async () => {
    const { id } = await makeKey(settings, '--scopes', 'coins');
    expect(await runAdmin(['keys', 'revoke', id, '--yes'], settings)).toEqual({ code: 0, out: `Revoked ${id}.\n`, error: '' });
    expect((await keyOf(id))['state']).toBe('revoked');
    expect((await runAdmin(['keys', 'revoke', id, '--yes'], settings)).out).toBe(`${id} was revoked already.\n`);
    const unknown = await runAdmin(['keys', 'revoke', 'aaaaaaaa', '--yes'], settings);
    expect([unknown.code, unknown.error]).toEqual([
      1,
      'coinop admin: There is no server key with this id. An id has 8 characters: see "keys list".\n',
    ]);
  });

  test('an invalid command line is refused before the tool connects to Redis', async () => {
    const { code, out, error } = await runAdmin(['keys', '\u001b]0;x\u0007'], { REDIS_URL: 'redis://127.0.0.1:1' });
    expect([code, out, error]).toEqual([1, '', 'coinop admin: There is no command "keys \\u{1b}]0;x\\u{7}": see keys --help.\n']);
  });

  test('a change without a terminal needs --yes', async () => {
    const before = await keysOf();
    const { code, out, error } = await runAdmin(['keys', 'create', '--name', 'a', '--scopes', 'coins'], settings);
    expect([code, out, error]).toEqual([
      1,
      '',
      'coinop admin: This changes data: run it in a terminal, where it asks first, or add --yes.\n',
    ]);
    expect(await keysOf()).toEqual(before);
  });

  test.skipIf(!hasTerminals)('a change in a terminal asks first, and accepts only "yes"', async () => {
    const { id } = await makeKey(settings, '--scopes', 'coins');
    for (const typed of ['n\n', '\u0003', '\u0004']) {
      const { code, out } = await runAdminInTerminal(['keys', 'revoke', id], settings, typed);
      expect([typed, code]).toEqual([typed, 1]);
      expect(out).toContain(`Revoke the server key ${id} ("game server")? Servers that use it are refused at once. [y/N]`);
      expect(out).toContain('Nothing was changed.');
    }
    expect((await keyOf(id))['state']).toBe('valid');
    expect((await runAdminInTerminal(['keys', 'revoke', id], settings, 'y\n')).code).toBe(0);
    expect((await keyOf(id))['state']).toBe('revoked');
  });

  test('names in Redis cannot control the terminal, in a table or in JSON', async () => {
    const { id } = await makeKey(settings, '--scopes', 'coins');
    const record = JSON.parse((await redis.hget('{server-keys}', id))!);
    const name = '\u001b[2J\u009b31m\u202e\n\r\t\u0000\ud800';
    await redis.hset('{server-keys}', id, JSON.stringify({ ...record, name }));
    for (const flags of [[], ['--json']]) {
      const { out } = await runAdmin(['keys', 'list', ...flags], settings);
      expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
      if (flags.length > 0) expect(JSON.parse(out).keys.find((key: { id: string }) => key.id === id).name).toBe(name);
    }
    await redis.hdel('{server-keys}', id);
  });

  test('there are at most 200 keys: a new key replaces the key that ended first, but never a valid key', async () => {
    const record = JSON.parse((await redis.hget('{server-keys}', (await makeKey(settings, '--scopes', 'coins')).id))!);
    await redis.del('{server-keys}', '{server-keys}:used');
    const records: Record<string, string> = {};
    for (let index = 0; index < 200; index++) {
      const ended = index === 7 || index === 9 ? { revokedAt: record.createdAt + index } : {};
      records[`key${String(index).padStart(5, '0')}`] = JSON.stringify({ ...record, ...ended });
    }
    await redis.hset('{server-keys}', records);
    await redis.hset('{server-keys}:used', 'key00007', 1);
    await makeKey(settings, '--scopes', 'coins');
    expect(await redis.hmget('{server-keys}', 'key00007', 'key00009')).toEqual([null, expect.any(String)]);
    expect([await redis.hlen('{server-keys}'), await redis.hlen('{server-keys}:used')]).toEqual([200, 0]);
    await makeKey(settings, '--scopes', 'coins');
    const { code, error } = await runAdmin(['keys', 'create', '--name', 'a', '--scopes', 'coins', '--yes'], settings);
    expect([code, error]).toEqual([1, 'coinop admin: There are 200 valid server keys: revoke one first.\n']);
    await redis.del('{server-keys}', '{server-keys}:used');
  });
});

describe('the Redis of the tool', () => {
  test('is the private one of DATA_DIR, with a service or without one, and a key made before a start is valid after it', async () => {
    const own = mkdtempSync(join(tmpdir(), 'coinop-admin-own-'));
    try {
      const none = await runAdmin(['keys', 'list'], { DATA_DIR: own });
      expect([none.code, none.error]).toEqual([2, `coinop admin: DATA_DIR ${own} holds no data of a private Redis.\n`]);
      const first = await startChild({ DATA_DIR: own, LOG_LEVEL: 'silent' });
      const beside = await makeKey({ DATA_DIR: own }, '--scopes', 'coins');
      await eventually(async () => (await statusWith(first.url, beside.token)) === 200);
      await first.stop();
      const without = await makeKey({ DATA_DIR: own }, '--scopes', 'coins');
      expect((await runAdmin(['keys', 'revoke', beside.id, '--yes'], { DATA_DIR: own })).code).toBe(0);
      const second = await startChild({ DATA_DIR: own, LOG_LEVEL: 'silent' });
      expect([await statusWith(second.url, without.token), await statusWith(second.url, beside.token)]).toEqual([200, 401]);
      await second.stop();
      const audit = await runAuditCommand([], { DATA_DIR: own });
      expect([audit.code, audit.out]).toEqual([0, expect.stringContaining('2 server keys')]);
      expect(audit.out).not.toContain('Not checked');
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });

  test('may not be a replica, and must answer', async () => {
    const away = await runAdmin(['keys', 'list'], { REDIS_URL: 'redis://127.0.0.1:1' });
    expect([away.code, away.error]).toEqual([2, expect.stringMatching(/^coinop admin: REDIS_URL \(127\.0\.0\.1:1\) cannot be read: /)]);
    const other = mkdtempSync(join(tmpdir(), 'coinop-admin-replica-'));
    const replicaPort = await freePort();
    const role = ['--port', replicaPort, '--replicaof', `127.0.0.1 ${new URL(settings.REDIS_URL).port}`];
    const replica = new PrivateRedis(other, pino({ level: 'silent' }), role);
    try {
      await replica.start();
      const client = new Redis({ path: replica.socketPath });
      await eventually(async () => (await client.info('replication')).includes('master_link_status:up'));
      client.disconnect();
      const refused = await runAdmin(['keys', 'list'], { REDIS_URL: `redis://127.0.0.1:${replicaPort}` });
      expect([refused.code, refused.error]).toEqual([
        2,
        'coinop admin: This Redis is a replica, which takes no change: set REDIS_URL to its primary.\n',
      ]);
    } finally {
      await replica.stop();
      rmSync(other, { recursive: true, force: true });
    }
  });
});
