import { constants, sign } from 'node:crypto';
import type { Wanted } from '../../../src/apart/sandbox/apple/certificates.ts';
import { AppleIssuer, BUNDLE_ID, consumable, newPair, renewable } from './issuer.ts';

/** The id of the app in App Store Connect. */
export const APP_ID = 1234;

export type Said = Record<string, unknown>;
export type Certificate = { -readonly [Field in 'mark' | 'isAuthority' | 'validFrom' | 'validTo' | 'issuer' | 'signedBy']?: Wanted[Field] };

/** A text before it is signed. */
export interface Draft {
  said: Said;
  leaf: Certificate;
  intermediate: Certificate;
  /** A curve, or `rsa`. */
  key: string;
  isOfOtherRoot: boolean;
  isOfOtherKey: boolean;
  header: Said;
  /** Changes the certificates in the header. */
  x5c: (x5c: string[]) => unknown;
  /** Writes the JSON before the text is signed. */
  json: (said: unknown) => string;
  /** Changes the signed text, which is not signed again. */
  signed: (text: string) => string;
  /** Of a notification: the texts within. */
  readonly transaction?: Draft;
  renewal?: Draft;
}

export type Random = () => number;
export type Part = 'notification' | 'transaction' | 'renewal';

/** A key that no certificate has. */
export const STRANGER = newPair();

/** What Apple says of the app. */
export const oursAlone = { bundleId: BUNDLE_ID, environment: 'Production', appAppleId: APP_ID };

/** The issuer whose root is pinned. */
export const apple = new AppleIssuer();
const others = new AppleIssuer();

type Chain = ReturnType<AppleIssuer['chain']>;
const chains = new Map<string, Chain>();

/** A chain as a draft wants it. Chains are made once, because a key costs more than a text. */
function chainFor({ leaf, intermediate, key, isOfOtherRoot }: Draft, random: Random): Chain {
  // A service sees a few chains. A key of RSA takes long to make.
  const number = key === 'rsa' ? 0 : Math.floor(random() * 2);
  const wanted = JSON.stringify([
    { ...leaf, mark: markOf(leaf), signedBy: leaf.signedBy !== undefined },
    { ...intermediate, mark: markOf(intermediate), signedBy: intermediate.signedBy !== undefined },
    key,
    isOfOtherRoot,
    number,
  ]);
  const known = chains.get(wanted);
  if (known !== undefined) return known;
  const made = (isOfOtherRoot ? others : apple).chain({ leaf, intermediate, curve: key });
  chains.set(wanted, made);
  return made;
}

/** JSON has no undefined. */
const markOf = (certificate: Certificate): string => ('mark' in certificate ? (certificate.mark ?? 'none') : 'usual');

function signedBy({ privateKey }: Chain, alg: unknown, text: string): string {
  const bytes = Buffer.from(text);
  if (privateKey.asymmetricKeyType === 'rsa') {
    const { RSA_PKCS1_PSS_PADDING, RSA_PKCS1_PADDING } = constants;
    const padding = alg === 'PS256' ? { padding: RSA_PKCS1_PSS_PADDING, saltLength: 32 } : { padding: RSA_PKCS1_PADDING };
    return sign('sha256', bytes, { key: privateKey, ...padding }).toString('base64url');
  }
  return sign(alg === 'ES384' ? 'sha384' : 'sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

export function textOf(draft: Draft, random: Random): string {
  const chain = chainFor(draft, random);
  const header = { alg: 'ES256', x5c: draft.x5c([...chain.x5c]), ...draft.header };
  const said =
    draft.said['data'] === undefined
      ? draft.said
      : { ...draft.said, data: { ...withinOf(draft, random), ...(draft.said['data'] as Said) } };
  const [head, body] = [JSON.stringify(header), draft.json(said)].map((part) => Buffer.from(part).toString('base64url')) as [
    string,
    string,
  ];
  const signature = signedBy(draft.isOfOtherKey ? { ...chain, privateKey: STRANGER.privateKey } : chain, header.alg, `${head}.${body}`);
  return draft.signed(`${head}.${body}.${signature}`);
}

function withinOf({ transaction, renewal }: Draft, random: Random): Said {
  return {
    ...(transaction && { signedTransactionInfo: textOf(transaction, random) }),
    ...(renewal && { signedRenewalInfo: textOf(renewal, random) }),
  };
}

export function draftOf(said: Said, within: Pick<Draft, 'transaction' | 'renewal'> = {}): Draft {
  return {
    ...{ said, leaf: {}, intermediate: {}, key: 'P-256', isOfOtherRoot: false, isOfOtherKey: false, header: {} },
    x5c: (x5c) => x5c,
    json: (all) => JSON.stringify(all),
    signed: (text) => text,
    ...within,
  };
}

/** A notification of a purchase, or of a renewal. */
export function notificationDraft(random: Random): Draft {
  const isRenewable = random() < 0.5;
  const bought = isRenewable ? renewable() : consumable();
  const { originalTransactionId, environment } = bought;
  const renewal = { originalTransactionId, environment, autoRenewStatus: 1, signedDate: Date.now() };
  const said = {
    notificationType: isRenewable ? 'DID_RENEW' : 'ONE_TIME_CHARGE',
    notificationUUID: '002e14d5-51f5-4503-b5a8-c3a1af68eb20',
    version: '2.0',
    signedDate: Date.now(),
    data: oursAlone,
  };
  return draftOf(said, { transaction: draftOf(bought), ...(isRenewable ? { renewal: draftOf(renewal) } : {}) });
}
