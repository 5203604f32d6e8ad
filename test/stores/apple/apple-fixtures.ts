import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chainOf } from '../../../src/stores/apple/certificates.ts';
import { SignedTexts } from '../../../src/stores/apple/signed-texts.ts';
import { BUNDLE_ID, consumable, signedBy } from './issuer.ts';
import type { MutatedText } from './mutated-texts.ts';
import { APP_ID, apple } from './text-draft.ts';
import type { AppleVerifier } from './verdicts.ts';

type Said = Record<string, unknown>;

interface Fixtures {
  readonly testRoot: string;
  readonly certificates: Readonly<Record<string, string>>;
  readonly texts: Readonly<Record<string, string>>;
  readonly models: Readonly<Record<string, Said>>;
}

/** The fixtures of Apple's library, under the MIT licence (`fixtures/LICENSE.txt`). */
export const fixtures = JSON.parse(readFileSync(new URL('fixtures/apple.json', import.meta.url), 'utf8')) as Fixtures;

const certificate = (base64: string): X509Certificate => new X509Certificate(Buffer.from(base64, 'base64'));

/** Verifies chain, signature and time against the root of the fixtures. */
const texts = new SignedTexts({ roots: () => [certificate(fixtures.testRoot)], wallClock: Date.now });

const LONGEST = 64 * 1024;

/** The texts as they are stored, by the method of Apple's library that opens them. Receipts and `legacyTransaction` are of StoreKit 1. */
export const storedTexts = (
  [
    ['transactionInfo', 'verifyAndDecodeTransaction', true],
    ['renewalInfo', 'verifyAndDecodeRenewalInfo', true],
    ['testNotification', 'verifyAndDecodeNotification', true],
    ['wrongBundleId', 'verifyAndDecodeNotification', false],
    ['missingX5CHeaderClaim', 'verifyAndDecodeNotification', false],
    ['xcode-signed-transaction', 'verifyAndDecodeTransaction', false],
    ['xcode-signed-renewal-info', 'verifyAndDecodeRenewalInfo', false],
    ['xcode-signed-app-transaction', 'verifyAndDecodeTransaction', false],
  ] as const satisfies readonly (readonly [string, keyof AppleVerifier, boolean])[]
).map(([name, method, expected]) => ({
  name,
  method,
  text: fixtures.texts[name]!,
  expected,
  /** Whether chain and signature verify, and the text is of the app and the environment of the fixtures. Most say nothing more. */
  isTaken: async (): Promise<boolean> => {
    const said = await texts.read(fixtures.texts[name]!, LONGEST);
    const { data = said, bundleId = 'com.example' } = (said ?? {}) as { data?: Said; bundleId?: string };
    return data?.['environment'] === 'Sandbox' && (data['bundleId'] ?? bundleId) === 'com.example';
  },
}));

const { ROOT_CA, INTERMEDIATE_CA, LEAF_CERT, REAL_APPLE_ROOT, REAL_APPLE_INTERMEDIATE, REAL_APPLE_SIGNING_CERTIFICATE } =
  fixtures.certificates as Readonly<Record<string, string>>;
const { INTERMEDIATE_CA_INVALID_OID, LEAF_CERT_FOR_INTERMEDIATE_CA_INVALID_OID, LEAF_CERT_INVALID_OID } = fixtures.certificates;

/** The chains of the tests of Apple's library, with the verdict that these tests expect. */
export const chains = (
  [
    ['its own chain', LEAF_CERT, INTERMEDIATE_CA, ROOT_CA, true],
    ["Apple's real chain", REAL_APPLE_SIGNING_CERTIFICATE, REAL_APPLE_INTERMEDIATE, REAL_APPLE_ROOT, true],
    ['an intermediate without its mark', LEAF_CERT_FOR_INTERMEDIATE_CA_INVALID_OID, INTERMEDIATE_CA_INVALID_OID, ROOT_CA, false],
    ['a leaf without its mark', LEAF_CERT_INVALID_OID, INTERMEDIATE_CA, ROOT_CA, false],
    ['another root', LEAF_CERT, INTERMEDIATE_CA, REAL_APPLE_ROOT, false],
    ['another intermediate', LEAF_CERT, REAL_APPLE_INTERMEDIATE, REAL_APPLE_ROOT, false],
    ['no root', LEAF_CERT, INTERMEDIATE_CA, undefined, false],
  ] as const
).map(([name, leaf, intermediate, root, expected]) => ({
  name,
  expected,
  chain: () => chainOf([leaf!, intermediate!, ''], root === undefined ? [] : [certificate(root)]),
}));

interface Rebuilt {
  readonly name: string;
  readonly kind: MutatedText['kind'];
  readonly text: string;
}

const signed = (said: Said): string => signedBy(apple.chain(), said);
const AT = 1_698_148_900_000;

/** The payloads of the stored texts with the fields that a purchase needs, signed anew: also verdicts about app and environment. */
export function rebuilt(): Rebuilt[] {
  const ours = { bundleId: BUNDLE_ID, environment: 'Sandbox', signedDate: AT };
  const told = (data: Said | undefined): Said => ({ notificationType: 'TEST', notificationUUID: '9ad56bd2', signedDate: AT, data });
  return [
    { name: 'transactionInfo', kind: 'transaction', text: signed(consumable(ours)) },
    { name: 'transactionInfo of another app', kind: 'transaction', text: signed(consumable({ ...ours, bundleId: 'com.example.x' })) },
    { name: 'transactionInfo of Xcode', kind: 'transaction', text: signed(consumable({ ...ours, environment: 'Xcode' })) },
    { name: 'testNotification', kind: 'notification', text: signed(told({ appAppleId: APP_ID, ...ours })) },
    { name: 'wrongBundleId', kind: 'notification', text: signed(told({ bundleId: 'com.example.wrong', environment: 'Sandbox' })) },
    { name: 'notification of no app', kind: 'notification', text: signed(told(undefined)) },
  ];
}

/** Answers of the API, which name an app and an environment as a transaction does: Apple's library takes them for transactions. */
export const NO_TRANSACTIONS: readonly string[] = [
  'appData as a transaction',
  'getAllSubscriptionStatusesResponse as a transaction',
  'transactionHistoryResponse as a transaction',
  'transactionHistoryResponseWithMalformedAppAppleId as a transaction',
];

/** The models of the library's tests as texts of each kind. Nearly all are something else, which has to be refused. */
export function modelTexts(): Rebuilt[] {
  return Object.entries(fixtures.models).flatMap(([name, said]) =>
    (['transaction', 'notification'] as const).map((kind) => ({ name: `${name} as a ${kind}`, kind, text: signed(inApp(said)) })),
  );
}

/** The model with the app and the environment of the proof, wherever it names others. */
function inApp(said: Said): Said {
  const json = JSON.stringify(said)
    .replaceAll('"com.example"', JSON.stringify(BUNDLE_ID))
    .replaceAll('"LocalTesting"', '"Sandbox"')
    .replaceAll(/"appAppleId":\d+/g, `"appAppleId":${APP_ID}`);
  return JSON.parse(json) as Said;
}
