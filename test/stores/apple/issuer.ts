import { generateKeyPairSync, randomInt, type KeyObject } from 'node:crypto';
import { APPLE_MARKS, certificateDer, type Wanted } from '../../../src/apart/sandbox/apple/certificates.ts';
import { signedText } from '../../../src/apart/sandbox/apple/keys.ts';

export const BUNDLE_ID = 'com.example.game';

type Changed = Partial<Pick<Wanted, 'mark' | 'isAuthority' | 'validFrom' | 'validTo' | 'issuer' | 'signedBy'>>;

/** A root, with which chains like Apple's begin. */
export class AppleIssuer {
  readonly #root = newPair();
  readonly #rootBytes: Buffer;

  constructor(changed: Changed = {}) {
    const parts = { subject: 'root', issuer: 'root', signedBy: this.#root.privateKey, isAuthority: true };
    this.#rootBytes = certificateDer({ ...parts, publicKey: this.#root.publicKey, ...changed });
  }

  /** The root as Apple publishes it (DER). */
  get der(): Buffer {
    return this.#rootBytes;
  }

  get pem(): string {
    return `-----BEGIN CERTIFICATE-----\n${this.#rootBytes.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
  }

  /** A chain of this root, and the key of its leaf. @param curve of the leaf's key, or `rsa` */
  chain({ leaf = {}, intermediate = {}, curve = 'P-256' }: { leaf?: Changed; intermediate?: Changed; curve?: string } = {}) {
    const [own, above] = [newPair(curve), newPair()];
    const names = { leaf: { subject: 'leaf', issuer: 'intermediate' }, intermediate: { subject: 'intermediate', issuer: 'root' } };
    const written = [
      certificateDer({ ...names.leaf, ...own, signedBy: above.privateKey, isAuthority: false, mark: APPLE_MARKS.leaf, ...leaf }),
      certificateDer({
        ...names.intermediate,
        ...above,
        signedBy: this.#root.privateKey,
        isAuthority: true,
        mark: APPLE_MARKS.intermediate,
        ...intermediate,
      }),
      this.#rootBytes,
    ];
    return { x5c: written.map((bytes) => bytes.toString('base64')), privateKey: own.privateKey };
  }
}

export type SigningChain = ReturnType<AppleIssuer['chain']>;

/** @param curve of the pair, or `rsa` */
export function newPair(curve = 'P-256'): { publicKey: KeyObject; privateKey: KeyObject } {
  return curve === 'rsa' ? generateKeyPairSync('rsa', { modulusLength: 2048 }) : generateKeyPairSync('ec', { namedCurve: curve });
}

/** Signs with a chain. @param header fields that differ from those that Apple's header has */
export function signedBy({ x5c, privateKey }: SigningChain, said: object, header: object = {}): string {
  return signedText(said, { alg: 'ES256', x5c, ...header }, privateKey);
}

export const newId = (): string => `2${randomInt(10 ** 14)}`;

/** What Apple says of a consumable. */
export function consumable(changed: Record<string, unknown> = {}) {
  const transactionId = newId();
  const at = Date.now();
  return {
    transactionId,
    originalTransactionId: transactionId,
    bundleId: BUNDLE_ID,
    productId: 'coins_500',
    type: 'Consumable',
    environment: 'Production',
    inAppOwnershipType: 'PURCHASED',
    quantity: 1,
    purchaseDate: at,
    signedDate: at,
    ...changed,
  };
}

/** What Apple says of a subscription. */
export function renewable(changed: Record<string, unknown> = {}) {
  const type = 'Auto-Renewable Subscription';
  return consumable({ productId: 'premium', type, expiresDate: Date.now() + 3_600_000, ...changed });
}
