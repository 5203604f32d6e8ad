import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { readSettings } from '../../../src/config.ts';
import { Diagnosis, textOf } from '../../../src/apart/doctor/diagnosis.ts';
import { growthOf } from '../../../src/apart/doctor/growth.ts';
import { examineKeys } from '../../../src/apart/doctor/server-keys.ts';
import { examineService } from '../../../src/apart/doctor/running-service.ts';
import { examineSecretFiles } from '../../../src/apart/doctor/secret-files.ts';
import { examineSettings } from '../../../src/apart/doctor/settings.ts';
import { PrivateRedis } from '../../../src/process/private-redis.ts';
import { DATA_VERSION } from '../../../src/redis/data/data-version.ts';
import { settingProblems } from '../../../src/setting-checks.ts';
import { luaHolesOf } from '../../../src/apart/doctor/lua-holes.ts';
import { version } from '../../../src/web/version.ts';
import { freePort } from '../../free-port.ts';
import { start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import type { Child } from '../../realtime/child.ts';
import { runCommand } from '../../run-command.ts';
import { makeKey } from '../../operator/terminal/command.ts';
import { usePlace } from '../../commands/place.ts';
import { paste } from './paste.ts';
import { examine as report } from './report.ts';

// A test runs up to eight processes, which takes minutes on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

const place = usePlace();
const examine = (settings: Record<string, string>, ...flags: string[]) => report({ DATA_DIR: place.dataDir, ...settings }, ...flags);
const launch = (settings: Record<string, string>) => place.launch({ LOG_LEVEL: 'silent', ...settings });

/** The findings and facts of one part of the examination. */
async function diagnosed(part: (diagnosis: Diagnosis) => unknown): Promise<Diagnosis> {
  const diagnosis = new Diagnosis();
  await part(diagnosis);
  return diagnosis;
}
const settingsOf = (settings: Record<string, string>) => readSettings(settings, () => []).config;

/** A Redis on a port of this machine. */
async function startPort(...settings: string[]): Promise<{ url: string; client: Redis }> {
  const port = await freePort();
  const server = new PrivateRedis(join(place.folder, `redis-${port}`), pino({ level: 'silent' }), ['--port', String(port), ...settings]);
  await server.start();
  const client = new Redis({ path: server.socketPath });
  place.ends({ stop: async () => (client.disconnect(), server.stop()) });
  return { url: `redis://127.0.0.1:${port}`, client };
}

const PRODUCTION = {
  NODE_ENV: 'production',
  SESSION_KEYS: `k1:${'A'.repeat(43)}`,
  PUBLIC_URL: 'https://play.invalid',
  TRUSTED_PROXIES: '10.0.0.1',
  STORE: 'off',
  COIN_AUTHORITY: 'server',
  METRICS_PORT: '9464',
};

describe('on a Redis', () => {
  test('an evicting policy, no append-only file and 90 % of memory are three dangers', async () => {
    const { url, client } = await startPort('--appendonly', 'no', '--maxmemory-policy', 'allkeys-lru');
    for (let key = 0; key < 200; key++) await client.set(`ballast:${key}`, 'x'.repeat(100_000));
    const used = Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))![1]);
    await client.config('SET', 'maxmemory', Math.ceil(used / 0.91));
    const { code, dangers, texts } = await examine({ REDIS_URL: url });
    expect([code, dangers.toSorted()]).toEqual([1, ['eviction', 'memory', 'no_append_only_file']]);
    expect(texts['eviction']).toContain('maxmemory-policy is allkeys-lru');
    expect(texts['memory']).toMatch(/^Redis uses 2\d(\.\d)? MB of 2\d(\.\d)? MB, 9[01] % of maxmemory\./);

    await client.config('SET', 'appendfsync', 'everysec');
    await client.acl('SETUSER', 'o’ops', 'on', '>p w', '+@all', '~*', '&*');
    await client.config('SET', 'requirepass', 'secret');
    const own = await examine({ REDIS_URL: url.replace('//', `//${encodeURIComponent('o’ops')}:p%20w@`) });
    expect(JSON.stringify(own)).not.toMatch(/p w|p%20w/);
    for (const kind of ['eviction', 'no_append_only_file', 'memory']) paste(own.mends[kind]!, 'p w\n');
    const { mends } = await examine({ REDIS_URL: url.replace('//', '//:secret@') });
    paste(mends['appendfsync']!, 'secret\n');
    await expect.poll(() => client.info('persistence')).toContain('aof_rewrite_in_progress:0');
    const mended = await examine({ REDIS_URL: url.replace('//', '//:secret@') });
    expect([mended.code, mended.dangers, mended.texts['appendfsync']]).toEqual([0, [], undefined]);
  });

  test('a user without a needed permission and a missing database are a danger each', async () => {
    const { url, client } = await startPort();
    await client.acl('SETUSER', 'limited', 'on', '>pw', '+@all', '-info', '-config', '-publish', '~*', '&1:*');
    const limited = url.replace('//', '//limited:pw@');
    const { dangers, texts, mends } = await examine({ REDIS_URL: limited });
    expect(dangers).toEqual(['forbidden']);
    expect(texts['forbidden']).toMatch(
      /^The user limited of REDIS_URL may not do what coinop needs: it lacks &0:\* \+info \+publish \(docs/,
    );
    const port = url.split(':').at(-1);
    paste(mends['forbidden']!.replace(/^/, `redis-cli -p ${port} `));
    const allowed = await examine({ REDIS_URL: limited });
    expect([allowed.dangers, allowed.notes]).toEqual([[], expect.arrayContaining(['config_refused'])]);
    await client.acl('SETUSER', 'limited', '-dbsize');
    const partly = await examine({ REDIS_URL: limited });
    expect([partly.dangers, partly.notes]).toEqual([[], expect.arrayContaining(['not_examined'])]);
    paste(partly.mends['not_examined']!.replace(/^/, `redis-cli -p ${port} `));
    expect((await examine({ REDIS_URL: limited })).notes).not.toContain('not_examined');
    const elsewhere = await examine({ REDIS_URL: `${url}/99` });
    expect(elsewhere.dangers).toEqual(['no_redis']);
    expect(elsewhere.texts['no_redis']).toContain('REDIS_URL names database 99');
  });

  test('a Redis with sound settings gives no danger and no warning', async () => {
    const { url } = await startPort('--maxmemory', '1gb');
    const { code, dangers, warnings, facts } = await examine({ REDIS_URL: url });
    expect([code, dangers, warnings.filter((kind) => !['overcommit', 'huge_pages', 'lua_holes'].includes(kind))]).toEqual([0, [], []]);
    expect(facts).toMatchObject({ durability: 'append-only file, appendfsync always', data: 'none yet', boards: 'none' });
    // The finding goes by the version number. A distribution may have repaired the Redis of these tests without changing it.
    const [, server, version] = /^(Redis|Valkey) (\S+),/.exec(facts['redis']!)!;
    expect(warnings.filter((kind) => kind === 'lua_holes')).toHaveLength(luaHolesOf(version!, server === 'Valkey').length);
  });

  test('weak durability, missing replicas and big boards are reported', async () => {
    const { url, client } = await startPort('--appendfsync', 'everysec', '--no-appendfsync-on-rewrite', 'yes');
    await client.zadd('{board:chess}:scores', 1, 'a', 2, 'b');
    await client.set('data:version', '99');
    await client.config('SET', 'min-replicas-to-write', 1);
    const { code, dangers, warnings, facts } = await examine({ REDIS_URL: url, REDIS_WAIT_REPLICAS: '1' });
    expect([code, dangers.toSorted()]).toEqual([1, ['data_version', 'min_replicas', 'too_few_replicas']]);
    expect(warnings).toEqual(expect.arrayContaining(['appendfsync', 'no_fsync_on_rewrite']));
    expect(facts['boards']).toBe('1, the biggest is chess with 2 entries');
  });

  test('a replica does not count as spare if coin operations wait for it', async () => {
    const [primary, replica] = [await startPort(), await startPort()];
    await replica.client.replicaof('127.0.0.1', Number(new URL(primary.url).port));
    await expect.poll(() => primary.client.info('replication')).toContain('state=online');
    const waits = await examine({ REDIS_URL: primary.url, REDIS_WAIT_REPLICAS: '1' });
    expect([waits.dangers, waits.warnings]).toEqual([[], expect.arrayContaining(['no_spare_replica'])]);
    expect((await examine({ REDIS_URL: primary.url })).notes).toContain('no_wait');
    expect((await examine({ REDIS_URL: replica.url })).dangers).toContain('replica');
  });

  test('memory that lasts only a few days is reported with the remaining time', async () => {
    const { url, client } = await startPort();
    // 48 entries, one an hour: half of them are from today, so the data doubles in two days.
    const ledger = Array.from(
      { length: 48 },
      (_, index) => `${index + 1}:${index + 1} c1 ${(Date.now() - (47.5 - index) * 3_600_000).toString(36)} k`,
    );
    await client.set('data:version', String(DATA_VERSION));
    await Promise.all(Array.from({ length: 1500 }, (_, number) => client.rpush(`{account-${number}}:ledger`, ...ledger)));
    const used = Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))![1]);
    const empty = Number(/^used_memory_startup:(\d+)/m.exec(await client.info('memory'))![1]);
    // Room for twice the data: four days.
    await client.config('SET', 'maxmemory', used + 2 * (used - empty));
    const { dangers, texts } = await examine({ REDIS_URL: url });
    expect(dangers).toEqual(['memory']);
    expect(texts['memory']).toMatch(
      / At the growth of the last day it is full in [45] days \(estimated from 1000 ledgers: (49|50|51) % of their entries a day, ± 0 %\)\.$/,
    );
  });

  test('warns of events that no relay takes, of a log that outgrows Redis, and of webhooks that receive no events', async () => {
    const { url, client } = await startPort();
    const at = (msAgo: number): number => (Date.now() - msAgo) * 1000;
    const entry = (msAgo: number): string => `c ${at(msAgo).toString(36)}-0-0 ${'a'.repeat(22)} 1 1:5 c5`;
    // A million events in two hours are 5.9 GB in seven days.
    await client.rpush('{events}:chunk:0', entry(7_200_000), ...Array.from({ length: 9 }, () => entry(3_600_000)));
    await client.zadd('{events}:chunks', 0, '0', 999, '999');
    await client.hset('{events}:state', { next: 1_000_000, readable: 1_000_000, 'from:': `${at(300_000)}\nn x` });
    await client.rpush('outbox', `${at(300_000)}\nn x`, `${at(200_000)}\nn y`);
    const secrets = [{ secret: `whsec_${'A'.repeat(44)}` }];
    const hook = (more: object): string => JSON.stringify({ url: 'https://play.example/hook?secret', secrets, createdAt: 1, ...more });
    await client.hset('{webhooks}', {
      behind00: hook({}),
      gone0000: hook({ disabled: { by: 'gone', at: Date.now() } }),
      private0: hook({ url: 'http://10.0.0.1/' }),
      broken00: '{}',
    });
    await client.hset('{webhooks}:state:behind00', { cursor: 5, turn: 0 });
    await client.hset('{webhooks}:waiting:behind00', 'a', '{}', 'b', '{}');
    await client.lpush('{webhooks}:failed:behind00', JSON.stringify({ at: Date.now() }));
    await client.config('SET', 'maxmemory', '100mb');
    const on = await examine({ REDIS_URL: url, EVENTS: 'on' });
    const kinds = ['events_memory', 'events_wait', 'hook_behind', 'hook_disabled', 'hook_failing', 'hook_refused', 'hook_unreadable'];
    expect(on.warnings.filter((kind) => /event|hook/.test(kind)).toSorted()).toEqual(kinds);
    expect(on.texts).toMatchObject({
      events_memory: expect.stringMatching(/ grows from 70 MB to 5\.\d GB \(EVENTS_DAYS=7\), and Redis has \d+ MB left\.$/),
      events_wait: expect.stringMatching(/^2 batches of events wait .* the oldest since \d+ s\.$/),
      hook_refused: 'The URL of the webhook private0, http://10.0.0.1, must begin with https://: http:// needs WEBHOOKS_PRIVATE=on.',
    });
    expect(on.facts['events']).toMatch(/^EVENTS=on, about 1000000 since \S+ in the log, 70 MB, 5\.\d GB once it has 7 days$/);
    expect(JSON.stringify(on)).not.toContain('secret');

    const off = await examine({ REDIS_URL: url });
    expect([...off.warnings, ...off.notes]).toEqual(expect.arrayContaining(['hooks_without_events', 'events_left']));
  });

  test('no Redis, a wrong password, a bad address, and a node of a Cluster under a plain address are one finding each', async () => {
    const nobody = await examine({ REDIS_URL: `redis://user:hidden@127.0.0.1:${await freePort()}` });
    expect([nobody.code, nobody.dangers]).toEqual([1, ['no_redis']]);
    expect(nobody.texts['no_redis']).toMatch(/^The Redis of REDIS_URL does not answer: .*ECONNREFUSED/);
    expect(JSON.stringify(nobody)).not.toContain('hidden');
    const { url, client } = await startPort();
    await client.config('SET', 'requirepass', 'secret');
    const refused = await examine({ REDIS_URL: url.replace('redis://', 'redis://:wrong@') });
    expect([refused.dangers, refused.texts['no_redis']]).toEqual([['no_redis'], expect.stringContaining('WRONGPASS')]);
    const bad = await examine({ REDIS_URL: 'http://127.0.0.1' });
    expect([bad.dangers, bad.facts['redis']]).toEqual([['bad_setting'], undefined]);
    const node = await startPort('--cluster-enabled', 'yes');
    expect((await examine({ REDIS_URL: node.url })).dangers).toEqual(['cluster_node']);
  });
});

describe('on the settings', () => {
  test('a sound production set-up has no danger and no warning', async () => {
    const { code, dangers, warnings, facts } = await examine({
      ...PRODUCTION,
      CATALOGUE_FILE: fileURLToPath(new URL('../../../src/features/catalogue/sample.json', import.meta.url)),
    });
    expect([code, dangers, warnings]).toEqual([0, [], []]);
    expect(facts['redis']).toContain('none yet');
  });

  test('all bad settings are reported, and the rest is still examined', async () => {
    const { code, texts, dangers, warnings } = await examine({ NODE_ENV: 'production', PORT: 'x', STORE: 'sandbox', RATE_LIMIT: 'off' });
    expect([code, dangers.filter((kind) => kind === 'bad_setting')]).toEqual([1, Array.from({ length: 3 }, () => 'bad_setting')]);
    expect(dangers).toEqual(expect.arrayContaining(['sandbox', 'no_limits']));
    expect(warnings).toContain('sample_catalogue');
    expect(texts['bad_setting']).toMatch(/^PUBLIC_URL must be set in production/);
  });

  test.each([
    [{ ALLOWED_ORIGINS: 'http://play.example,http://localhost:5173' }, 'warning', 'http_origin', 'http://play.example.'],
    [{ TRUSTED_PROXIES: '0.0.0.0/0' }, 'danger', 'everyone_is_trusted', '0.0.0.0/0'],
    [{ TRUSTED_PROXIES: '' }, 'warning', 'no_trusted_proxy', 'TRUSTED_PROXIES is empty'],
    [{ PUBLIC_URL: 'http://play.invalid' }, 'warning', 'http_public_url', 'http://play.invalid'],
    [{ NODE_ENV: 'development' }, 'warning', 'development', 'NODE_ENV=development'],
    [{ STORE: '' }, 'warning', 'store_unconfigured', 'sign-in (GOOGLE_CLIENT_IDS)'],
    [{ STORE: 'apple' }, 'warning', 'store_unconfigured', 'APPLE_BUNDLE_IDS, APPLE_ROOTS_FILE'],
    [{ STORE: 'google,apple' }, 'note', 'no_app_review', 'TEST_PURCHASES=off'],
    [{ STORE: 'google,apple', TEST_PURCHASES: 'on' }, 'warning', 'test_purchases', 'TEST_PURCHASES=on'],
    [{ PLAYGROUND: 'on' }, 'warning', 'playground', ''],
    [{ WEBHOOKS_PRIVATE: 'on' }, 'warning', 'private_webhooks', 'WEBHOOKS_PRIVATE=on'],
    [{ SESSION_VERIFY: 'on' }, 'note', 'open_verify', ''],
    [{ LEDGER_RETENTION_DAYS: '30' }, 'note', 'retention', '30 days'],
    [{ METRICS_HOST: '0.0.0.0' }, 'note', 'metrics_host', '0.0.0.0:9464'],
    [{ METRICS_PORT: '' }, 'warning', 'open_metrics', 'could not be checked from here'],
    [{ ADMIN_API: 'on' }, 'warning', 'open_admin', 'could not be checked from here'],
    [{ ADMIN_API: 'on', CONSOLE: 'on' }, 'warning', 'open_console', 'CONSOLE is on. Whether'],
    [{ REDIS_URL: 'redis://203.0.113.7' }, 'danger', 'no_tls', '203.0.113.7'],
    [{ REDIS_URL: 'redis://10.255.255.1' }, 'warning', 'no_password', '10.255.255.1'],
    [{ REDIS_URL: 'redis://redis.invalid' }, 'warning', 'no_tls', 'redis.invalid'],
    [{ REDIS_URL: 'redis://redis' }, 'note', 'no_tls', ''],
    [{ REDIS_URL: 'redis://172.32.0.1' }, 'danger', 'no_tls', '172.32.0.1'],
  ] as const)('%j is a %s: %s', async (settings, level, kind, text) => {
    const { config, problems } = readSettings({ ...PRODUCTION, ...(settings as Record<string, string>) }, settingProblems);
    const { findings } = await diagnosed((diagnosis) => {
      examineSettings(config, problems, diagnosis);
      return /metrics|admin|console/.test(kind) && examineService(config, 'http://127.0.0.1:1', diagnosis);
    });
    expect(findings).toContainEqual(expect.objectContaining({ level, kind, text: expect.stringContaining(text) as string }));
  });
});

describe('on a service', () => {
  test('its private Redis, its data and its state are facts, while it runs and after its end', async () => {
    const service = await launch({});
    const beside = await examine({ PORT: String(service.port) });
    expect([beside.code, beside.dangers]).toEqual([0, []]);
    expect(beside.facts['data']).toBe(`version ${DATA_VERSION}`);
    expect(beside.facts['service']).toBe(`http://127.0.0.1:${service.port}, ready, version ${version}`);
    expect(beside.facts['redis']).toMatch(/^(Redis|Valkey) \d+\.\S+, private, in /);
    await service.stop();
    const after = await examine({ PORT: String(service.port) });
    expect([after.code, after.facts['data']]).toEqual([0, `version ${DATA_VERSION}`]);
    expect(after.facts['service']).toMatch(/^none answers at /);
  });

  test('a named service that does not answer and a service that is not ready are dangers', async () => {
    const port = await freePort();
    expect((await examine({}, '--url', `http://127.0.0.1:${port}`)).dangers).toEqual(['no_service']);
    const service = await launch({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    const { dangers, texts } = await examine({}, '--url', service.url);
    expect([dangers, texts['not_ready']]).toEqual([['not_ready'], expect.stringContaining('Not ready: redis is away')]);
  });

  test('server keys that are missing or end soon, and a service with other settings, are warnings', async () => {
    const service = await launch({});
    const settings = { PORT: String(service.port), COIN_AUTHORITY: 'server' };
    const without = await examine(settings);
    expect([without.dangers, without.warnings]).toEqual([[], expect.arrayContaining(['no_coin_key', 'other_settings'])]);
    expect(without.texts['other_settings']).toContain('It says who can mint coins: client: every client can mint coins');
    await makeKey({ DATA_DIR: place.dataDir }, '--scopes', 'coins', '--expires', '3d');
    const withKey = await examine(settings);
    expect(withKey.facts['server keys']).toBe('1 valid, 1 with the scope coins, 0 with admin');
    expect(withKey.warnings).not.toContain('no_coin_key');
    expect(withKey.texts['key_expires']).toMatch(/^The server key [a-z0-9]{8} \(game server\) expires on \d{4}-\d\d-\d\d\.$/);
  });

  test('/metrics, /v1/admin and /console are warnings if PUBLIC_URL answers them, and facts otherwise', async () => {
    // The address 0.0.0.0 leads to this machine, but counts as an address of the internet.
    const port = await freePort();
    const url = `http://0.0.0.0:${port}`;
    const settings = { PORT: port, PUBLIC_URL: url, RATE_LIMIT: 'off', ADMIN_API: 'on' };
    const diagnose = ({ url: at }: Child) => diagnosed((diagnosis) => examineService(settingsOf(settings), at, diagnosis));
    const open = await launch(settings);
    const found = (await diagnose(open)).findings.map(({ level, kind, text }) => [level, kind, text]);
    expect(found).toEqual([
      ['warning', 'open_metrics', `Everybody can read the metrics at ${url}/metrics: it answered.`],
      ['warning', 'open_admin', `Everybody can call the operator's paths at /v1/admin with a key: ${url}/v1/admin/log answered.`],
      ['warning', 'open_console', `Everybody can open the console at /console and sign in with a key: ${url}/console answered.`],
    ]);
    await open.stop();
    // A service without the paths gives the same answer as a proxy that refuses them.
    const closed = await launch({ ...settings, ADMIN_API: 'off', METRICS_PORT: '0', CONSOLE: 'off' });
    const { findings, facts } = await diagnose(closed);
    expect(findings.map(({ kind }) => kind).filter((kind) => kind.startsWith('open_'))).toEqual([]);
    for (const [name, path] of [
      ['/metrics', '/metrics'],
      ['/v1/admin', '/v1/admin/log'],
      ['/console', '/console'],
    ])
      expect(facts).toContainEqual({ name, value: `${url}${path} answers 404: closed to the world` });
  });

  test('keys that can mint coins, and never expire or were never used, are notes', async () => {
    const service = await launch({});
    const DATA_DIR = place.dataDir;
    const make = async (scopes: string, ...flags: string[]) => (await makeKey({ DATA_DIR }, '--scopes', scopes, ...flags)).id;
    const [coins, desk, ended] = [await make('coins'), await make('admin'), await make('coins', '--expires', '90d')];
    await make('rooms');
    const client = new Redis({ path: join(DATA_DIR, 'redis.sock') });
    const [madeAt, day] = [Date.now() - 91 * 86_400_000, new Date(Date.now() - 91 * 86_400_000).toISOString().slice(0, 10)];
    const record = JSON.parse((await client.hget('{server-keys}', ended))!) as object;
    await client.hset('{server-keys}', ended, JSON.stringify({ ...record, createdAt: madeAt }));
    await client.hset('{server-keys}:used', coins, madeAt);
    const expected = [
      `The server key ${coins} (game server) can mint coins, and never expires.`,
      `The server key ${coins} (game server) can mint coins, and nobody has used it since ${day}.`,
      `The server key ${ended} (game server) can mint coins, and nobody has used it since it was made on ${day}.`,
    ];
    const operated = [...expected, `The server key ${desk} (game server) can mint coins, and never expires.`];
    const counts = '4 valid, 2 with the scope coins, 1 with admin';
    for (const [settings, texts, fact] of [
      [{}, expected, `${counts}, which opens nothing (ADMIN_API=off)`],
      [{ ADMIN_API: 'on' }, operated, counts],
    ] as const) {
      const { findings, facts } = await examine({ PORT: String(service.port), ...settings });
      const ofKeys = findings.filter(({ kind }) => kind.endsWith('_key')).map(({ text }) => text);
      expect([ofKeys.toSorted(), facts['server keys']]).toEqual([texts.toSorted(), fact]);
    }
    // In production the doctor reports paths that no operator uses.
    const idle = async (settings: Record<string, string>): Promise<string[]> => {
      const config = settingsOf({ ...PRODUCTION, ADMIN_API: 'on', ...settings });
      const { findings } = await diagnosed((diagnosis) => examineKeys(client, config, diagnosis));
      return findings.filter(({ kind }) => kind === 'idle_operators').map(({ text }) => text);
    };
    expect(await idle({})).toEqual([]);
    await client.hset('{server-keys}:used', desk, madeAt);
    expect(await idle({})).toEqual([
      "The paths of operators are open in production (ADMIN_API=on), and no operator's key was used for 90 days.",
    ]);
    await client.hdel('{server-keys}', desk);
    expect(await idle({ CONSOLE: 'on' })).toEqual([
      'The paths of operators are open in production (ADMIN_API=on, CONSOLE=on), and there is no key for them.',
    ]);
    client.disconnect();
  });

  test('files with secrets that everybody may read are warnings, and those that everybody may change are dangers', () => {
    const file = join(place.folder, "the key's file");
    writeFileSync(file, 'x');
    const found = (setting: string, mode: number): string[] => {
      chmodSync(file, mode);
      const diagnosis = new Diagnosis();
      examineSecretFiles({ [setting]: file, CATALOGUE_FILE: file }, diagnosis);
      for (const { text, mend } of diagnosis.findings) {
        expect(text).toContain(`${setting}, ${file} (mode ${mode.toString(8)})`);
        paste(mend);
      }
      return diagnosis.findings.map(({ level, kind }) => `${level} ${kind}`);
    };
    for (const setting of ['SESSION_KEYS_FILE', 'REDIS_URL_FILE', 'OPERATOR_KEY_FILE', 'GOOGLE_SERVICE_ACCOUNT_FILE']) {
      expect([found(setting, 0o644), found(setting, 0o666)]).toEqual([['warning open_secret'], ['danger writable_secret']]);
      expect([found(setting, 0o640), found(setting, 0o600)]).toEqual([[], []]);
    }
  });

  test('while a service refuses its data, the remedy is to bring it back or to accept it', async () => {
    const own = await startRedis();
    await using service = await start({ redis: own.location });
    await own.redis.flushall();
    await expect.poll(async () => (await service.get('/ready')).status).toBe(503);
    const { findings } = await diagnosed((diagnosis) => examineService(settingsOf({ NODE_ENV: 'test' }), service.url, diagnosis));
    const found = findings.find(({ kind }) => kind === 'not_ready');
    expect(found).toMatchObject({ level: 'danger', mend: expect.stringContaining('npm run admin -- data accept') });
    await own[Symbol.asyncDispose]();
  });

  test('open files of DATA_DIR are dangers', async () => {
    await (await launch({})).stop();
    const dataDir = place.dataDir;
    chmodSync(dataDir, 0o777);
    chmodSync(join(dataDir, 'session-keys'), 0o644);
    chmodSync(join(dataDir, 'redis'), 0o755);
    const { dangers, warnings, mends } = await examine({});
    expect([dangers, warnings]).toEqual([['open_data_dir', 'open_session_keys'], expect.arrayContaining(['open_redis_data'])]);
    for (const kind of [...dangers, 'open_redis_data']) paste(mends[kind]!);
    mkdirSync(join(dataDir, 'redis.before-x'));
    writeFileSync(join(dataDir, 'session-keys.before-x'), '');
    const mended = await examine({});
    expect([mended.dangers, mended.warnings.filter((kind) => kind.startsWith('open_'))]).toEqual([[], []]);
    paste(mended.mends['old_data']!);
    expect(readdirSync(dataDir).toSorted()).toEqual(expect.arrayContaining(['data-id', 'redis', 'session-keys']));
    expect(readdirSync(dataDir).filter((name) => name.includes('.before-'))).toEqual([]);
  });
});

test.each([[['--urll', 'x']], [['--url', 'ftp://x']], [['everything']]])('%j is refused with one sentence', async (flags) => {
  const { code, out, error } = await runCommand('doctor.ts', flags, {});
  expect([code, out]).toEqual([2, '']);
  expect(error).toMatch(/^coinop doctor: [A-Z].*\.\n$/);
});

test('the report as text has the worst findings first, and no control characters from other sources', () => {
  const diagnosis = new Diagnosis();
  diagnosis.fact('redis', 'Redis 7.0.15');
  const words = { cost: 'Much.', mend: 'mend it' };
  diagnosis.find('note', 'small', { text: 'A note.', ...words });
  diagnosis.find('danger', 'large', { text: 'Red \u001b[31m.', ...words }, '10.0.0.1:6379');
  diagnosis.find('danger', 'large', { text: 'Red \u001b[31m.', ...words }, '10.0.0.2:6379');
  expect(textOf(diagnosis)).toBe(
    'redis  Redis 7.0.15\n\n' +
      'danger   Red ?[31m. On 10.0.0.1:6379, 10.0.0.2:6379. (large)\n         Cost: Much.\n         Mend: mend it\n\n' +
      'note     A note. (small)\n         Cost: Much.\n         Mend: mend it\n\n' +
      '1 danger, no warnings, 1 note.\n',
  );
});

describe('the growth of a day', () => {
  const DAY = 86_400_000;
  const now = 100 * DAY;
  /** A ledger whose entries are so many hours apart, the oldest so many hours ago. */
  const ledger = (count: number, firstHoursAgo: number, hoursApart: number, entries = count) => ({
    entries,
    times: Array.from({ length: count }, (_, index) => now - (firstHoursAgo - index * hoursApart) * 3_600_000),
  });
  /** 100 entries, of which 10 are from today. */
  const steady = { entries: 100, times: [...ledger(90, 1000, 1).times, ...ledger(10, 20, 1).times] };

  test.each([
    ['the part of entries of the last 24 hours', [steady, steady, steady], 0.1],
    // 39 of 40 entries are younger than the oldest; in 24 such hours there are 24 times as many.
    ['projected to a day if the data is an hour old', [ledger(40, 1, 1 / 40)], (39 / 40) * 24],
    // 200 entries in two hours: 2,400 a day, of 10,001.
    [
      'computed from the rate of a ledger of which not all entries of today were read',
      [ledger(200, 2, 1 / 100, 10_000), ledger(1, 2000, 1)],
      0.24,
    ],
    ['not reported for data that is younger than an hour', [ledger(100, 0.9, 1 / 200)], undefined],
    ['not reported for few entries', [ledger(29, 29, 1)], undefined],
    ['not reported without data', [], undefined],
  ])('is %s', (_, ledgers, part) => {
    const growth = growthOf(ledgers, now);
    if (part === undefined) expect(growth).toBeUndefined();
    else expect(growth?.partADay).toBeCloseTo(part);
  });
});
