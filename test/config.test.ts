import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allowsLoopbackOrigins, parseSessionKeys, readConfig, SettingError, type Config, type SettingsCheck } from '../src/config.ts';

const KEY = 'A'.repeat(43);
/** Public keys on two curves (SPKI, DER, base64). */
const P256_KEY =
  'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEFcmaH8M+tDQo0TS5MIX/kbEPjZhTInu9OykeQOWYnGpEYXEcPu1DTI/6UDlFQNyFShv8vRcbNIhAJ2JqJznw5g==';
const P384_KEY =
  'MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEF75pO5KP65AUa2b/Nu02rYL5V7xUwtqSI3BZAfzFqcEGylR/0hVaccc9C6+3eByjrXOFcHH4NPzGYk/pQYUh83e0JafVtMn3SctYuc5CGUZYJJox0+kh3I0c60+sPLbb';
const OTHER_KEY = `${'B'.repeat(42)}E`;

/** Every setting: its default, accepted values with their parsed form, and refused values. */
const settings: Record<string, { unset: unknown; good: [text: string, value: unknown][]; bad: string[] }> = {
  NODE_ENV: {
    unset: 'development',
    good: [
      ['development', 'development'],
      ['test', 'test'],
    ],
    bad: ['prod', 'Production', 'staging'],
  },
  PORT: {
    unset: 3000,
    good: [
      ['0', 0],
      ['1', 1],
      ['65535', 65_535],
      ['08080', 8080],
    ],
    bad: ['65536', '-1', '80.5', '1e3', '0x50', ' 80', '80 ', '80\n', 'http', '٣', '9'.repeat(40)],
  },
  HOST: {
    unset: '127.0.0.1',
    good: [
      ['0.0.0.0', '0.0.0.0'],
      ['::', '::'],
      ['::1', '::1'],
      ['fe80::1%eth0', 'fe80::1%eth0'],
      ['my-host.example', 'my-host.example'],
    ],
    bad: [' ', 'my host', 'http://0.0.0.0', '127.0.0.1/8', 'a,b'],
  },
  PUBLIC_URL: {
    unset: undefined,
    good: [
      ['https://play.example', 'https://play.example'],
      ['https://play.example/', 'https://play.example'],
      ['http://localhost:3000', 'http://localhost:3000'],
      ['https://play.example/coinop//', 'https://play.example/coinop'],
    ],
    bad: [
      'play.example',
      '//play.example',
      'https://',
      'https:///path',
      'ftp://play.example',
      'https://play.example?a=b',
      'https://play.example/?',
      'https://play.example/#top',
      'https://user:password@play.example',
      'https://play.example:99999',
      'https://play example',
    ],
  },
  REDIS_URL: {
    unset: undefined,
    good: [
      'redis://',
      'redis://localhost',
      'redis://127.0.0.1:6379',
      'redis://127.0.0.1:6379/3',
      'rediss://user:p%40ss@redis.example:6380/0',
      'redis://:password@[::1]:6379',
      'redis-cluster://127.0.0.1:7001,127.0.0.1:7002',
      'redis-cluster://redis.example',
      'rediss-cluster://user:p%40ss@[::1]:7001,redis-2.example:7002',
    ].map((url) => [url, url]),
    bad: [
      'localhost:6379',
      '127.0.0.1',
      'http://localhost:6379',
      'redis:/localhost',
      'redis://localhost:port',
      'redis://localhost:99999',
      'redis://localhost/first',
      'redis://localhost/1/2',
      'redis://:%zz@localhost',
      ' redis://localhost',
      'redis-cluster://',
      'redis-cluster://localhost:7001/0',
      'redis-cluster://localhost:7001,',
      'redis-cluster://localhost:7001 localhost:7002',
      'redis-cluster://localhost:port',
      'redis-cluster://localhost:99999',
      'redis-cluster://:%zz@localhost:7001',
      'redis://localhost:6379?keyPrefix=game:',
      'redis://localhost:6379/0?db=1',
      'redis://localhost:6379/0#1',
      'redis-cluster://localhost:7001?family=6',
    ],
  },
  REDIS_WAIT_REPLICAS: {
    unset: 0,
    good: [
      ['0', 0],
      ['5', 5],
    ],
    bad: ['6', '-1', '0.5', 'all'],
  },
  DATA_DIR: {
    unset: resolve('data'),
    good: [
      ['/var/lib/coinop', '/var/lib/coinop'],
      ['here/data', resolve('here/data')],
      ['../data', resolve('../data')],
    ],
    bad: [],
  },
  ACCEPT_DATA: {
    unset: undefined,
    good: [['AbCdEfGhIjKlMnOpQr_-09', 'AbCdEfGhIjKlMnOpQr_-09']],
    bad: ['yes', 'AbCdEfGhIjKlMnOpQr_-0', 'AbCdEfGhIjKlMnOpQr_-09x', 'AbCdEfGhIjKlMnOpQr_-0='],
  },
  METRICS_PORT: {
    unset: undefined,
    good: [
      ['0', 0],
      ['9464', 9464],
      ['65535', 65_535],
    ],
    bad: ['-1', '65536', 'http', '94.6'],
  },
  METRICS_HOST: {
    unset: '127.0.0.1',
    good: [
      ['0.0.0.0', '0.0.0.0'],
      ['::', '::'],
      ['metrics.internal', 'metrics.internal'],
    ],
    bad: ['a b', 'http://x', '0.0.0.0/0', ','],
  },
  AUDIT_EVERY_HOURS: {
    unset: 0,
    good: [
      ['0', 0],
      ['24', 24],
      ['8760', 8760],
    ],
    bad: ['8761', '0.5', '24h'],
  },
  WORKERS: {
    unset: 1,
    good: [
      ['1', 1],
      ['64', 64],
    ],
    bad: ['0', '65', '-1', '1.5', 'auto'],
  },
  SESSION_KEYS: {
    unset: undefined,
    good: [
      [`k:${KEY}`, [{ kid: 'k', secret: Buffer.alloc(32) }]],
      [
        ` new-1:${OTHER_KEY} , old.0_:${KEY} ,`,
        [
          { kid: 'new-1', secret: Buffer.from(OTHER_KEY, 'base64url') },
          { kid: 'old.0_', secret: Buffer.alloc(32) },
        ],
      ],
      [`k:${'A'.repeat(86)}`, [{ kid: 'k', secret: Buffer.alloc(64) }]],
    ],
    bad: [
      ' ',
      ',',
      KEY,
      `:${KEY}`,
      `k:${'A'.repeat(42)}`,
      `k:${KEY}=`,
      `k:${KEY.slice(1)}+`,
      `k:${KEY.slice(1)}/`,
      `a b:${KEY}`,
      `${'k'.repeat(33)}:${KEY}`,
      `k:${KEY},k:${OTHER_KEY}`,
      `k:${KEY};j:${OTHER_KEY}`,
      `k:${KEY},j:short`,
    ],
  },
  ALLOWED_ORIGINS: {
    unset: [],
    good: [
      ['https://play.example', ['https://play.example']],
      [' https://play.example ,http://localhost:8080,', ['https://play.example', 'http://localhost:8080']],
      [',', []],
    ],
    bad: [
      '*',
      'null',
      'play.example',
      'https://play.example/',
      'https://play.example/path',
      'https://Play.example',
      'https://play.example:443',
      'https://*.example',
      'https://play.example https://games.example',
      'https://play.example,x',
    ],
  },
  TRUSTED_PROXIES: {
    unset: [],
    good: [
      ['10.0.0.0/8', ['10.0.0.0/8']],
      ['127.0.0.1, ::1 ,fd00::/8', ['127.0.0.1', '::1', 'fd00::/8']],
      ['0.0.0.0/0', ['0.0.0.0/0']],
      ['::1/128', ['::1/128']],
    ],
    bad: [
      'proxy',
      '10.0.0',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '10.0.0.256',
      '::1/129',
      '10.0.0.0-10.0.0.9',
      '127.0.0.1 10.0.0.1',
      '/8',
      'true',
    ],
  },
  COOKIE_SAME_SITE: {
    unset: 'lax',
    good: [
      ['lax', 'lax'],
      ['none', 'none'],
    ],
    bad: ['None', 'strict', 'off'],
  },
  SESSION_VERIFY: {
    unset: 'off',
    good: [
      ['on', 'on'],
      ['off', 'off'],
    ],
    bad: ['ON', 'true', '1', 'yes'],
  },
  RATE_LIMIT: {
    unset: 'on',
    good: [
      ['on', 'on'],
      ['off', 'off'],
    ],
    bad: ['ON', 'true', '0', 'no'],
  },
  RATE_LIMIT_PER_SECOND: {
    unset: 50,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', '0.5', '-5'],
  },
  RATE_LIMIT_BURST: {
    unset: 200,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', '0.5', '-5'],
  },
  RATE_LIMIT_CREATIONS_PER_MINUTE: {
    unset: 60,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', '0.5', '-5'],
  },
  RATE_LIMIT_MISSES_PER_MINUTE: {
    unset: 30,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', '0.5', '-5'],
  },
  RATE_LIMIT_ACTS_PER_SECOND: {
    unset: 300,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', '0.5', '-5'],
  },
  RATE_LIMIT_SERVER_KEY_PER_SECOND: {
    unset: 1000,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', '0.5', '-5'],
  },
  RATE_LIMIT_UNCOUNTED_PER_SECOND: {
    unset: 1000,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', '0.5', '-5'],
  },
  ADMIN_API: {
    unset: 'off',
    good: [
      ['on', 'on'],
      ['off', 'off'],
    ],
    bad: ['true', 'ON', '1'],
  },
  CONSOLE: {
    unset: undefined,
    good: [['off', 'off']],
    bad: ['true', 'ON', '1'],
  },
  SUPPORT_ADJUST_COINS: {
    unset: 1000,
    good: [
      ['0', 0],
      ['1000000000000', 1e12],
    ],
    bad: ['-1', '1000000000001', '1e3'],
  },
  SUPPORT_DAILY_COINS: {
    unset: 10_000,
    good: [
      ['0', 0],
      ['1000000000000', 1e12],
    ],
    bad: ['-1', '1000000000001', '1e3'],
  },
  OPERATOR_KEY: {
    unset: undefined,
    good: [[`coinop_sk_abcdefgh_${'x'.repeat(32)}`, `coinop_sk_abcdefgh_${'x'.repeat(32)}`]],
    bad: ['key', 'coinop_sk_abcdefgh_x'],
  },
  MAX_IN_FLIGHT: {
    unset: 2000,
    good: [
      ['1', 1],
      ['100000', 100_000],
    ],
    bad: ['0', '100001', 'many'],
  },
  LOG_REQUESTS: {
    unset: 'off',
    good: ['off', 'refused', 'all'].map((which) => [which, which]),
    bad: ['on', 'OFF', 'slow'],
  },
  LOG_LEVEL: {
    unset: 'info',
    good: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) => [level, level]),
    bad: ['INFO', 'verbose', '30'],
  },
  SLOW_REQUEST_MS: {
    unset: 250,
    good: [
      ['0', 0],
      ['1', 1],
      ['3600000', 3_600_000],
    ],
    bad: ['-1', '0.5', '3600001', '250ms', 'off'],
  },
  BOARDS: {
    unset: 'open',
    good: [
      ['open', 'open'],
      ['catalogue', 'catalogue'],
    ],
    bad: ['closed', 'Open'],
  },
  CATALOGUE_FILE: { unset: undefined, good: [['/etc/coinop/catalogue.json', '/etc/coinop/catalogue.json']], bad: [] },
  COIN_AUTHORITY: {
    unset: 'client',
    good: [
      ['client', 'client'],
      ['server', 'server'],
    ],
    bad: ['Server', 'on', 'both'],
  },
  CREDIT_DAILY_CAP: {
    unset: 0,
    good: [
      ['0', 0],
      ['1', 1],
      ['1000000000000', 1e12],
    ],
    bad: ['1000000000001', '-1', '1e6', '10.5', 'off'],
  },
  LEDGER_ENTRIES_PER_DAY: {
    unset: 100_000,
    good: [
      ['0', 0],
      ['1', 1],
      ['1000000000', 1e9],
    ],
    bad: ['1000000001', '-1', '1e6', '10.5', 'off'],
  },
  LEDGER_RETENTION_DAYS: {
    unset: 0,
    good: [
      ['0', 0],
      ['400', 400],
      ['36500', 36_500],
    ],
    bad: ['36501', '-1', '1.5', '30d'],
  },
  REFUNDS: {
    unset: 'debt',
    good: [
      ['debt', 'debt'],
      ['floor', 'floor'],
    ],
    bad: ['Debt', 'off', '0'],
  },
  EVENTS: {
    unset: 'off',
    good: [
      ['on', 'on'],
      ['off', 'off'],
    ],
    bad: ['On', '1', 'true'],
  },
  WEBHOOKS_PRIVATE: {
    unset: 'off',
    good: [
      ['on', 'on'],
      ['off', 'off'],
    ],
    bad: ['On', '1', 'true'],
  },
  EVENTS_DAYS: {
    unset: 7,
    good: [
      ['1', 1],
      ['365', 365],
    ],
    bad: ['0', '366', '1.5', '7d'],
  },
  ROOM_TTL_SECONDS: {
    unset: 7200,
    good: [
      ['10', 10],
      ['604800', 604_800],
    ],
    bad: ['9', '604801', '2h'],
  },
  HOST_GRACE_SECONDS: {
    unset: 30,
    good: [
      ['1', 1],
      ['3600', 3600],
    ],
    bad: ['0', '3601', '30s'],
  },
  SOCKETS_PER_ADDRESS: {
    unset: 200,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', '-1'],
  },
  CONNECTIONS_PER_ADDRESS: {
    unset: 400,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', 'many'],
  },
  BODIES_PER_ADDRESS: {
    unset: 32,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', '1e3'],
  },
  WATCHERS_PER_ROOM: {
    unset: 10_000,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', 'all'],
  },
  ROOM_BYTES_PER_SECOND: {
    unset: 8_192_000,
    good: [
      ['65536', 65_536],
      ['1000000000000', 1e12],
    ],
    bad: ['65535', '8MB', '0'],
  },
  TEST_PURCHASES: {
    unset: 'off',
    good: [
      ['on', 'on'],
      ['off', 'off'],
    ],
    bad: ['yes', 'ON'],
  },
  SANDBOX_CHAOS: {
    unset: undefined,
    good: [
      ['off', undefined],
      ['0', 0],
      ['4294967295', 4_294_967_295],
    ],
    bad: ['on', '-1', '1.5', '4294967296'],
  },
  SUBSCRIPTION_REPORTS: {
    unset: 'accept',
    good: [
      ['accept', 'accept'],
      ['ignore', 'ignore'],
    ],
    bad: ['reject', 'off', 'Accept'],
  },
  TRIAL_DAYS: {
    unset: 7,
    good: [
      ['1', 1],
      ['3650', 3650],
    ],
    bad: ['0', '3651', '7.5', 'week'],
  },
  STORE: {
    unset: 'sandbox',
    good: [
      ['google', 'google'],
      ['sandbox', 'sandbox'],
      ['off', 'off'],
    ],
    bad: ['apple', 'Google', 'on'],
  },
  GOOGLE_CLIENT_IDS: {
    unset: [],
    good: [
      ['1-a.apps.googleusercontent.com', ['1-a.apps.googleusercontent.com']],
      [
        '1-a.apps.googleusercontent.com, 2-b.apps.googleusercontent.com',
        ['1-a.apps.googleusercontent.com', '2-b.apps.googleusercontent.com'],
      ],
    ],
    bad: ['1-a', 'apps.googleusercontent.com', '1-a.apps.googleusercontent.com.example', '1 a.apps.googleusercontent.com', '*'],
  },
  GOOGLE_PACKAGE_NAMES: {
    unset: [],
    good: [
      ['com.example.game', ['com.example.game']],
      ['com.example.game,org.a_b.C1', ['com.example.game', 'org.a_b.C1']],
    ],
    bad: ['game', 'com.example.', '.com.example', 'com..example', 'com.1st.game', 'com.example/game', 'com.example.game com.example.other'],
  },
  APP_LINK: {
    unset: undefined,
    good: [
      ['https://play.example/open?pair={token}', 'https://play.example/open?pair={token}'],
      ['mygame://pair/{token}', 'mygame://pair/{token}'],
      ['com.example.game://pair?t={token}#x', 'com.example.game://pair?t={token}#x'],
    ],
    bad: [
      'https://play.example/open',
      'http://play.example/{token}',
      'javascript://x/%0aalert(1)//{token}',
      'JavaScript://x/{token}',
      'data://x/{token}',
      'vbscript://x/{token}',
      'file:///etc/{token}',
      'view-source://x/{token}',
      'ws://play.example/{token}',
      '/open?pair={token}',
      '//play.example/{token}',
      'mygame:{token}',
      'https://play.example/ {token}',
      'https://play.example/\n{token}',
      'https://{token}',
    ],
  },
  PLAYGROUND: {
    unset: 'on',
    good: [
      ['on', 'on'],
      ['off', 'off'],
    ],
    bad: ['yes', 'ON'],
  },
  GOOGLE_SERVICE_ACCOUNT_FILE: { unset: undefined, good: [['./key.json', './key.json']], bad: [] },
  GOOGLE_NOTIFICATIONS_AUDIENCE: { unset: undefined, good: [['https://play.example/push', 'https://play.example/push']], bad: [] },
  GOOGLE_NOTIFICATIONS_EMAIL: {
    unset: undefined,
    good: [['push@project.iam.gserviceaccount.com', 'push@project.iam.gserviceaccount.com']],
    bad: ['push', '@project', 'push@'],
  },
  PLAY_INTEGRITY_DECRYPTION_KEY: {
    unset: undefined,
    good: [[Buffer.alloc(32, 9).toString('base64'), Buffer.alloc(32, 9)]],
    bad: [Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64'), 'key', '-_-_', Buffer.alloc(32).toString('hex')],
  },
  PLAY_INTEGRITY_VERIFICATION_KEY: {
    unset: undefined,
    good: [[P256_KEY, Buffer.from(P256_KEY, 'base64')]],
    bad: [P384_KEY, P256_KEY.slice(4), 'key', Buffer.alloc(91).toString('base64')],
  },
  REQUIRE_INSTALL_PROOF: {
    unset: [],
    good: [
      ['credit', ['credit']],
      ['credit, highscores', ['credit', 'highscores']],
    ],
    bad: ['debit', 'all', 'credit;highscores'],
  },
};

const cases = (kind: 'good' | 'bad') =>
  Object.entries(settings).flatMap(([name, setting]) =>
    setting[kind].map((text) => (Array.isArray(text) ? { name, text: text[0], value: text[1] } : { name, text, value: undefined })),
  );

describe('readConfig', () => {
  test('has a default for every setting', () => {
    const config: Record<string, unknown> = { ...readConfig({}) };
    for (const [name, { unset }] of Object.entries(settings)) expect([name, config[name]]).toEqual([name, unset]);
    expect(config['production']).toBe(false);
    // The table above must hold every setting.
    expect(Object.keys(config).filter((name) => name !== 'production' && !(name in settings))).toEqual([]);
  });

  test.each(Object.keys(settings))('%s set to an empty text counts as not set', (name) => {
    expect(readConfig({ [name]: '' })).toEqual(readConfig({}));
    expect(readConfig({ [name]: undefined })).toEqual(readConfig({}));
  });

  test.each(cases('good'))('$name=$text is accepted and changes no other setting', ({ name, text, value }) => {
    const config: Record<string, unknown> = { ...readConfig({ [name]: text }) };
    expect(config[name]).toEqual(value);
    // Three defaults follow other settings: BOARDS, CONNECTIONS_PER_ADDRESS and ROOM_BYTES_PER_SECOND.
    const following: Record<string, object> = {
      CATALOGUE_FILE: { BOARDS: 'catalogue' },
      'SOCKETS_PER_ADDRESS=1': { ROOM_BYTES_PER_SECOND: 65_536 },
      'SOCKETS_PER_ADDRESS=1000000': { CONNECTIONS_PER_ADDRESS: 2_000_000, ROOM_BYTES_PER_SECOND: 40_960_000_000 },
    };
    const others = { ...readConfig({}), ...following[name], ...following[`${name}=${text}`] };
    expect({ ...config, [name]: undefined }).toEqual({ ...others, [name]: undefined });
  });

  test.each(cases('bad'))('$name=$text is refused, and the message names the setting', ({ name, text }) => {
    const error = refusal({ [name]: text });
    expect(error).toBeInstanceOf(SettingError);
    expect(error.message).toMatch(new RegExp(`^${name} (must|Invalid option: expected one of) `));
  });

  test('the message shows no secret of a bad value', () => {
    expect(refusal({ SESSION_KEYS: `k:${OTHER_KEY}=` }).message).not.toContain(OTHER_KEY.slice(0, 8));
    expect(refusal({ REDIS_URL: 'redis://:hunter2@localhost:port' }).message).not.toContain('hunter2');
    for (const secret of ['hun/ter2', 'hun#ter2', 'hun?ter2', 'hun%ter2', '12/3ter2', '12#3ter2', '%E4ter2'])
      for (const url of [`redis://app:${secret}@host:6379/0`, `rediss-cluster://app:${secret}@host:7001,host:7002`]) {
        const { message } = refusal({ REDIS_URL: url });
        expect(message).toMatch(/^REDIS_URL must have its user and its password percent-encoded: \/ as %2F/);
        expect(message).not.toContain('ter2');
      }
    expect(refusal({ REDIS_URL: 'redis://:hunter2@host/0?keyPrefix=game:&password=hunter2' }).message).toMatch(
      /^REDIS_URL must have nothing behind a \?: coinop supports no options there \(keyPrefix, password\)\. (?!.*hunter2)/,
    );
    expect(readConfig({ REDIS_URL: 'redis://app:hun%2Fter%23%3F%25%40@host:6379/1' }).REDIS_URL).toContain('hun%2F');
    expect(refusal({ PUBLIC_URL: 'https://user:hunter2@play.example' }).message).not.toContain('hunter2');
  });

  test('the message names every bad setting on a line of its own', () => {
    expect(refusal({ WORKERS: 'x', PORT: 'y', ALLOWED_ORIGINS: 'a,b', TRIAL_DAYS: '0', HOST: '::1' }).message.split('\n')).toEqual([
      'PORT must be a whole number',
      'WORKERS must be a whole number',
      'ALLOWED_ORIGINS must be origins such as https://play.example, without wildcards',
      'TRIAL_DAYS must be at least 1',
    ]);
  });

  test('the message also names settings that production lacks and problems that other checks find', () => {
    const found = (config: Config): string[] => [
      `TRIAL_DAYS is ${config.TRIAL_DAYS}`,
      `HOST_GRACE_SECONDS is ${config.HOST_GRACE_SECONDS}`,
    ];
    expect(refusal({ NODE_ENV: 'production', PORT: 'y', HOST_GRACE_SECONDS: 'z' }, found).message.split('\n')).toEqual([
      'PORT must be a whole number',
      'HOST_GRACE_SECONDS must be a whole number',
      expect.stringMatching(/^SESSION_KEYS must be set in production/),
      expect.stringMatching(/^PUBLIC_URL must be set in production/),
      'TRIAL_DAYS is 7',
      // No line "HOST_GRACE_SECONDS is …": checks skip malformed settings.
    ]);
    expect(readConfig({ TRIAL_DAYS: '5' }, () => []).TRIAL_DAYS).toBe(5);
  });

  test('the message names the setting, not the index in its list', () => {
    expect(refusal({ ALLOWED_ORIGINS: 'https://play.example,x' }).message).toBe(
      'ALLOWED_ORIGINS must be origins such as https://play.example, without wildcards',
    );
  });

  test('unknown environment variables are ignored', () => {
    expect(readConfig({ PATH: '/bin', port: '1', COINOP_PORT: '2', ['__proto__']: 'x' })).toEqual(readConfig({}));
  });
});

test('BOARDS defaults to catalogue when CATALOGUE_FILE is set', () => {
  expect(readConfig({ CATALOGUE_FILE: 'games.json' }).BOARDS).toBe('catalogue');
  expect(readConfig({ CATALOGUE_FILE: 'games.json', BOARDS: 'open' }).BOARDS).toBe('open');
});

describe('pages of this machine may call', () => {
  test.each(['127.0.0.1', '127.1.2.3', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost'])('with HOST=%s', (HOST) => {
    expect(allowsLoopbackOrigins(readConfig({ HOST }))).toBe(true);
    const production = { NODE_ENV: 'production', SESSION_KEYS: `k:${KEY}`, PUBLIC_URL: 'https://play.example' };
    expect(allowsLoopbackOrigins(readConfig({ HOST, ...production }))).toBe(false);
  });

  test.each(['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', '::ffff:10.0.0.1', 'fe80::1%lo', 'localhost.example', 'my-localhost'])(
    'but not with HOST=%s',
    (HOST) => {
      expect(allowsLoopbackOrigins(readConfig({ HOST }))).toBe(false);
    },
  );
});

describe('production', () => {
  const production = { NODE_ENV: 'production', SESSION_KEYS: `k:${KEY}`, PUBLIC_URL: 'https://play.example' };

  test.each(['SESSION_KEYS', 'PUBLIC_URL'])('requires %s', (name) => {
    for (const unset of [undefined, '']) {
      const error = refusal({ ...production, [name]: unset });
      expect(error).toBeInstanceOf(SettingError);
      expect(error.message).toMatch(new RegExp(`^${name} must be set in production[^\n]*$`));
    }
    expect(readConfig(production)).toMatchObject({ production: true, NODE_ENV: 'production' });
    expect(readConfig({ ...production, NODE_ENV: 'test', [name]: '' }).production).toBe(false);
  });

  test('STORE defaults to google, and the sandbox must be named', () => {
    expect(readConfig(production).STORE).toBe('google');
    expect(readConfig({ ...production, STORE: 'sandbox' }).STORE).toBe('sandbox');
    expect(readConfig({ NODE_ENV: 'test' }).STORE).toBe('sandbox');
  });

  test.each(['development', 'test'])('is false with NODE_ENV=%s', (environment) => {
    expect(readConfig({ NODE_ENV: environment }).production).toBe(false);
  });
});

describe('secrets from files', () => {
  let folder: string;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'coinop-config-'))));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  test('are read without blanks around them, and checked as the settings are', () => {
    const keys = file('keys', `k1:${KEY}\n`);
    expect(readConfig({ SESSION_KEYS_FILE: keys }).SESSION_KEYS).toEqual([{ kid: 'k1', secret: Buffer.alloc(32) }]);
    expect(readConfig({ REDIS_URL_FILE: file('url', ' redis://h:1\n') }).REDIS_URL).toBe('redis://h:1');
    expect(refusal({ SESSION_KEYS_FILE: file('short', 'k1:abc') }).message).toMatch(/^SESSION_KEYS must be kid:base64url/);
    expect(readConfig({ NODE_ENV: 'production', PUBLIC_URL: 'https://a.example', SESSION_KEYS_FILE: keys }).SESSION_KEYS).toHaveLength(1);
    expect(readConfig({ SESSION_KEYS_FILE: '' }).SESSION_KEYS).toBeUndefined();
  });

  test('stop the start with one line where the file is missing, empty, or beside the setting', () => {
    expect(refusal({ SESSION_KEYS_FILE: join(folder, 'none') }).message).toBe(
      `SESSION_KEYS_FILE must be a file that this user can read: ${join(folder, 'none')} (ENOENT)`,
    );
    expect(refusal({ REDIS_URL_FILE: file('empty', '\n') }).message).toMatch(/^REDIS_URL_FILE names an empty file/);
    expect(refusal({ SESSION_KEYS: `k1:${KEY}`, SESSION_KEYS_FILE: file('more', `k2:${KEY}`) }).message).toBe(
      'SESSION_KEYS and SESSION_KEYS_FILE must not both be set',
    );
    const missing = refusal({ NODE_ENV: 'production', PUBLIC_URL: 'https://a.example', SESSION_KEYS_FILE: join(folder, 'none') });
    expect(missing.message.split('\n')).toHaveLength(1);
  });
});

test('parseSessionKeys reads kid and secret and refuses malformed text', () => {
  expect(parseSessionKeys(`dev:${KEY}`)).toEqual([{ kid: 'dev', secret: Buffer.alloc(32) }]);
  for (const text of ['', 'dev:', 'dev', KEY]) expect(() => parseSessionKeys(text)).toThrow();
});

describe('.env.example', () => {
  const lines = readFileSync(new URL('../.env.example', import.meta.url), 'utf8').split('\n');
  const shown = new Map(
    lines
      .map((line) => /^(?:# ?)?([A-Z][A-Z_]+)=(.*)$/.exec(line))
      .filter((match) => match !== null)
      .map(([, name = '', value = '']) => [name, value]),
  );

  test.each(Object.keys(settings))('shows %s with an accepted value', (name) => {
    expect(shown.has(name)).toBe(true);
    expect(() => readConfig({ [name]: shown.get(name) })).not.toThrow();
  });

  test.each(
    // For a list with an empty default the file shows an example.
    Object.entries(settings).filter(([, { unset }]) => unset !== undefined && JSON.stringify(unset) !== '[]'),
  )('shows the default of %s', (name, { unset }) => {
    expect({ ...readConfig({ [name]: shown.get(name) }) }).toMatchObject({ [name]: unset });
  });
});

function refusal(environment: Record<string, string | undefined>, ...checks: SettingsCheck[]): Error {
  try {
    readConfig(environment, ...checks);
  } catch (error) {
    return error as Error;
  }
  throw new Error('was not refused');
}
