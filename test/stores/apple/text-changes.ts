import { BUNDLE_ID } from './issuer.ts';
import { APP_ID, oursAlone, STRANGER, type Draft, type Part, type Random, type Said } from './text-draft.ts';

/**
 * Why coinop refuses a text that Apple's library takes. Each is explained on the page docs/apple-library.md, and the proof fails for a
 * difference without one of them.
 */
export const reasons = {
  algorithm: 'an algorithm other than ES256',
  extension: '`crit` in the header',
  date: '`signedDate` that is missing, a fraction, or more than a minute ahead',
  leeway: 'a certificate that was not valid at `signedDate`, by less than a minute',
  authority: 'a leaf that is an authority',
  spelling: 'another spelling of base64 than the canonical one, or bytes after a certificate',
  header: 'a third certificate that is no text',
  depth: 'JSON that nests deeper than 32',
  length: 'a text that is longer than its bound',
  missing: 'fields that a purchase or a notification needs',
  range: 'values out of their range',
  type: 'a part that is no object',
  sold: 'a purchase of a kind that the service does not sell, or that a family shares',
  inner: 'a notification whose texts contradict each other',
} as const;

export type Reason = keyof typeof reasons;

export interface Change {
  readonly what: string;
  /** The parts that it may change. Default: any. */
  readonly of?: readonly Part[];
  /** The kind of text in which it may do so. Default: any. */
  readonly within?: 'transaction' | 'notification';
  /** Whether no other change may come with it. */
  readonly isAlone?: true;
  /** `taken`: coinop and Apple's library take the text. `refused`: both refuse it. A reason: only coinop does. */
  readonly verdict: 'taken' | 'refused' | Reason;
  make(draft: Draft, random: Random): void;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

export const anyOf = <Item>(items: readonly Item[], random: Random): Item => items[Math.floor(random() * items.length)]!;
const set = (field: string, value: unknown) => (draft: Draft) => void (draft.said[field] = value);
const setAny =
  (field: string, ...values: unknown[]) =>
  (draft: Draft, random: Random) =>
    void (draft.said[field] = anyOf(values, random));
const drop =
  (...fields: string[]) =>
  (draft: Draft, random: Random) =>
    void delete draft.said[anyOf(fields, random)];
const inData = (changed: Said) => (draft: Draft) => void (draft.said['data'] = { ...(draft.said['data'] as Said), ...changed });

const TRANSACTION = ['transaction'] as const;
const RENEWAL = ['renewal'] as const;
const NOTIFICATION = ['notification'] as const;

/** Fields by their types, as Apple's library knows them. */
const typed: Readonly<Record<Part, Readonly<Record<'text' | 'number' | 'flag', string>>>> = {
  transaction: {
    text:
      'originalTransactionId transactionId webOrderLineItemId bundleId productId subscriptionGroupIdentifier type appAccountToken ' +
      'inAppOwnershipType offerIdentifier environment storefront storefrontId transactionReason currency offerDiscountType appTransactionId ' +
      'offerPeriod revocationType billingPlanType',
    number:
      'purchaseDate originalPurchaseDate expiresDate quantity signedDate revocationReason revocationDate offerType price revocationPercentage',
    flag: 'isUpgraded',
  },
  renewal: {
    text:
      'originalTransactionId autoRenewProductId productId offerIdentifier environment currency offerDiscountType appAccountToken ' +
      'appTransactionId offerPeriod renewalBillingPlanType',
    number:
      'expirationIntent autoRenewStatus priceIncreaseStatus gracePeriodExpiresDate offerType signedDate recentSubscriptionStartDate renewalDate renewalPrice',
    flag: 'isInBillingRetryPeriod',
  },
  notification: { text: 'notificationType subtype notificationUUID version', number: 'signedDate', flag: '' },
};

const wrong = { text: [5, null, true, {}, []], number: ['5', null, true, {}, []], flag: ['true', null, 1] } as const;

const ofType = (part: Part, type: keyof typeof wrong): Change => ({
  what: `a ${type} of another type`,
  of: [part],
  verdict: 'refused',
  make: (draft, random) => void (draft.said[anyOf(typed[part][type].split(' '), random)] = anyOf<unknown>(wrong[type], random)),
});

/** A time at which certificates expire, in whole seconds as certificates have them, and a time that is still to come. */
const EXPIRED_AT = Math.floor((Date.now() - 2 * DAY) / 1000) * 1000;
const LATER_AT = EXPIRED_AT + 4 * DAY;

function nested(depth: number): unknown {
  return depth === 0 ? [] : [nested(depth - 1)];
}

const withBytes = (certificate: string): string => Buffer.concat([Buffer.from(certificate, 'base64'), Buffer.alloc(3)]).toString('base64');
const inBase64url = (certificate: string): string => Buffer.from(certificate, 'base64').toString('base64url');

/** Sets a bit behind the last byte of the signature, which decoders ignore. */
function withUnusedBit(text: string): string {
  return text.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1));
}

/** A notification without `data`. */
const without = (field: string, value: Said) => (draft: Draft) => {
  delete draft.said['data'];
  draft.said[field] = value;
};

/** The table: what each change has to lead to. */
export const changes: readonly Change[] = [
  // What both take.
  { what: 'nothing', verdict: 'taken', make: () => {} },
  { what: 'a field of the future', verdict: 'taken', make: set('fieldOfTheFuture', { deep: [1, 'two'] }) },
  { what: 'another key id', verdict: 'taken', make: (draft) => void Object.assign(draft.header, { kid: 'x', typ: 'JWT' }) },
  { what: 'any text as the third certificate', verdict: 'taken', make: (draft) => void (draft.x5c = ([a, b]) => [a, b, 'root']) },
  {
    what: 'blanks in its JSON',
    verdict: 'taken',
    make: (draft) => void (draft.json = (said) => `${JSON.stringify(said, undefined, 1)}\n`),
  },
  {
    what: 'a clock that is half a minute ahead',
    verdict: 'taken',
    make: (draft) => void (draft.said['signedDate'] = Date.now() + MINUTE / 2),
  },
  {
    what: 'a leaf that has expired since',
    verdict: 'taken',
    isAlone: true,
    make(draft) {
      draft.said['signedDate'] = Date.now() - 3 * DAY;
      draft.leaf.validTo = EXPIRED_AT;
    },
  },
  { what: 'a time from which it counts', verdict: 'taken', make: set('nbf', 1.5) },
  { what: 'a time to which it counts', verdict: 'taken', make: set('exp', Math.floor(Date.now() / 1000) + 86_400) },
  { what: 'an own type of product id', of: TRANSACTION, verdict: 'taken', make: setAny('productId', 'x', 'a.b-c_d', '5'.repeat(255)) },
  { what: 'units', of: TRANSACTION, verdict: 'taken', make: setAny('quantity', 1, 2, 10, undefined) },
  { what: 'a refund', of: TRANSACTION, verdict: 'taken', make: set('revocationDate', Date.now()) },
  { what: 'a type of the future', of: NOTIFICATION, verdict: 'taken', make: setAny('notificationType', 'MIGRATION', 'X'.repeat(64)) },
  {
    what: 'a summary in place of data',
    of: NOTIFICATION,
    isAlone: true,
    verdict: 'taken',
    make: without('summary', { ...oursAlone, failedCount: 1 }),
  },
  {
    what: 'an external purchase in place of data',
    of: NOTIFICATION,
    isAlone: true,
    verdict: 'taken',
    make: without('externalPurchaseToken', { ...oursAlone, environment: undefined, externalPurchaseId: '5' }),
  },
  { what: 'an app in place of data', of: NOTIFICATION, isAlone: true, verdict: 'taken', make: without('appData', oursAlone) },
  { what: 'the sandbox', of: TRANSACTION, within: 'transaction', verdict: 'taken', make: set('environment', 'Sandbox') },
  // What both refuse: chain, signature, time.
  { what: 'another root', verdict: 'refused', make: (draft) => void (draft.isOfOtherRoot = true) },
  { what: 'another key', verdict: 'refused', make: (draft) => void (draft.isOfOtherKey = true) },
  { what: 'a leaf without its mark', verdict: 'refused', make: (draft) => void (draft.leaf.mark = undefined) },
  { what: 'a leaf with the mark of others', verdict: 'refused', make: (draft) => void (draft.leaf.mark = '2a864886f76364060201') },
  { what: 'an intermediate without its mark', verdict: 'refused', make: (draft) => void (draft.intermediate.mark = undefined) },
  { what: 'an intermediate that is no authority', verdict: 'refused', make: (draft) => void (draft.intermediate.isAuthority = false) },
  { what: 'a leaf of another issuer', verdict: 'refused', make: (draft) => void (draft.leaf.issuer = 'root') },
  { what: 'a leaf that another key signed', verdict: 'refused', make: (draft) => void (draft.leaf.signedBy = STRANGER.privateKey) },
  {
    what: 'an intermediate that another key signed',
    verdict: 'refused',
    make: (draft) => void (draft.intermediate.signedBy = STRANGER.privateKey),
  },
  { what: 'a leaf that had expired', verdict: 'refused', make: (draft) => void (draft.leaf.validTo = EXPIRED_AT) },
  { what: 'a leaf of the future', verdict: 'refused', make: (draft) => void (draft.leaf.validFrom = LATER_AT) },
  { what: 'an intermediate that had expired', verdict: 'refused', make: (draft) => void (draft.intermediate.validTo = EXPIRED_AT) },
  { what: 'a time before its certificates', verdict: 'refused', make: setAny('signedDate', 0, -1, Date.UTC(2019, 0)) },
  { what: 'a key of P-384 for ES256', verdict: 'refused', make: (draft) => void (draft.key = 'P-384') },
  { what: 'a key of secp256k1', verdict: 'refused', make: (draft) => void (draft.key = 'secp256k1') },
  {
    what: 'an algorithm without a key',
    verdict: 'refused',
    make: (draft, random) => void (draft.header['alg'] = anyOf(['none', 'HS256', '', 5], random)),
  },
  {
    what: 'no certificates',
    verdict: 'refused',
    make: (draft, random) => void (draft.x5c = () => anyOf([undefined, [], null, 'abc'], random)),
  },
  { what: 'two certificates', verdict: 'refused', make: (draft) => void (draft.x5c = (x5c) => x5c.slice(0, 2)) },
  { what: 'four certificates', verdict: 'refused', make: (draft) => void (draft.x5c = (x5c) => [...x5c, x5c[2]]) },
  { what: 'certificates in another order', verdict: 'refused', make: (draft) => void (draft.x5c = ([a, b, c]) => [b, a, c]) },
  { what: 'a certificate that is none', verdict: 'refused', make: (draft) => void (draft.x5c = ([, b, c]) => ['AAAA', b, c]) },
  {
    what: 'a changed body',
    verdict: 'refused',
    make: (draft) => void (draft.signed = (text) => text.replace(/\.[^.]+\./, '.eyJhIjoxfQ.')),
  },
  {
    what: 'a changed signature',
    verdict: 'refused',
    make: (draft) => void (draft.signed = (text) => text.replace(/.{20}$/, 'A'.repeat(20))),
  },
  { what: 'padding', verdict: 'refused', make: (draft) => void (draft.signed = (text) => `${text}==`) },
  { what: 'a fourth part', verdict: 'refused', make: (draft) => void (draft.signed = (text) => `${text}.AAAA`) },
  { what: 'a time from which it will count', verdict: 'refused', make: setAny('nbf', Math.floor(Date.now() / 1000) + 86_400, '5', null) },
  { what: 'a time to which it counted', verdict: 'refused', make: setAny('exp', Math.floor(Date.now() / 1000) - 86_400, '5', null) },
  {
    what: 'a body that is no object',
    verdict: 'refused',
    make: (draft, random) => void (draft.json = () => anyOf(['[]', '"text"', 'null', '{', '5'], random)),
  },
  // What both refuse: app, environment, types.
  { what: 'another app', of: TRANSACTION, verdict: 'refused', make: setAny('bundleId', 'com.example.foreign', '', undefined) },
  {
    what: 'another environment',
    of: ['transaction', 'renewal'],
    verdict: 'refused',
    make: setAny('environment', 'Xcode', 'LocalTesting', '', undefined),
  },
  { what: 'the sandbox', of: ['transaction', 'renewal'], within: 'notification', verdict: 'refused', make: set('environment', 'Sandbox') },
  { what: 'a notification of another app', of: NOTIFICATION, verdict: 'refused', make: inData({ bundleId: 'com.example.foreign' }) },
  { what: 'a notification of another environment', of: NOTIFICATION, verdict: 'refused', make: inData({ environment: 'Xcode' }) },
  { what: 'a notification of another id of an app', of: NOTIFICATION, verdict: 'refused', make: inData({ appAppleId: 1235 }) },
  { what: 'a notification without the id of an app', of: NOTIFICATION, verdict: 'refused', make: inData({ appAppleId: undefined }) },
  { what: 'a notification of no app', of: NOTIFICATION, verdict: 'refused', make: drop('data') },
  {
    what: 'a summary of another app',
    of: NOTIFICATION,
    verdict: 'refused',
    make: without('summary', { ...oursAlone, bundleId: 'com.example.foreign' }),
  },
  {
    what: 'an external purchase of another app',
    of: NOTIFICATION,
    verdict: 'refused',
    make: without('externalPurchaseToken', { appAppleId: APP_ID, bundleId: 'com.example.foreign', externalPurchaseId: '5' }),
  },
  {
    what: 'an app of others in place of data',
    of: NOTIFICATION,
    verdict: 'refused',
    make: without('appData', { ...oursAlone, appAppleId: 1235 }),
  },
  { what: 'data of another type', of: NOTIFICATION, verdict: 'refused', make: inData({ bundleVersion: 5 }) },
  { what: 'a status of another type', of: NOTIFICATION, verdict: 'refused', make: inData({ status: '1' }) },
  { what: 'a transaction that is no text', of: NOTIFICATION, verdict: 'refused', make: inData({ signedTransactionInfo: 5 }) },
  ...(['transaction', 'renewal'] as const).flatMap((part) => (['text', 'number', 'flag'] as const).map((type) => ofType(part, type))),
  ofType('notification', 'text'),
  ofType('notification', 'number'),
  { what: 'nothing as a part', of: ['transaction', 'renewal'], verdict: 'refused', make: setAny('commitmentInfo', null) },
  { what: 'offers that are no texts', of: RENEWAL, verdict: 'refused', make: setAny('eligibleWinBackOfferIds', 'x', [5], {}) },
  // What only coinop refuses.
  ...(
    [
      ['ES384', 'P-384'],
      ['RS256', 'rsa'],
      ['PS256', 'rsa'],
    ] as const
  ).map(([alg, key]): Change => ({
    what: alg,
    verdict: 'algorithm',
    make(draft) {
      draft.key = key;
      draft.header['alg'] = alg;
    },
  })),
  { what: 'an extension', verdict: 'extension', make: (draft) => void Object.assign(draft.header, { crit: ['exp'] }) },
  { what: 'no time', verdict: 'date', make: drop('signedDate') },
  { what: 'a fraction as its time', verdict: 'date', make: (draft) => void (draft.said['signedDate'] = Date.now() - 0.5) },
  {
    what: 'a time of the future',
    verdict: 'date',
    make: (draft, random) => void (draft.said['signedDate'] = Date.now() + anyOf([90_000, DAY, 1000 * DAY], random)),
  },
  {
    what: 'a leaf that expired half a minute before',
    verdict: 'leeway',
    make: (draft) => void (draft.said['signedDate'] = (draft.leaf.validTo = EXPIRED_AT) + MINUTE / 2),
  },
  {
    what: 'an intermediate that was made half a minute later',
    verdict: 'leeway',
    make: (draft) => void (draft.said['signedDate'] = (draft.intermediate.validFrom = EXPIRED_AT) - MINUTE / 2),
  },
  { what: 'an authority as leaf', verdict: 'authority', make: (draft) => void (draft.leaf.isAuthority = true) },
  {
    what: 'bytes after a certificate',
    verdict: 'spelling',
    make: (draft) => void (draft.x5c = ([a, ...rest]) => [withBytes(a!), ...rest]),
  },
  {
    what: 'a line break in a certificate',
    verdict: 'spelling',
    make: (draft) => void (draft.x5c = ([a, b, c]) => [a, `${b!.slice(0, 64)}\n${b!.slice(64)}`, c]),
  },
  {
    what: 'a certificate in base64url',
    verdict: 'spelling',
    make: (draft) => void (draft.x5c = ([a, ...rest]) => [`${inBase64url(a!)}`, ...rest]),
  },
  { what: 'an unused bit of the signature', verdict: 'spelling', make: (draft) => void (draft.signed = (text) => withUnusedBit(text)) },
  { what: 'a number as the third certificate', verdict: 'header', make: (draft) => void (draft.x5c = ([a, b]) => [a, b, 5]) },
  { what: 'deep JSON', verdict: 'depth', make: set('deep', nested(40)) },
  { what: 'much', verdict: 'length', make: set('much', 'x'.repeat(70_000)) },
  {
    what: 'a field that is missing',
    of: TRANSACTION,
    verdict: 'missing',
    make: drop('transactionId', 'originalTransactionId', 'productId', 'type', 'inAppOwnershipType', 'purchaseDate'),
  },
  { what: 'a field that is missing', of: RENEWAL, verdict: 'missing', make: drop('originalTransactionId', 'autoRenewStatus') },
  { what: 'a field that is missing', of: NOTIFICATION, verdict: 'missing', make: drop('notificationType', 'notificationUUID') },
  {
    what: 'an id that is no number',
    of: TRANSACTION,
    verdict: 'range',
    make: setAny('transactionId', 'x', '', '-5', '5'.repeat(31), ' 5'),
  },
  { what: 'units out of range', of: TRANSACTION, verdict: 'range', make: setAny('quantity', -1, 0, 1.5, 1e9) },
  { what: 'a percentage out of range', of: TRANSACTION, verdict: 'range', make: setAny('revocationPercentage', -1, 1.5, 200_000) },
  { what: 'a time out of range', of: TRANSACTION, verdict: 'range', make: setAny('purchaseDate', -1, 1.5, 1e300) },
  { what: 'a product id out of range', of: TRANSACTION, verdict: 'range', make: setAny('productId', '', 'a b', 'ä', 'x'.repeat(256)) },
  { what: 'a status out of range', of: RENEWAL, verdict: 'range', make: setAny('autoRenewStatus', 2, -1, 0.5) },
  { what: 'a long type', of: NOTIFICATION, verdict: 'range', make: set('notificationType', 'X'.repeat(65)) },
  { what: 'a text as a part', of: ['transaction', 'renewal'], verdict: 'type', make: setAny('advancedCommerceInfo', 'x', 5) },
  {
    what: 'a purchase of a family',
    of: TRANSACTION,
    within: 'transaction',
    verdict: 'sold',
    make: setAny('inAppOwnershipType', 'FAMILY_SHARED', ''),
  },
  {
    what: 'a type that is not sold',
    of: TRANSACTION,
    within: 'transaction',
    verdict: 'sold',
    make: setAny('type', 'Non-Consumable', 'Non-Renewing Subscription', ''),
  },
  { what: 'renewal info of another subscription', of: RENEWAL, verdict: 'inner', make: set('originalTransactionId', '5') },
];
