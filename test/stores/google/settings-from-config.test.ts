import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SettingError } from '../../../src/config.ts';
import { checkStores } from '../../../src/stores/stores.ts';
import { googleSettings } from '../../../src/stores/google/settings-from-config.ts';
import { start } from '../../harness.ts';
import { testConfig } from '../../environment.ts';

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'coinop-google-'))));
afterAll(() => rmSync(folder, { recursive: true }));

const privateKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const keyFile = {
  type: 'service_account',
  client_email: 'coinop@a.iam.gserviceaccount.com',
  private_key: privateKey,
  private_key_id: 'k1',
};

function written(content: string): string {
  const file = join(folder, 'key.json');
  writeFileSync(file, content);
  return file;
}

test('the service account comes from its key file, and the URLs in that file are ignored', async () => {
  const file = written(JSON.stringify({ ...keyFile, token_uri: 'https://evil.example/token', auth_uri: 'https://evil.example' }));
  const settings = googleSettings(testConfig({ STORE: 'google', GOOGLE_SERVICE_ACCOUNT_FILE: file }));
  expect(await settings.serviceAccount!()).toEqual({
    clientEmail: 'coinop@a.iam.gserviceaccount.com',
    privateKey,
    privateKeyId: 'k1',
    tokenUrl: 'https://oauth2.googleapis.com/token',
  });
  expect([settings.publisherUrl, settings.integrityUrl, settings.jwksUrl]).toEqual([
    'https://androidpublisher.googleapis.com',
    'https://playintegrity.googleapis.com',
    'https://www.googleapis.com/oauth2/v3/certs',
  ]);
});

test.each([
  ['is missing', undefined],
  ['is not JSON', '{ secret-text'],
  ['is the key of a user', JSON.stringify({ ...keyFile, type: 'authorized_user' })],
  ['has no private key', JSON.stringify({ ...keyFile, private_key: undefined })],
  ['has a malformed private key', JSON.stringify({ ...keyFile, private_key: 'secret-text' })],
  ['has no valid e-mail address', JSON.stringify({ ...keyFile, client_email: 'coinop' })],
])('a key file that %s stops the start, with a message that names the setting and shows no secret', async (_name, content) => {
  const file = content === undefined ? join(folder, 'missing.json') : written(content);
  const error = await start({ settings: { STORE: 'google', GOOGLE_SERVICE_ACCOUNT_FILE: file } }).catch((reason: Error) => reason);
  expect(error).toBeInstanceOf(SettingError);
  expect((error as Error).message).toMatch(/^GOOGLE_SERVICE_ACCOUNT_FILE (?!.*secret-text)/);
});

const decryptionKey = Buffer.alloc(32).toString('base64');
const email = 'pusher@a.iam.gserviceaccount.com';

test('keys and notification settings are read in pairs', () => {
  const verificationKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' });
  const settings = googleSettings(
    testConfig({
      PLAY_INTEGRITY_DECRYPTION_KEY: decryptionKey,
      PLAY_INTEGRITY_VERIFICATION_KEY: verificationKey.toString('base64'),
      GOOGLE_NOTIFICATIONS_AUDIENCE: 'a',
      GOOGLE_NOTIFICATIONS_EMAIL: email,
    }),
  );
  expect([settings.integrityKeys === undefined, settings.notifications]).toEqual([false, { audience: 'a', email }]);
});

test.each<[settings: Record<string, string>, problem: RegExp]>([
  [{ GOOGLE_NOTIFICATIONS_AUDIENCE: 'a' }, /^GOOGLE_NOTIFICATIONS_EMAIL must be set where GOOGLE_NOTIFICATIONS_AUDIENCE is$/],
  [{ GOOGLE_NOTIFICATIONS_EMAIL: email }, /^GOOGLE_NOTIFICATIONS_AUDIENCE must be set where GOOGLE_NOTIFICATIONS_EMAIL is$/],
  [{ PLAY_INTEGRITY_DECRYPTION_KEY: decryptionKey }, /^PLAY_INTEGRITY_VERIFICATION_KEY must be set where /],
  // No install could be proven.
  [{ STORE: 'off', REQUIRE_INSTALL_PROOF: 'credit' }, /^REQUIRE_INSTALL_PROOF /],
  [{ REQUIRE_INSTALL_PROOF: 'credit' }, /^REQUIRE_INSTALL_PROOF /],
  [{ REQUIRE_INSTALL_PROOF: 'credit', GOOGLE_PACKAGE_NAMES: 'com.example.game' }, /^REQUIRE_INSTALL_PROOF /],
])('a setting without those that it needs stops the start: %o', async (settings, problem) => {
  await expect(start({ settings: { STORE: 'google', ...settings } })).rejects.toThrow(problem);
});

const WHOLE = { GOOGLE_CLIENT_IDS: '1-a.apps.googleusercontent.com', GOOGLE_PACKAGE_NAMES: 'com.example.game' };
const OPENING = 'the store is not configured, and answers 503 store_unconfigured: ';

test.each<[what: string, settings: Record<string, string>, warnings: string[]]>([
  ['no missing setting', WHOLE, []],
  ['missing client ids', { ...WHOLE, GOOGLE_CLIENT_IDS: '' }, [`${OPENING}sign-in (GOOGLE_CLIENT_IDS)`]],
  [
    'missing apps and a missing service account',
    { ...WHOLE, GOOGLE_PACKAGE_NAMES: '', GOOGLE_SERVICE_ACCOUNT_FILE: '' },
    [`${OPENING}purchases (GOOGLE_PACKAGE_NAMES, GOOGLE_SERVICE_ACCOUNT_FILE), install proofs (GOOGLE_PACKAGE_NAMES and keys)`],
  ],
  ['STORE=off, which is a deliberate choice', { STORE: 'off' }, []],
  ['the sandbox', { STORE: 'sandbox' }, [expect.stringContaining('sandbox')]],
  ['the sandbox, which is the default in development', { NODE_ENV: 'development' }, []],
])('in production the log warns at the start of missing store settings and of the sandbox: %s', async (_, settings, warnings) => {
  const production = { NODE_ENV: 'production', SESSION_KEYS: `a:${'A'.repeat(43)}`, PUBLIC_URL: 'https://play.example' };
  const logLines: string[] = [];
  const GOOGLE_SERVICE_ACCOUNT_FILE = written(JSON.stringify(keyFile));
  await using _service = await start({ settings: { ...production, GOOGLE_SERVICE_ACCOUNT_FILE, ...settings }, logLines });
  const lines = logLines.map((line) => JSON.parse(line) as { level: number; msg: string });
  expect(lines.filter(({ level, msg }) => level === 40 && /store|sandbox/.test(msg)).map(({ msg }) => msg)).toEqual(warnings);
});

test.each(['amazon', 'apple,apple', 'google,google', 'google,off', 'sandbox,google'])('STORE=%s is a problem', (STORE) => {
  expect(checkStores(testConfig({ STORE })).problems).toEqual(['STORE must be google, apple, sandbox or off']);
});
