import { createPrivateKey, generateKeyPair, sign, X509Certificate, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { AppleSettings } from '../../../stores/apple/settings.ts';
import { APPLE_MARKS, certificateDer } from './certificates.ts';
import { sandboxRedisKeys } from '../model.ts';
import { SANDBOX_PACKAGE_NAME } from '../settings.ts';
import { keepKeys } from '../signing-keys.ts';

/** The keys as Redis has them. The private keys of root and intermediate are not kept after they have signed. */
interface KeptKeys {
  /** PKCS #8, PEM. */
  readonly leaf: string;
  /** The key with which the service calls the API. Missing in older data: the leaf's key. */
  readonly api?: string;
  /** The certificates leaf, intermediate and root, in the form for the header of a signed text. */
  readonly x5c: readonly [string, string, string];
}

interface AppleKeySet {
  readonly privateKey: KeyObject;
  readonly apiKey: KeyObject;
  readonly x5c: KeptKeys['x5c'];
  readonly root: X509Certificate;
}

/** The ids of the sandbox's issuer, key and team, in the form in which App Store Connect shows such ids. */
export const SANDBOX_ISSUER_ID = 'sandbox-issuer';
export const SANDBOX_KEY_ID = 'SANDBOXKEY';
export const SANDBOX_TEAM_ID = 'SANDBOXTEAM';

/**
 * Milliseconds between two readings of the list of refunds. The time is short, so that a developer soon sees a refund without its
 * notification.
 */
const ASK_FOR_REFUNDS_EVERY_MS = 60_000;

/** The sandbox's stand-in for Apple's certificates. They are kept in Redis, like the keys of `SandboxKeys`. */
export class AppleKeys {
  readonly #scripts: ScriptRunner;
  #known: Promise<AppleKeySet> | undefined;

  constructor(scripts: ScriptRunner) {
    this.#scripts = scripts;
  }

  /** The settings with which the service uses the sandbox in place of Apple. @param apiUrl the address of the stand-in for Apple's API */
  settingsAt(apiUrl: string): AppleSettings {
    return {
      bundleIds: [SANDBOX_PACKAGE_NAME],
      appIds: [],
      roots: async () => [(await this.#get()).root],
      tellsUse: false,
      api: {
        issuerId: SANDBOX_ISSUER_ID,
        keyId: SANDBOX_KEY_ID,
        privateKey: () => this.apiKey(),
        urls: { Production: `${apiUrl}/production`, Sandbox: `${apiUrl}/sandbox` },
        isLimited: false,
        askForRefundsEveryMs: ASK_FOR_REFUNDS_EVERY_MS,
      },
    };
  }

  async apiKey(): Promise<KeyObject> {
    return (await this.#get()).apiKey;
  }

  /** Signs as Apple does. */
  async sign(said: object): Promise<string> {
    const { privateKey, x5c } = await this.#get();
    return signedText(said, { alg: 'ES256', x5c }, privateKey);
  }

  #get(): Promise<AppleKeySet> {
    return (this.#known ??= this.#fetch().catch((error: unknown) => {
      // Redis was unavailable. The failure is not kept, so the next call reads the keys again.
      this.#known = undefined;
      throw error;
    }));
  }

  async #fetch(): Promise<AppleKeySet> {
    const kept = (await this.#keep('')) ?? (await this.#keep(JSON.stringify(await makeKeys())));
    const { leaf, api = leaf, x5c } = JSON.parse(kept!) as KeptKeys;
    return {
      privateKey: createPrivateKey(leaf),
      apiKey: createPrivateKey(api),
      x5c,
      root: new X509Certificate(Buffer.from(x5c[2], 'base64')),
    };
  }

  /** Reads the keys from Redis. @param made the keys to record if Redis has none; empty: only read */
  async #keep(made: string): Promise<string | undefined> {
    const [, kept] = await this.#scripts.run(keepKeys, { keys: sandboxRedisKeys.appleKeys }, { made });
    return kept;
  }
}

/** A JWS by ES256. */
export function signedText(said: object, header: object, privateKey: KeyObject): string {
  const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const text = `${encoded(header)}.${encoded(said)}`;
  return `${text}.${sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

const generate = promisify(generateKeyPair);

async function makeKeys(): Promise<KeptKeys> {
  const [leaf, intermediate, root, api] = await Promise.all([newPair(), newPair(), newPair(), newPair()]);
  const [leafName, intermediateName, rootName] = ['coinop sandbox leaf', 'coinop sandbox intermediate', 'coinop sandbox root'] as const;
  const written = [
    ofPair(leaf, { subject: leafName, issuer: intermediateName, signedBy: intermediate.privateKey, mark: APPLE_MARKS.leaf }),
    ofPair(intermediate, { subject: intermediateName, issuer: rootName, signedBy: root.privateKey, mark: APPLE_MARKS.intermediate }),
    ofPair(root, { subject: rootName, issuer: rootName, signedBy: root.privateKey }),
  ];
  const x5c = written.map((bytes) => bytes.toString('base64')) as [string, string, string];
  const pemOf = ({ privateKey }: typeof leaf): string => privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { leaf: pemOf(leaf), api: pemOf(api), x5c };
}

const newPair = () => generate('ec', { namedCurve: 'P-256' });

type Parts = Omit<Parameters<typeof certificateDer>[0], 'publicKey' | 'isAuthority'>;

function ofPair({ publicKey }: { readonly publicKey: KeyObject }, parts: Parts): Buffer {
  return certificateDer({ ...parts, publicKey, isAuthority: parts.mark !== APPLE_MARKS.leaf });
}
