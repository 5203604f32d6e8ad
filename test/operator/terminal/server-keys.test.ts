import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { DATA_VERSION } from '../../../src/redis/data/data-version.ts';
import { runAuditCommand } from '../../consistency/command.ts';
import { freePort } from '../../free-port.ts';
import { forFile } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { startChild } from '../../realtime/child.ts';
import { eventually } from '../../realtime/watcher.ts';
import { statusWith } from '../../server-keys.ts';
import { hasTerminals, makeKey, openToolRedis, runAdmin, runAdminInTerminal } from './command.ts';

/** `npm run admin -- keys` as a process, like an operator's. */

// A command takes some seconds on a busy machine, and a test runs up to twenty.
vi.setConfig({ testTimeout: 240_000 });

const SECRET = /coinop_sk_[a-z0-9]{8}_[0-9A-Za-z]{32}/;

const { settings, redis, folder } = await forFile(openToolRedis());

const admin = (...words: string[]) => runAdmin(['keys', ...words], settings);
/** A command that is refused. */
const refusalOf = async (...words: string[]) => {
  const { code, out, error } = await admin(...words, '--yes');
  expect([code, out]).toEqual([1, '']);
  return error.replace('coinop admin: ', '').replace(' Nothing was changed (invalid_request).', '').trimEnd();
};
const keysOf = async (): Promise<{ id: string; [field: string]: unknown }[]> => JSON.parse((await admin('list', '--json')).out).keys;
const keyOf = async (id: string) => (await keysOf()).find((key) => key.id === id)!;

describe('keys', () => {
  test('create shows the key once, Redis holds a hash of its secret, and list shows a table', async () => {
    expect((await admin('list')).out).toBe('There are no server keys.\n');
    const flags = ['--name', 'shop', '--scopes', 'scores,coins', '--game', 'tetris', '--expires', '90d', '--yes'];
    const { code, out, error } = await admin('create', ...flags);
    expect([code, error]).toEqual([0, '']);
    const token = SECRET.exec(out)![0];
    const id = token.slice(10, 18);
    expect(out).toBe(`Key ${id}. It is shown once, and kept nowhere:\n\n    ${token}\n`);
    expect(JSON.stringify(await redis.hgetall('{server-keys}'))).not.toContain(token.slice(19));
    const shown = await keyOf(id);
    expect(shown).toMatchObject({ name: 'shop', state: 'valid', scopes: ['coins', 'scores'], game: 'tetris' });
    expect(shown).not.toHaveProperty('hash');
    const lifeMs = Date.parse(shown['expiresAt'] as string) - Date.parse(shown['createdAt'] as string);
    expect(Math.abs(lifeMs - 90 * 86_400_000)).toBeLessThan(60_000);
    // The newest key is the first.
    const newest = await makeKey(settings, '--scopes', 'rooms');
    expect((await admin('list')).out.split('\n')).toEqual([
      expect.stringMatching(/^ID +NAME +STATE +SCOPES +GAME +MADE \(UTC\) +ENDS +LAST USED +REPLACES$/),
      expect.stringMatching(
        new RegExp(
          `^${newest.id}  game server  valid  rooms         -       \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d  -                    -          -$`,
        ),
      ),
      expect.stringContaining('shop'),
      '',
    ]);
  });

  test('OPERATOR_KEY lets the tool do what the role of the key may, and the log names the key', async () => {
    const made = await admin('create', '--name', 'zoë', '--role', 'support', '--yes', '--json');
    const { id, token, role, scopes } = JSON.parse(made.out);
    expect([role, scopes]).toEqual(['support', ['admin']]);
    const withKey = (words: string[], key: string = token) => runAdmin(words, { ...settings, OPERATOR_KEY: key });
    const nobody = ['A'.repeat(22), '--reason', 'test', '--yes'];
    const refusal = (least: string) => `coinop admin: This needs the role ${least}, but the key has the role support. Nothing was changed`;
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
    const made = JSON.parse((await admin('rotate', old.id, '--overlap', '2h', '--json', '--yes')).out);
    expect(made).toMatchObject({ replaces: old.id, scopes: ['coins'], game: 'snake', token: expect.stringMatching(SECRET) });
    const [oldNow, newNow] = [await keyOf(old.id), await keyOf(made.id)];
    expect([oldNow, newNow]).toMatchObject([{ state: 'valid' }, { state: 'valid', replaces: old.id }]);
    const leftMs = ({ expiresAt }: Record<string, unknown>) => Date.parse(expiresAt as string) - Date.now();
    expect(Math.abs(leftMs(oldNow) - 2 * 3_600_000)).toBeLessThan(60_000);
    // The new key has the expiry that the old key had.
    expect(Math.abs(leftMs(newNow) - 30 * 86_400_000)).toBeLessThan(60_000);
    expect(await refusalOf('rotate', old.id)).toBe(`The key ${made.id} replaces ${old.id} already. Rotate that one, or revoke it first.`);
    // The end of a rotated key is never postponed.
    await admin('revoke', made.id, '--yes');
    await admin('rotate', old.id, '--overlap', '30d', '--yes');
    expect((await keyOf(old.id))['expiresAt']).toBe(oldNow['expiresAt']);
    // An overlap of 0 ends the old key at once.
    const other = await makeKey(settings, '--scopes', 'coins');
    await admin('rotate', other.id, '--overlap', '0m', '--yes');
    expect((await keyOf(other.id))['state']).toBe('expired');
    expect(await refusalOf('rotate', other.id)).toBe(`The key ${other.id} is expired: make a new one with "keys create".`);
  });

  test('a change without a terminal needs --yes, and one in a terminal asks first, and accepts only "yes"', async () => {
    const { id } = await makeKey(settings, '--scopes', 'coins');
    const log = await redis.lrange('{operator-log}', 0, -1);
    expect((await admin('revoke', id)).error).toBe(
      'coinop admin: This changes data: run it in a terminal, where it asks first, or add --yes.\n',
    );
    const type = (typed: string) => runAdminInTerminal(['keys', 'revoke', id], settings, typed);
    for (const typed of hasTerminals ? ['n\n', '\u0003', '\u0004'] : []) {
      const { code, out } = await type(typed);
      expect([typed, code]).toEqual([typed, 1]);
      expect(out).toContain(`Revoke the server key ${id} ("game server")? Servers that use it are refused at once. [y/N]`);
      expect(out).toContain('Nothing was changed.');
    }
    expect([(await keyOf(id))['state'], await redis.lrange('{operator-log}', 0, -1)]).toEqual(['valid', log]);
    if (!hasTerminals) return;
    expect((await type('y\n')).code).toBe(0);
    expect((await keyOf(id))['state']).toBe('revoked');
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
    expect(await refusalOf('create', '--name', 'a', '--scopes', 'coins')).toBe('There are 200 valid server keys: revoke one first.');
    await redis.del('{server-keys}', '{server-keys}:used');
  });
});

describe('the Redis of the tool', () => {
  test('is the private one of DATA_DIR, with a service or without one, and a key made before a start is valid after it', async () => {
    const own = join(folder, 'own');
    mkdirSync(own);
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
  });

  test('may not be a replica, and must answer', async () => {
    const away = await runAdmin(['keys', 'list'], { REDIS_URL: 'redis://127.0.0.1:1' });
    expect([away.code, away.error]).toEqual([2, expect.stringMatching(/^coinop admin: REDIS_URL \(127\.0\.0\.1:1\) cannot be read: /)]);
    const port = await freePort();
    await using replica = await startRedis('--port', port, '--replicaof', `127.0.0.1 ${new URL(settings.REDIS_URL).port}`);
    await eventually(async () => (await replica.redis.info('replication')).includes('master_link_status:up'));
    const refused = await runAdmin(['keys', 'list'], { REDIS_URL: `redis://127.0.0.1:${port}` });
    const message = 'coinop admin: This Redis is a replica, which takes no change: set REDIS_URL to its primary.\n';
    expect([refused.code, refused.error]).toEqual([2, message]);
  });
});
