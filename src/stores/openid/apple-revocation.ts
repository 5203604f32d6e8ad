import type { KeyObject } from 'node:crypto';
import { decodeJwt, SignJWT } from 'jose';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { within } from '../../redis/within.ts';
import { readPrivateKey } from '../apple/private-key.ts';
import { boundedFetch, Fault, parseJson } from '../bounded-fetch.ts';

/** The audience of client secrets: https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret */
export const SECRET_AUDIENCE = 'https://appleid.apple.com';

/** The life of a client secret, in seconds. It is made for each call. */
const SECRET_SECONDS = 300;

/** The most milliseconds for which the answer to a deletion waits for Apple, and the most for one call. */
const REVOKE_MS = 5000;
const CALL_MS = 2500;

/** The keys with which the service revokes the rights that a user has granted to its apps. */
export interface RevocationSettings {
  readonly teamId: string;
  readonly keyId: string;
  /** P-256. */
  readonly privateKey: () => KeyObject | Promise<KeyObject>;
  /**
   * The base URL of Apple's REST API: https://appleid.apple.com. A function, because the sandbox's URL is known only once the service
   * listens.
   */
  readonly url: () => string;
  /** The ids (of bundles and services) to which users sign in. */
  readonly clientIds: readonly string[];
}

/** The settings of these keys. Undefined: they are not set. Must be called only if `providerProblems` found no problem. */
export function revocationSettings(config: Config): RevocationSettings | undefined {
  const { APPLE_TEAM_ID: teamId, APPLE_SIGN_IN_KEY_ID: keyId, APPLE_SIGN_IN_KEY_FILE: file, APPLE_CLIENT_IDS: clientIds } = config;
  if (teamId === undefined || keyId === undefined || file === undefined || clientIds.length === 0) return undefined;
  const privateKey = readPrivateKey(file);
  return { teamId, keyId, privateKey: () => privateKey, url: () => SECRET_AUDIENCE, clientIds };
}

const Granted = z.object({ id_token: z.string().max(8192), refresh_token: z.string().min(1).max(8192) });

const RefusedGrant = z.object({ error: z.string().max(64) });

export interface RevocationOptions {
  readonly settings: RevocationSettings | undefined;
  readonly wallClock: () => number;
  readonly log: Logger;
}

/**
 * Revokes at Apple the rights that a user has granted to an app
 * (https://developer.apple.com/documentation/signinwithapplerestapi/revoke-tokens). The service uses the tokens that Apple gives for a code
 * of the user only for the revocation, and does not keep them.
 */
export class AppleRevocation {
  readonly #options: RevocationOptions;

  constructor(options: RevocationOptions) {
    this.#options = options;
  }

  /**
   * Exchanges a code of a user for a token, and revokes that token, within 5 s. Never throws: a failure is logged.
   * @param code the app got it with the user's sign-in, at most five minutes ago
   * @param clientId the app or website for which Apple issued the user's ID token. Undefined: any of the settings
   * @param isOurs whether the account to delete is of this user (`sub`)
   * @returns whether Apple has revoked it
   */
  async revoke(code: string, clientId: string | undefined, isOurs: (subject: string) => Promise<boolean>): Promise<boolean> {
    const { settings, log } = this.#options;
    if (settings === undefined) return false;
    const revoking = this.#revoke(settings, { code, clientIds: clientId === undefined ? settings.clientIds : [clientId], isOurs }).catch(
      (error: unknown) => {
        log.warn({ reason: (error as Error).message }, 'Apple has not revoked the sign-in of a deleted account');
        return false;
      },
    );
    return within(REVOKE_MS, revoking, () => false);
  }

  /**
   * For the doctor: sends a code that no user ever got.
   * @returns Apple's error: `invalid_grant` if Apple takes the key and the client id, `invalid_client` if not
   * @throws Fault if Apple does not answer
   */
  async probe(clientId: string): Promise<string> {
    const { settings } = this.#options;
    const { text } = await this.#post(settings!, clientId, '/auth/token', { code: 'doctor', grant_type: 'authorization_code' });
    return RefusedGrant.parse(parseJson(text)).error;
  }

  async #revoke(settings: RevocationSettings, { code, clientIds, isOurs }: Exchange): Promise<boolean> {
    let failure = new Error('no client id');
    for (const clientId of clientIds) {
      const form = { code, grant_type: 'authorization_code' };
      const { status, text } = await this.#post(settings, clientId, '/auth/token', form);
      // Apple refuses a code for another client id with 400.
      if (status !== 200) {
        failure = new Error(`status ${status} for the code`);
        continue;
      }
      const { id_token: idToken, refresh_token: token } = Granted.parse(parseJson(text));
      // The ID token comes from Apple itself, so its signature need not be checked.
      if (!(await isOurs(decodeJwt(idToken).sub ?? ''))) throw new Error('the code is of another user');
      const revoked = await this.#post(settings, clientId, '/auth/revoke', { token, token_type_hint: 'refresh_token' });
      if (revoked.status !== 200) throw new Fault(`status ${revoked.status} for the token`);
      return true;
    }
    throw failure;
  }

  async #post({ url, ...keys }: RevocationSettings, clientId: string, path: string, fields: Record<string, string>) {
    const secret = await this.#secretFor(clientId, keys);
    const body = new URLSearchParams({ client_id: clientId, client_secret: secret, ...fields }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
    return boundedFetch(`${url()}${path}`, { method: 'POST', headers, body }, CALL_MS);
  }

  async #secretFor(clientId: string, { teamId, keyId, privateKey }: Omit<RevocationSettings, 'url'>): Promise<string> {
    const issuedAt = Math.floor(this.#options.wallClock() / 1000);
    return new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: keyId })
      .setIssuer(teamId)
      .setSubject(clientId)
      .setAudience(SECRET_AUDIENCE)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + SECRET_SECONDS)
      .sign(await privateKey());
  }
}

interface Exchange {
  readonly code: string;
  readonly clientIds: readonly string[];
  readonly isOurs: (subject: string) => Promise<boolean>;
}
