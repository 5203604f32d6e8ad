import { sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { checkStores } from '../../../src/stores/stores.ts';
import { testConfig } from '../../environment.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { AppleIssuer, BUNDLE_ID, consumable, newId, newPair, renewable, signedBy, type SigningChain } from './issuer.ts';

const DAY = 86_400_000;
const folder = mkdtempSync(join(tmpdir(), 'coinop-apple-'));
afterAll(() => rmSync(folder, { recursive: true }));

function written(name: string, content: string | Buffer): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const apple = new AppleIssuer();
const other = new AppleIssuer();
const chain = apple.chain();
const settings = { STORE: 'apple', APPLE_BUNDLE_IDS: `com.example.other,${BUNDLE_ID}`, APPLE_ROOTS_FILE: written('root.cer', apple.der) };
const service = await forFile(start({ settings }));
const inProduction = await forFile(
  start({ settings: { ...settings, NODE_ENV: 'production', SESSION_KEYS: `a:${'A'.repeat(43)}`, PUBLIC_URL: 'https://play.example' } }),
);

const buy = (transaction: string, installId = freshId(), at = service) =>
  at.post('/v1/purchases', { installId, store: 'apple', transaction });
const subscribe = (transaction: string, installId = freshId(), at = service) =>
  at.post('/v1/subscription/purchase', { installId, store: 'apple', transaction });
const codeOf = ({ status, body }: Awaited<ReturnType<typeof buy>>) => [status, body.error?.code, body.error?.field];
const BAD = [401, 'bad_token', 'transaction'];

/** The text with another header, body or signature, which are not signed again. */
const part = (text: string, index: number, changed: (part: string) => string): string =>
  text
    .split('.')
    .map((each, at) => (at === index ? changed(each) : each))
    .join('.');

const ecdsa = (name: string, curve: string, hash: string): [what: string, text: () => string] => [
  `${name} with a key of ${curve}`,
  () => {
    const strange = apple.chain({ curve });
    const encoded = (what: object) => Buffer.from(JSON.stringify(what)).toString('base64url');
    const head = `${encoded({ alg: name, x5c: strange.x5c })}.${encoded(consumable())}`;
    return `${head}.${sign(hash, Buffer.from(head), { key: strange.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
  },
];

const from = (changed: Parameters<AppleIssuer['chain']>[0], said = consumable()) => signedBy(apple.chain(changed), said);
const withCertificates = (x5c: unknown) => signedBy(chain, consumable(), { x5c });
const [leaf, intermediate, root] = chain.x5c as [string, string, string];

describe('a transaction is refused', () => {
  test.each<[what: string, text: () => string]>([
    ['of another root', () => signedBy(other.chain(), consumable())],
    ['of another root, with the pinned root in its header', () => signedBy(chainUnder(other, root), consumable())],
    ['signed with another key', () => signedBy({ ...chain, privateKey: newPair().privateKey }, consumable())],
    ['whose body was changed', () => part(signedBy(chain, consumable()), 1, () => signedBy(chain, consumable()).split('.')[1]!)],
    [
      'whose signature is of another text',
      () => part(signedBy(chain, consumable()), 2, () => signedBy(chain, consumable()).split('.')[2]!),
    ],
    ['whose signature is in DER', () => part(signedBy(chain, consumable()), 2, () => Buffer.alloc(70, 1).toString('base64url'))],
    [
      'with an unused bit set',
      () => part(signedBy(chain, consumable()), 2, (text) => `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'z'}`),
    ],
    ['whose leaf has no mark', () => from({ leaf: { mark: undefined } })],
    ['whose leaf has the mark of an intermediate', () => from({ leaf: { mark: '2a864886f76364060201' } })],
    ['whose intermediate has no mark', () => from({ intermediate: { mark: undefined } })],
    ['whose intermediate has the mark of a leaf', () => from({ intermediate: { mark: '2a864886f76364060b01' } })],
    ['whose leaf is an authority', () => from({ leaf: { isAuthority: true } })],
    ['whose intermediate is no authority', () => from({ intermediate: { isAuthority: false } })],
    ['whose leaf names another issuer', () => from({ leaf: { issuer: 'root' } })],
    ['whose intermediate signed itself', () => from({ intermediate: { signedBy: newPair().privateKey } })],
    ['whose leaf had expired', () => from({ leaf: { validTo: Date.now() - DAY } })],
    ['whose leaf was not valid yet', () => from({ leaf: { validFrom: Date.now() + DAY } })],
    ['whose intermediate had expired', () => from({ intermediate: { validTo: Date.now() - DAY } })],
    ['that was signed before the leaf was made', () => signedBy(chain, consumable({ signedDate: Date.UTC(2019, 0) }))],
    ['that was signed in the future', () => signedBy(chain, consumable({ signedDate: Date.now() + 90_000 }))],
    ['that does not say when it was signed', () => signedBy(chain, consumable({ signedDate: undefined }))],
    ['whose time is a text', () => signedBy(chain, consumable({ signedDate: String(Date.now()) }))],
    ['of an algorithm none', () => signedBy(chain, consumable(), { alg: 'none' })],
    ['of an algorithm HS256', () => signedBy(chain, consumable(), { alg: 'HS256' })],
    ecdsa('ES384', 'P-384', 'sha384'),
    ecdsa('ES256', 'P-384', 'sha256'),
    ecdsa('ES256', 'secp256k1', 'sha256'),
    ['that demands an extension', () => signedBy(chain, consumable(), { crit: ['b64'], b64: true })],
    ['without certificates', () => withCertificates(undefined)],
    ['with two certificates', () => withCertificates([leaf, intermediate])],
    ['with four certificates', () => withCertificates([leaf, intermediate, root, root])],
    ['with its certificates in another order', () => withCertificates([intermediate, leaf, root])],
    ['with a certificate in base64url', () => withCertificates([Buffer.from(leaf, 'base64').toString('base64url'), intermediate, root])],
    ['with bytes after a certificate', () => withCertificates([withBytes(leaf), intermediate, root])],
    ['with a certificate that is none', () => withCertificates(['AAAA', intermediate, root])],
    ['with a certificate that is a number', () => withCertificates([1, intermediate, root])],
    ['that nests too deep', () => signedBy(chain, consumable({ deep: nested(40) }))],
    ['that is no object', () => signedBy(chain, [])],
    ['of an app of others', () => signedBy(chain, consumable({ bundleId: 'com.example.foreign' }))],
    ['of Xcode', () => signedBy(chain, consumable({ environment: 'Xcode' }))],
    ['of a local test', () => signedBy(chain, consumable({ environment: 'LocalTesting' }))],
    ['of no environment', () => signedBy(chain, consumable({ environment: undefined }))],
    ['of a family', () => signedBy(chain, consumable({ inAppOwnershipType: 'FAMILY_SHARED' }))],
    ['of a subscription', () => signedBy(chain, renewable())],
    ['of renewal info', () => signedBy(chain, { ...renewable(), transactionId: undefined, autoRenewStatus: 1 })],
    ...[-1, 0, 1.5, '2', 10 ** 9].map((quantity): [string, () => string] => [
      `of ${JSON.stringify(quantity)} units`,
      () => signedBy(chain, consumable({ quantity })),
    ]),
    ['refunded by 200 percent', () => signedBy(chain, consumable({ revocationDate: Date.now(), revocationPercentage: 200_000 }))],
  ])('%s', async (_, text) => {
    expect(codeOf(await buy(text()))).toEqual(BAD);
  });

  test('that is too long, before it is read', async () => {
    const long = signedBy(chain, consumable({ more: 'x'.repeat(9000) }));
    expect(codeOf(await buy(long))).toEqual([400, 'invalid_request', 'transaction']);
  });

  test.each<[what: string, said: Record<string, unknown>]>([
    ['of a consumable', { type: 'Consumable' }],
    ['that does not renew', { type: 'Non-Renewing Subscription' }],
    ['of a family', { inAppOwnershipType: 'FAMILY_SHARED' }],
    ['of an app of others', { bundleId: 'com.example.foreign' }],
    ['of Xcode', { environment: 'Xcode' }],
  ])('as a subscription: %s', async (_, said) => {
    expect(codeOf(await subscribe(signedBy(chain, renewable(said))))).toEqual(BAD);
  });
});

function chainUnder(issuer: AppleIssuer, pinned: string): SigningChain {
  const made = issuer.chain();
  return { ...made, x5c: [...made.x5c.slice(0, 2), pinned] };
}

const withBytes = (certificate: string): string => Buffer.concat([Buffer.from(certificate, 'base64'), Buffer.alloc(3)]).toString('base64');
const nested = (depth: number): unknown => (depth === 0 ? [] : [nested(depth - 1)]);

describe('a transaction is taken', () => {
  test.each<[what: string, text: () => string]>([
    ['of the pinned root', () => signedBy(chain, consumable())],
    ['of a further chain of it', () => signedBy(apple.chain(), consumable())],
    ['whose header has another text in place of the root', () => withCertificates([leaf, intermediate, 'root'])],
    [
      'of a leaf that has expired since',
      () => from({ leaf: { validTo: Date.now() - DAY } }, consumable({ signedDate: Date.now() - 2 * DAY })),
    ],
    ['of a clock that is half a minute ahead', () => signedBy(chain, consumable({ signedDate: Date.now() + 30_000 }))],
    ['with fields that are not known', () => signedBy(chain, consumable({ storefront: 'DEU', price: 990 }))],
  ])('%s', async (_, text) => {
    expect((await buy(text())).body).toMatchObject({ ok: true, balanceAfterCoins: 500 });
  });

  test('of the sandbox as a test, and in production not', async () => {
    const said = { environment: 'Sandbox' };
    expect((await buy(signedBy(chain, consumable(said)))).body.purchase.test).toBe(true);
    expect((await subscribe(signedBy(chain, renewable(said)))).body.subscribed).toBe(true);
    expect(codeOf(await buy(signedBy(chain, consumable(said)), freshId(), inProduction))).toEqual([403, 'test_purchase', 'transaction']);
    expect(codeOf(await subscribe(signedBy(chain, renewable(said)), freshId(), inProduction))).toEqual([
      403,
      'test_purchase',
      'transaction',
    ]);
    expect((await subscribe(signedBy(chain, renewable()), freshId(), inProduction)).body.subscribed).toBe(true);
  });

  test('of a file of several roots in PEM', async () => {
    const APPLE_ROOTS_FILE = written('roots.pem', other.pem + apple.pem);
    await using both = await start({ settings: { ...settings, APPLE_ROOTS_FILE } });
    for (const issuer of [apple, other]) {
      expect((await buy(signedBy(issuer.chain(), consumable()), freshId(), both)).body.ok).toBe(true);
    }
  });
});

test('a bare id proves nothing that Apple has not told of', async () => {
  const transactionId = newId();
  for (const path of ['/v1/purchases', '/v1/subscription/purchase']) {
    const reply = await service.post(path, { installId: freshId(), store: 'apple', transactionId });
    expect([reply.status, reply.body.error.code]).toEqual([503, 'store_unconfigured']);
  }
});

describe('settings', () => {
  test.each([
    ['is missing', join(folder, 'none')],
    ['is no certificate', written('text', 'secret-text')],
    ['has a certificate that is no root', written('leaf', Buffer.from(leaf, 'base64'))],
  ])('a file of roots that %s stops the start', async (_, APPLE_ROOTS_FILE) => {
    await expect(start({ settings: { ...settings, APPLE_ROOTS_FILE } })).rejects.toThrow(/^APPLE_ROOTS_FILE (?!.*secret-text)/);
  });

  test.each([{ APPLE_BUNDLE_IDS: '' }, { APPLE_ROOTS_FILE: '' }])('without one of them Apple is not configured: %o', async (without) => {
    const changed = { ...settings, ...without };
    expect(checkStores(testConfig(changed)).missing).toEqual(["Apple's purchases (APPLE_BUNDLE_IDS, APPLE_ROOTS_FILE)"]);
    await using unconfigured = await start({ settings: changed });
    expect(codeOf(await buy(signedBy(chain, consumable()), freshId(), unconfigured)).slice(0, 2)).toEqual([503, 'store_unconfigured']);
  });
});
