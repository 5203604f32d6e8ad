import { describe, expect, test } from 'vitest';
import { examineApple } from '../../../src/apart/doctor/apple.ts';
import { examineRevocation } from '../../../src/apart/doctor/sign-ins.ts';
import { Diagnosis } from '../../../src/apart/doctor/diagnosis.ts';
import { readSettings } from '../../../src/config.ts';
import { settingProblems } from '../../../src/setting-checks.ts';
import { forFile } from '../../harness.ts';
import { appleError, FakeApple } from '../../stores/apple/fake-apple.ts';
import { BUNDLE_ID } from '../../stores/apple/issuer.ts';

const apple = await forFile(FakeApple.start());

/** The kinds of findings about these settings, apart from the root, which is no root of Apple's. */
async function kindsWith(settings: Record<string, string>) {
  const { config } = readSettings({ ...apple.settings, ...settings }, settingProblems);
  const diagnosis = new Diagnosis();
  await examineApple(config, diagnosis);
  const kinds = diagnosis.findings.map(({ kind }) => kind);
  return { kinds: kinds.filter((kind) => kind !== 'apple_root'), facts: new Map(diagnosis.facts.map(({ name, value }) => [name, value])) };
}

/** Apple sends a test notification. @param attempt the outcome */
function sends(attempt: string, headers: Record<string, string> = {}): void {
  apple.misbehaviour = (response, { method }) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const signedPayload = apple.sign({
      notificationType: 'TEST',
      data: { bundleId: BUNDLE_ID, appAppleId: 1234, environment: 'Production' },
    });
    const checked = { signedPayload, sendAttempts: [{ attemptDate: Date.now(), sendAttemptResult: attempt }] };
    response.writeHead(200).end(JSON.stringify(method === 'POST' ? { testNotificationToken: 'token' } : checked));
  };
}

describe('the doctor asks Apple for a test notification of each app', () => {
  test('and finds nothing if it arrives', async () => {
    sends('SUCCESS');
    const { kinds, facts } = await kindsWith({ APPLE_APP_IDS: '1234' });
    expect([kinds, facts.get(`Apple ${BUNDLE_ID}`), facts.get('root of Apple')]).toEqual([
      [],
      'sent, 1234, SUCCESS',
      expect.stringMatching(/^root, until /),
    ]);
  });

  test.each<[what: string, prepare: () => void, settings: Record<string, string>, kind: string]>([
    ['another id of the app', () => sends('SUCCESS'), { APPLE_APP_IDS: '5678' }, 'apple_app_id'],
    ['no ids of apps', () => sends('SUCCESS'), {}, 'apple_app_ids'],
    ['a notification that does not arrive', () => sends('TIMED_OUT'), { APPLE_APP_IDS: '1234' }, 'apple_not_delivered'],
    ['a clock that differs', () => sends('SUCCESS', { date: 'Sat, 28 Nov 2020 00:00:00 GMT' }), { APPLE_APP_IDS: '1234' }, 'apple_clock'],
    [
      'a refused key',
      () => (apple.misbehaviour = (response) => void response.writeHead(401).end()),
      { APPLE_APP_IDS: '1234' },
      'apple_key',
    ],
    ['no address', () => (apple.misbehaviour = appleError(404, 4040007)), { APPLE_APP_IDS: '1234' }, 'apple_address'],
    ['an Apple that fails', () => (apple.misbehaviour = appleError(500, 5000000)), { APPLE_APP_IDS: '1234' }, 'apple_unreachable'],
  ])('and finds %s', async (_, prepare, settings, kind) => {
    prepare();
    expect((await kindsWith(settings)).kinds).toEqual([kind]);
  });

  test('and says what it costs if Apple is not asked', async () => {
    const without = { APPLE_ISSUER_ID: '', APPLE_KEY_ID: '', APPLE_KEY_FILE: '' };
    expect((await kindsWith(without)).kinds).toEqual(['apple_not_asked']);
    expect((await kindsWith({ STORE: 'google' })).kinds).toEqual([]);
  });
});

describe('the doctor sends Apple a code that no user got', () => {
  const examined = async (answer: string) => {
    apple.misbehaviour = (response) => void response.writeHead(400).end(answer);
    const { config } = readSettings({ ...apple.settings }, settingProblems);
    const diagnosis = new Diagnosis();
    const { privateKey } = apple.apiKey;
    const settings = { teamId: 'TEAM', keyId: 'KEY', privateKey: () => privateKey, url: () => apple.url, clientIds: ['app'] };
    await examineRevocation(config, diagnosis, settings);
    return diagnosis.findings.map(({ kind }) => kind);
  };

  test('and finds nothing if Apple takes the key', async () => {
    expect(await examined('{"error":"invalid_grant"}')).toEqual([]);
  });

  test.each(['{"error":"invalid_client"}', 'nonsense'])('and finds a key that Apple does not take: %s', async (answer) => {
    expect(await examined(answer)).toEqual(['apple_sign_in_key']);
  });

  test('and says what it costs without the key', async () => {
    const { config } = readSettings({ ...apple.settings, APPLE_CLIENT_IDS: 'app' }, settingProblems);
    const diagnosis = new Diagnosis();
    await examineRevocation(config, diagnosis);
    expect(diagnosis.findings.map(({ kind }) => kind)).toEqual(['apple_not_revoked']);
  });
});

test.each([
  [{ APPLE_KEY_ID: '' }, 'APPLE_KEY_ID must be set where APPLE_ISSUER_ID and APPLE_KEY_FILE are'],
  [
    { APPLE_KEY_FILE: '/nowhere.p8' },
    "APPLE_KEY_FILE /nowhere.p8 is not a private key of Apple's (.p8): ENOENT: no such file or directory, open '/nowhere.p8'",
  ],
  [{ APPLE_API_URL: 'http://api.example' }, 'APPLE_API_URL must be an https URL (outside production also http on this machine)'],
  [{ APPLE_TEAM_ID: 'TEAM' }, 'APPLE_SIGN_IN_KEY_ID and APPLE_SIGN_IN_KEY_FILE must be set where APPLE_TEAM_ID is'],
])('the settings %j are refused', (settings, problem) => {
  expect(readSettings({ ...apple.settings, ...settings }, settingProblems).problems).toEqual([problem]);
});

test('a key that is no key of Apple is refused without a word of it', () => {
  const { APPLE_ROOTS_FILE } = apple.settings;
  const { problems } = readSettings({ ...apple.settings, APPLE_KEY_FILE: APPLE_ROOTS_FILE! }, settingProblems);
  expect(problems).toEqual([expect.stringContaining('is not a private key of Apple')]);
});
