import { createPrivateKey, createPublicKey, generateKeyPair, randomBytes, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { sandboxRedisKeys } from './model.ts';

/**
 * Reads the sandbox's signing keys. Records `made` if there are none yet. If several processes start together, the keys stay that were
 * recorded first. Without `made` ('') it only reads. Answers kept(keys), none.
 */
export const keepKeys = defineScript({
  name: 'sandbox/keep-keys',
  lua: `if made ~= '' then redis.call('SET', keys, made, 'NX') end
    local kept = redis.call('GET', keys)
    if not kept then return {'none'} end
    return {'kept', kept}`,
  keys: ['keys'],
  args: ['made'],
  answers: ['kept', 'none'],
});

/**
 * The deadline, in milliseconds, for an answer that may have to make the keys first. Making two RSA keys takes a tenth of a second each,
 * and on a busy machine ten times as long.
 */
export const KEY_MAKING_MS = 10_000;

/** The keys in the form in which Redis keeps them: private keys in PKCS #8, PEM; secrets in base64url. */
interface KeptKeys {
  readonly tokens: string;
  readonly serviceAccount: string;
  readonly accessTokens: string;
  readonly integrityDecryption: string;
  readonly integritySigning: string;
}

/** The sandbox's keys, including the private keys. */
export interface SandboxKeySet {
  /** The key that signs ID tokens and the tokens of Pub/Sub pushes (RS256). Google uses the same keys for both, too. */
  readonly tokens: { readonly kid: string; readonly privateKey: KeyObject };
  /** The JWK set with which the service verifies these tokens. */
  readonly jwks: { readonly keys: readonly JWK[] };
  readonly serviceAccount: { readonly kid: string; readonly pem: string; readonly publicKey: KeyObject };
  /** The HS256 secret of access tokens, which only the sandbox itself verifies. */
  readonly accessTokens: Uint8Array;
  readonly integrity: {
    /** The AES-256 key that encrypts the JWE. */
    readonly decryption: Uint8Array;
    /** The P-256 key that signs the JWS within the JWE. */
    readonly privateKey: KeyObject;
    readonly publicKey: KeyObject;
    /** The public key of the JWS in the Play Console's format: SPKI, DER. */
    readonly verification: Uint8Array;
  };
}

/**
 * The sandbox's keys. The first process that needs keys makes them, outside of the event loop. Redis keeps the keys, so all processes that
 * use it share them, and they survive a restart.
 */
export class SandboxKeys {
  readonly #scripts: ScriptRunner;
  #known: Promise<SandboxKeySet> | undefined;

  constructor(scripts: ScriptRunner) {
    this.#scripts = scripts;
  }

  get(): Promise<SandboxKeySet> {
    return (this.#known ??= this.#fetch().catch((error: unknown) => {
      // Redis was unavailable. The failure is not kept, so the next call reads the keys again.
      this.#known = undefined;
      throw error;
    }));
  }

  async #fetch(): Promise<SandboxKeySet> {
    const kept = (await this.#keep('')) ?? (await this.#keep(JSON.stringify(await makeKeys())));
    return keySetOf(JSON.parse(kept!) as KeptKeys);
  }

  /** Reads the keys from Redis. @param made the keys to record if Redis has none; empty: only read */
  async #keep(made: string): Promise<string | undefined> {
    const [, kept] = await this.#scripts.run(keepKeys, { keys: sandboxRedisKeys.keys }, { made });
    return kept;
  }
}

const generate = promisify(generateKeyPair);

async function makeKeys(): Promise<KeptKeys> {
  const [tokens, serviceAccount, integrity] = await Promise.all([
    generate('rsa', { modulusLength: 2048 }),
    generate('rsa', { modulusLength: 2048 }),
    generate('ec', { namedCurve: 'P-256' }),
  ]);
  return {
    tokens: pemOf(tokens.privateKey),
    serviceAccount: pemOf(serviceAccount.privateKey),
    accessTokens: randomBytes(32).toString('base64url'),
    integrityDecryption: randomBytes(32).toString('base64url'),
    integritySigning: pemOf(integrity.privateKey),
  };
}

function pemOf(privateKey: KeyObject): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

async function keySetOf(kept: KeptKeys): Promise<SandboxKeySet> {
  const published = await publishedKey(kept.tokens);
  const integrityPublicKey = createPublicKey(kept.integritySigning);
  return {
    tokens: { kid: published.kid!, privateKey: createPrivateKey(kept.tokens) },
    jwks: { keys: [published] },
    serviceAccount: {
      kid: (await publishedKey(kept.serviceAccount)).kid!,
      pem: kept.serviceAccount,
      publicKey: createPublicKey(kept.serviceAccount),
    },
    accessTokens: Buffer.from(kept.accessTokens, 'base64url'),
    integrity: {
      decryption: Buffer.from(kept.integrityDecryption, 'base64url'),
      privateKey: createPrivateKey(kept.integritySigning),
      publicKey: integrityPublicKey,
      verification: integrityPublicKey.export({ type: 'spki', format: 'der' }),
    },
  };
}

/** The public key as the JWK set has it. Its `kid` is the key's thumbprint (RFC 7638), so every process computes the same `kid`. */
async function publishedKey(pem: string): Promise<JWK> {
  const jwk = createPublicKey(pem).export({ format: 'jwk' }) as JWK;
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'RS256', use: 'sig' };
}
