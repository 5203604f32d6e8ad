import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allowsLoopbackOrigins, readConfig, SettingError, settingNames, type Config, type SettingsCheck } from '../src/config.ts';

const KEY = 'A'.repeat(43);
/** Public keys on two curves (SPKI, DER, base64). */
const P256_KEY =
  'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEFcmaH8M+tDQo0TS5MIX/kbEPjZhTInu9OykeQOWYnGpEYXEcPu1DTI/6UDlFQNyFShv8vRcbNIhAJ2JqJznw5g==';
const P384_KEY =
  'MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEF75pO5KP65AUa2b/Nu02rYL5V7xUwtqSI3BZAfzFqcEGylR/0hVaccc9C6+3eByjrXOFcHH4NPzGYk/pQYUh83e0JafVtMn3SctYuc5CGUZYJJox0+kh3I0c60+sPLbb';
const OTHER_KEY = `${'B'.repeat(42)}E`;

/** The least and the greatest value of each setting that is a whole number. */
const ranges: Record<string, [least: number, greatest: number]> = {
  PORT: [0, 65_535],
  METRICS_PORT: [0, 65_535],
  REDIS_WAIT_REPLICAS: [0, 5],
  WORKERS: [1, 64],
  RATE_LIMIT_PER_SECOND: [1, 1_000_000],
  RATE_LIMIT_BURST: [1, 1_000_000],
  RATE_LIMIT_CREATIONS_PER_MINUTE: [1, 1_000_000],
  RATE_LIMIT_MISSES_PER_MINUTE: [1, 1_000_000],
  RATE_LIMIT_ACTS_PER_SECOND: [1, 1_000_000],
  RATE_LIMIT_SERVER_KEY_PER_SECOND: [1, 1_000_000],
  RATE_LIMIT_UNCOUNTED_PER_SECOND: [1, 1_000_000],
  SUPPORT_ADJUST_COINS: [0, 1e12],
  SUPPORT_DAILY_COINS: [0, 1e12],
  MAX_IN_FLIGHT: [1, 100_000],
  AUDIT_EVERY_HOURS: [0, 8760],
  SLOW_REQUEST_MS: [0, 3_600_000],
  CREDIT_DAILY_CAP: [0, 1e12],
  LEDGER_ENTRIES_PER_DAY: [0, 1e9],
  LEDGER_RETENTION_DAYS: [0, 36_500],
  EVENTS_DAYS: [1, 365],
  HOST_GRACE_SECONDS: [1, 3600],
  SOCKETS_PER_ADDRESS: [1, 1_000_000],
  CONNECTIONS_PER_ADDRESS: [1, 1_000_000],
  BODIES_PER_ADDRESS: [1, 1_000_000],
  WATCHERS_PER_ROOM: [1, 1_000_000],
  ROOM_BYTES_PER_SECOND: [65_536, 1e12],
  ROOM_TTL_SECONDS: [10, 604_800],
  TRIAL_DAYS: [1, 3650],
  SANDBOX_CHAOS: [0, 4_294_967_295],
};

/** The words that each of these settings may have. `.env.example` shows the default. */
const choices: Record<string, string[]> = {
  NODE_ENV: ['development', 'test'],
  SESSION_VERIFY: ['on', 'off'],
  COOKIE_SAME_SITE: ['lax', 'none'],
  RATE_LIMIT: ['on', 'off'],
  ADMIN_API: ['on', 'off'],
  CONSOLE: ['off'],
  LOG_REQUESTS: ['off', 'refused', 'all'],
  LOG_LEVEL: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
  BOARDS: ['open', 'catalogue'],
  COIN_AUTHORITY: ['client', 'server'],
  REFUNDS: ['debt', 'floor'],
  EVENTS: ['on', 'off'],
  WEBHOOKS_PRIVATE: ['on', 'off'],
  TEST_PURCHASES: ['on', 'off'],
  SUBSCRIPTION_REPORTS: ['accept', 'ignore'],
  STORE: ['google', 'sandbox', 'off'],
  PLAYGROUND: ['on', 'off'],
};

const sameText = (...texts: string[]): [text: string, value: unknown][] => texts.map((text) => [text, text]);

/** Accepted texts of the other settings with their parsed form, and a refused text for each rule. */
const texts: Record<string, { good: [text: string, value: unknown][]; bad: string[] }> = {
  HOST: { good: sameText('0.0.0.0', '::1', 'fe80::1%eth0', 'my-host.example'), bad: [' ', 'http://0.0.0.0', '127.0.0.1/8', 'a,b'] },
  METRICS_HOST: { good: sameText('::', 'metrics.internal'), bad: ['a b'] },
  PUBLIC_URL: {
    good: [
      ['http://localhost:3000', 'http://localhost:3000'],
      ['https://play.example/coinop//', 'https://play.example/coinop'],
    ],
    bad: [
      'play.example',
      '//play.example',
      'https:///path',
      'ftp://play.example',
      'https://play.example/?',
      'https://play.example/#top',
      'https://user:password@play.example',
      'https://play.example:99999',
    ],
  },
  REDIS_URL: {
    good: sameText(
      'redis://',
      'redis://127.0.0.1:6379/3',
      'rediss://user:p%40ss@redis.example:6380/0',
      'redis://:password@[::1]:6379',
      'redis-cluster://127.0.0.1:7001,127.0.0.1:7002',
      'rediss-cluster://user:p%40ss@[::1]:7001,redis-2.example:7002',
    ),
    bad: [
      'localhost:6379',
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
      'redis-cluster://localhost:99999',
      'redis-cluster://:%zz@localhost:7001',
      'redis://localhost:6379/0?db=1',
      'redis://localhost:6379/0#1',
      'redis-cluster://localhost:7001?family=6',
    ],
  },
  DATA_DIR: {
    good: [
      ['/var/lib/coinop', '/var/lib/coinop'],
      ['../data', resolve('../data')],
    ],
    bad: [],
  },
  ACCEPT_DATA: { good: sameText('AbCdEfGhIjKlMnOpQr_-09'), bad: ['AbCdEfGhIjKlMnOpQr_-0', 'AbCdEfGhIjKlMnOpQr_-0='] },
  SESSION_KEYS: {
    good: [
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
      ',',
      KEY,
      `:${KEY}`,
      `k:${'A'.repeat(42)}`,
      `k:${KEY}=`,
      `k:${KEY.slice(1)}+`,
      `a b:${KEY}`,
      `${'k'.repeat(33)}:${KEY}`,
      `k:${KEY},k:${OTHER_KEY}`,
      `k:${KEY};j:${OTHER_KEY}`,
    ],
  },
  ALLOWED_ORIGINS: {
    good: [
      [' https://play.example ,http://localhost:8080,', ['https://play.example', 'http://localhost:8080']],
      [',', []],
    ],
    bad: ['*', 'null', 'play.example', 'https://play.example/', 'https://Play.example', 'https://play.example:443', 'https://*.example'],
  },
  TRUSTED_PROXIES: {
    good: [
      ['127.0.0.1, ::1 ,fd00::/8', ['127.0.0.1', '::1', 'fd00::/8']],
      ['0.0.0.0/0', ['0.0.0.0/0']],
      ['::1/128', ['::1/128']],
    ],
    bad: ['proxy', '10.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', '::1/129', '127.0.0.1 10.0.0.1', '/8'],
  },
  OPERATOR_KEY: { good: sameText(`coinop_sk_abcdefgh_${'x'.repeat(32)}`), bad: ['key', 'coinop_sk_abcdefgh_x'] },
  CATALOGUE_FILE: { good: sameText('/etc/coinop/catalogue.json'), bad: [] },
  GOOGLE_CLIENT_IDS: {
    good: [['1-a.apps.googleusercontent.com', ['1-a.apps.googleusercontent.com']]],
    bad: ['1-a', '1-a.apps.googleusercontent.com.example', '*'],
  },
  GOOGLE_PACKAGE_NAMES: {
    good: [['com.example.game,org.a_b.C1', ['com.example.game', 'org.a_b.C1']]],
    bad: ['game', 'com.example.', 'com..example', 'com.1st.game', 'com.example/game'],
  },
  APP_LINK: {
    good: sameText('https://play.example/open?pair={token}', 'mygame://pair/{token}', 'com.example.game://pair?t={token}#x'),
    bad: [
      'https://play.example/open',
      'http://play.example/{token}',
      'javascript://x/%0aalert(1)//{token}',
      'JavaScript://x/{token}',
      'data://x/{token}',
      'view-source://x/{token}',
      'ws://play.example/{token}',
      '//play.example/{token}',
      'mygame:{token}',
      'https://play.example/ {token}',
      'https://{token}',
    ],
  },
  GOOGLE_NOTIFICATIONS_EMAIL: { good: sameText('push@project.iam.gserviceaccount.com'), bad: ['@project'] },
  PLAY_INTEGRITY_DECRYPTION_KEY: {
    good: [[Buffer.alloc(32, 9).toString('base64'), Buffer.alloc(32, 9)]],
    bad: [Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64'), '-_-_', Buffer.alloc(32).toString('hex')],
  },
  PLAY_INTEGRITY_VERIFICATION_KEY: {
    good: [[P256_KEY, Buffer.from(P256_KEY, 'base64')]],
    bad: [P384_KEY, P256_KEY.slice(4), 'key'],
  },
  REQUIRE_INSTALL_PROOF: { good: [['credit, highscores', ['credit', 'highscores']]], bad: ['debit', 'credit;highscores'] },
};

/** Defaults that follow other settings. */
const following: Record<string, object> = {
  CATALOGUE_FILE: { BOARDS: 'catalogue' },
  'SOCKETS_PER_ADDRESS=1': { ROOM_BYTES_PER_SECOND: 65_536 },
  'SOCKETS_PER_ADDRESS=1000000': { CONNECTIONS_PER_ADDRESS: 2_000_000, ROOM_BYTES_PER_SECOND: 40_960_000_000 },
};

const good: [name: string, text: string, value: unknown][] = [
  ...Object.entries(ranges).flatMap(([name, bounds]) => bounds.map((value): [string, string, unknown] => [name, String(value), value])),
  ...Object.entries(choices).flatMap(([name, words]) => sameText(...words).map((each): [string, string, unknown] => [name, ...each])),
  ...Object.entries(texts).flatMap(([name, { good: accepted }]) => accepted.map((each): [string, string, unknown] => [name, ...each])),
];

const bad: [name: string, text: string][] = [
  ...Object.entries(ranges).flatMap(([name, [least, greatest]]) =>
    [least - 1, greatest + 1, `${least}.5`].map((value): [string, string] => [name, String(value)]),
  ),
  ...['1e3', '0x50', ' 80', '80\n', 'http', '٣', '9'.repeat(40)].map((text): [string, string] => ['PORT', text]),
  ...Object.entries(choices).flatMap(([name, [word]]) => [word!.toUpperCase(), 'true'].map((text): [string, string] => [name, text])),
  ...Object.entries(texts).flatMap(([name, { bad: refused }]) => refused.map((text): [string, string] => [name, text])),
];

describe('readConfig', () => {
  test.each(good)('%s=%s is accepted and changes no other setting', (name, text, value) => {
    const config: Record<string, unknown> = { ...readConfig({ [name]: text }) };
    expect(config[name]).toEqual(value);
    const others = { ...readConfig({}), ...following[name], ...following[`${name}=${text}`] };
    expect({ ...config, [name]: undefined }).toEqual({ ...others, [name]: undefined });
  });

  test.each(bad)('%s=%s is refused, and the message names the setting', (name, text) => {
    const error = refusal({ [name]: text });
    expect(error).toBeInstanceOf(SettingError);
    expect(error.message).toMatch(new RegExp(`^${name} (must|Invalid option: expected one of) `));
  });

  test('a setting with an empty text counts as not set, and other variables are ignored', () => {
    const empty = Object.fromEntries(settingNames.map((name) => [name, '']));
    expect(readConfig(empty)).toEqual(readConfig({}));
    expect(readConfig({ PATH: '/bin', port: '1', COINOP_PORT: '2', ['__proto__']: 'x' })).toEqual(readConfig({}));
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

  test('the message has a line for each bad setting, each setting that production lacks, and each other fault', () => {
    const found = (config: Config): string[] => [
      `TRIAL_DAYS is ${config.TRIAL_DAYS}`,
      `HOST_GRACE_SECONDS is ${config.HOST_GRACE_SECONDS}`,
    ];
    const several = { NODE_ENV: 'production', PORT: 'y', HOST_GRACE_SECONDS: 'z', ALLOWED_ORIGINS: 'a,b', WORKERS: '0', HOST: '::1' };
    expect(refusal(several, found).message.split('\n')).toEqual([
      'PORT must be a whole number',
      'WORKERS must be at least 1',
      'ALLOWED_ORIGINS must be origins such as https://play.example, without wildcards',
      'HOST_GRACE_SECONDS must be a whole number',
      expect.stringMatching(/^SESSION_KEYS must be set in production/),
      expect.stringMatching(/^PUBLIC_URL must be set in production/),
      'TRIAL_DAYS is 7',
      // No line "HOST_GRACE_SECONDS is …": checks skip malformed settings.
    ]);
    expect(readConfig({ TRIAL_DAYS: '5' }, () => []).TRIAL_DAYS).toBe(5);
  });

  test.each<[setting: object, message: string]>([
    [{ PORT: '3456', METRICS_PORT: '3456' }, 'METRICS_PORT must be another port than PORT'],
    [{ CONSOLE: 'on' }, 'CONSOLE=on needs ADMIN_API=on: the console shows what /v1/admin gives'],
  ])('%j do not go together', (settings, message) => expect(refusal({ ...settings }).message).toBe(message));
});

test('BOARDS may be open with CATALOGUE_FILE', () => {
  expect(readConfig({ CATALOGUE_FILE: 'games.json', BOARDS: 'open' }).BOARDS).toBe('open');
});

const production = { NODE_ENV: 'production', SESSION_KEYS: `k:${KEY}`, PUBLIC_URL: 'https://play.example' };

describe('pages of this machine may call', () => {
  test.each(['127.1.2.3', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', 'localhost'])('with HOST=%s', (HOST) => {
    expect(allowsLoopbackOrigins(readConfig({ HOST }))).toBe(true);
    expect(allowsLoopbackOrigins(readConfig({ HOST, ...production }))).toBe(false);
  });

  test.each(['0.0.0.0', '::', '128.0.0.1', '::ffff:10.0.0.1', 'fe80::1%lo', 'localhost.example', 'my-localhost'])(
    'but not with HOST=%s',
    (HOST) => expect(allowsLoopbackOrigins(readConfig({ HOST }))).toBe(false),
  );
});

describe('production', () => {
  test.each(['SESSION_KEYS', 'PUBLIC_URL'])('requires %s', (name) => {
    expect(refusal({ ...production, [name]: '' }).message).toMatch(new RegExp(`^${name} must be set in production[^\n]*$`));
    expect(readConfig(production)).toMatchObject({ production: true, NODE_ENV: 'production' });
    expect(readConfig({ ...production, NODE_ENV: 'test', [name]: '' }).production).toBe(false);
  });

  test('has the store google and no playground, unless they are set', () => {
    expect(readConfig(production)).toMatchObject({ STORE: 'google', PLAYGROUND: 'off' });
    expect(readConfig({ ...production, STORE: 'sandbox', PLAYGROUND: 'on' })).toMatchObject({ STORE: 'sandbox', PLAYGROUND: 'on' });
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

describe('.env.example', () => {
  const lines = readFileSync(new URL('../.env.example', import.meta.url), 'utf8').split('\n');
  const shown = Object.fromEntries(
    lines
      .map((line) => /^(?:# ?)?([A-Z][A-Z_]+)=(.*)$/.exec(line))
      .filter((match) => match !== null)
      .map(([, name = '', value = '']) => [name, value]),
  );
  const unset: Record<string, unknown> = { ...readConfig({}) };
  /** For these the file shows an example in place of the default, an empty list. */
  const LISTS = ['ALLOWED_ORIGINS', 'TRUSTED_PROXIES', 'GOOGLE_CLIENT_IDS', 'GOOGLE_PACKAGE_NAMES', 'REQUIRE_INSTALL_PROOF'];

  test.each(settingNames.filter((name) => !name.endsWith('_FILE')))(
    'shows %s with an accepted value, and with its default if it has one',
    (name) => {
      expect(shown).toHaveProperty([name]);
      const config: Record<string, unknown> = { ...readConfig({ [name]: shown[name] }) };
      if (LISTS.includes(name)) expect(unset[name]).toEqual([]);
      else if (unset[name] !== undefined) expect(config[name]).toEqual(unset[name]);
    },
  );
});

function refusal(environment: Record<string, string | undefined>, ...checks: SettingsCheck[]): Error {
  try {
    readConfig(environment, ...checks);
  } catch (error) {
    return error as Error;
  }
  throw new Error('was not refused');
}
