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

/** Texts that are accepted as they are. */
const same = (...accepted: string[]): Record<string, unknown> => Object.fromEntries(accepted.map((text) => [text, text]));

/** Accepted texts of settings with their parsed form, and a refused text for each rule. One setting stands for all whole numbers and words. */
const texts: Record<string, { good: Record<string, unknown>; bad: string[] }> = {
  PORT: { good: { 0: 0, 65535: 65_535 }, bad: ['-1', '65536', '80.5', '1e3', '0x50', ' 80', '80\n', 'http', '٣', '9'.repeat(40)] },
  LOG_REQUESTS: { good: same('off', 'refused', 'all'), bad: ['OFF', 'true'] },
  HOST: { good: same('0.0.0.0', '::1', 'fe80::1%eth0', 'my-host.example'), bad: [' ', 'http://0.0.0.0', '127.0.0.1/8', 'a,b'] },
  METRICS_HOST: { good: same('::', 'metrics.internal'), bad: ['a b'] },
  PUBLIC_URL: {
    good: { ...same('http://localhost:3000'), 'https://play.example/coinop//': 'https://play.example/coinop' },
    bad: [
      'play.example',
      'ftp://a.example',
      'https://a.example/?',
      'https://a.example/#top',
      'https://a:b@a.example',
      'https://a.example:99999',
    ],
  },
  REDIS_URL: {
    good: same(
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
      'redis://localhost:port',
      'redis://localhost/first',
      'redis://:%zz@localhost',
      ' redis://localhost',
      'redis-cluster://localhost:7001/0',
      'redis-cluster://localhost:7001,',
      'redis://localhost:6379/0?db=1',
      'redis://localhost:6379/0#1',
    ],
  },
  DATA_DIR: { good: { ...same('/var/lib/coinop'), '../data': resolve('../data') }, bad: [] },
  ACCEPT_DATA: { good: same('AbCdEfGhIjKlMnOpQr_-09'), bad: ['AbCdEfGhIjKlMnOpQr_-0', 'AbCdEfGhIjKlMnOpQr_-0='] },
  SESSION_KEYS: {
    good: {
      [` new-1:${OTHER_KEY} , old.0_:${KEY} ,`]: [
        { kid: 'new-1', secret: Buffer.from(OTHER_KEY, 'base64url') },
        { kid: 'old.0_', secret: Buffer.alloc(32) },
      ],
      [`k:${'A'.repeat(86)}`]: [{ kid: 'k', secret: Buffer.alloc(64) }],
    },
    bad: [KEY, `:${KEY}`, `k:${'A'.repeat(42)}`, `k:${KEY}=`, `k:${KEY.slice(1)}+`, `${'k'.repeat(33)}:${KEY}`, `k:${KEY},k:${OTHER_KEY}`],
  },
  ALLOWED_ORIGINS: {
    good: { ' https://play.example ,http://localhost:8080,': ['https://play.example', 'http://localhost:8080'], ',': [] },
    bad: ['*', 'null', 'play.example', 'https://play.example/', 'https://Play.example', 'https://play.example:443', 'https://*.example'],
  },
  TRUSTED_PROXIES: {
    good: { '127.0.0.1, ::1 ,fd00::/8': ['127.0.0.1', '::1', 'fd00::/8'], '::1/128': ['::1/128'] },
    bad: ['proxy', '10.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '::1/129', '127.0.0.1 10.0.0.1'],
  },
  OPERATOR_KEY: { good: same(`coinop_sk_abcdefgh_${'x'.repeat(32)}`), bad: ['key', 'coinop_sk_abcdefgh_x'] },
  CATALOGUE_FILE: { good: same('/etc/coinop/catalogue.json'), bad: [] },
  GOOGLE_CLIENT_IDS: {
    good: { '1-a.apps.googleusercontent.com': ['1-a.apps.googleusercontent.com'] },
    bad: ['1-a', '1-a.apps.googleusercontent.com.example', '*'],
  },
  APPLE_CLIENT_IDS: { good: { 'com.example.game, com.example.web': ['com.example.game', 'com.example.web'] }, bad: ['com.example/game'] },
  APPLE_BUNDLE_IDS: { good: { 'com.example.game': ['com.example.game'] }, bad: ['com.example/game'] },
  APPLE_APP_IDS: { good: { '1234567890, 2': [1_234_567_890, 2] }, bad: ['com.example.game', '0', '-1'] },
  APPLE_ROOTS_FILE: { good: same('/etc/coinop/AppleRootCA-G3.cer'), bad: [] },
  OPENID_PROVIDERS: {
    good: { 'a=https://id.example=c, d;': [{ name: 'a', issuer: 'https://id.example', clientIds: ['c', 'd'] }] },
    bad: ['a', 'a=https://id.example', 'A=https://id.example=c'],
  },
  GOOGLE_PACKAGE_NAMES: {
    good: { 'com.example.game,org.a_b.C1': ['com.example.game', 'org.a_b.C1'] },
    bad: ['game', 'com.example.', 'com..example', 'com.1st.game', 'com.example/game'],
  },
  APP_LINK: {
    good: same('https://play.example/open?pair={token}', 'mygame://pair/{token}', 'com.example.game://pair?t={token}#x'),
    bad: [
      'https://play.example/open',
      'http://play.example/{token}',
      'javascript://x/%0aalert(1)//{token}',
      'data://x/{token}',
      '//play.example/{token}',
      'mygame:{token}',
      'https://play.example/ {token}',
      'https://{token}',
    ],
  },
  GOOGLE_NOTIFICATIONS_EMAIL: { good: same('push@project.iam.gserviceaccount.com'), bad: ['@project'] },
  PLAY_INTEGRITY_DECRYPTION_KEY: {
    good: { [Buffer.alloc(32, 9).toString('base64')]: Buffer.alloc(32, 9) },
    bad: [Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64'), '-_-_', Buffer.alloc(32).toString('hex')],
  },
  PLAY_INTEGRITY_VERIFICATION_KEY: { good: { [P256_KEY]: Buffer.from(P256_KEY, 'base64') }, bad: [P384_KEY, P256_KEY.slice(4), 'key'] },
  REQUIRE_INSTALL_PROOF: { good: { 'credit, highscores': ['credit', 'highscores'] }, bad: ['debit', 'credit;highscores'] },
};

/** Defaults that follow other settings. */
const following: Record<string, object> = { CATALOGUE_FILE: { BOARDS: 'catalogue' } };

const rows = Object.entries(texts);
const good = rows.flatMap(([name, { good: accepted }]) => Object.entries(accepted).map(([text, value]) => ({ name, text, value })));
const bad = rows.flatMap(([name, { bad: refused }]) => refused.map((text) => ({ name, text })));

describe('readConfig', () => {
  test.each(good)('$name=$text is accepted and changes no other setting', ({ name, text, value }) => {
    expect(readConfig({ [name]: text })).toEqual({ ...readConfig({}), ...following[name], [name]: value });
  });

  test('the bytes of rooms and the connections follow SOCKETS_PER_ADDRESS', () => {
    const of = (SOCKETS_PER_ADDRESS: string) => readConfig({ SOCKETS_PER_ADDRESS });
    expect(of('1')).toMatchObject({ ROOM_BYTES_PER_SECOND: 65_536 });
    expect(of('1000000')).toMatchObject({ CONNECTIONS_PER_ADDRESS: 2_000_000, ROOM_BYTES_PER_SECOND: 40_960_000_000 });
  });

  test.each(bad)('$name=$text is refused, and the message names the setting', ({ name, text }) => {
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
      for (const url of [`redis://app:${secret}@host:6379/0`, `rediss-cluster://app:${secret}@host:7001,host:7002`])
        expect(refusal({ REDIS_URL: url }).message).toMatch(
          /^REDIS_URL must have its user and its password percent-encoded: \/ as %2F(?![^]*ter2)/,
        );
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
  const LISTS = [
    'ALLOWED_ORIGINS',
    'TRUSTED_PROXIES',
    'GOOGLE_CLIENT_IDS',
    'APPLE_CLIENT_IDS',
    'APPLE_BUNDLE_IDS',
    'APPLE_APP_IDS',
    'OPENID_PROVIDERS',
    'CONSOLE_SIGN_IN',
    'GOOGLE_PACKAGE_NAMES',
    'REQUIRE_INSTALL_PROOF',
  ];

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
