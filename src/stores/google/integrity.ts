import { createPublicKey } from 'node:crypto';
import { compactDecrypt, compactVerify } from 'jose';
import { z } from 'zod';
import { refuse, Refusal } from '../../errors.ts';
import { CALL_MS } from '../store-calls.ts';
import type { GoogleApi } from './google-api.ts';
import { isCompact } from '../compact-token.ts';
import { appStoreUnavailable } from '../store-refusals.ts';
import type { InstallProofs } from '../store.ts';
import type { GoogleOptions, GoogleSettings, IntegrityKeys } from './settings.ts';

/** The highest age of a verdict, in milliseconds, by the store's timestamp. */
const MAX_AGE_MS = 5 * 60_000;

/** The most milliseconds that a verdict's time may lie in the future. The clocks of the store and of the service differ by less. */
const TOLERANCE_MS = 60_000;

/** A time in milliseconds. In Google's JSON an int64 is a string; older tokens have a number. */
const Milliseconds = z.union([
  z.number(),
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
]);

/**
 * The fields of a verdict that the service checks (https://developer.android.com/google/play/integrity/verdicts). All are
 * optional, because Google omits a field that it did not evaluate. Fields and values may be unknown, because Google adds new ones.
 */
const IntegrityPayload = z.object({
  requestDetails: z
    .object({ requestPackageName: z.string().optional(), nonce: z.string().optional(), timestampMillis: Milliseconds.optional() })
    .default({}),
  appIntegrity: z.object({ appRecognitionVerdict: z.string().optional(), packageName: z.string().optional() }).default({}),
  deviceIntegrity: z.object({ deviceRecognitionVerdict: z.array(z.string()).default([]) }).default({ deviceRecognitionVerdict: [] }),
  accountDetails: z.object({ appLicensingVerdict: z.string().optional() }).default({}),
});

export type IntegrityPayload = z.output<typeof IntegrityPayload>;

/** The names of the checks of a verdict, in the order in which `failedChecks` reports them. */
export const integrityChecks = ['nonce', 'package', 'age', 'app_recognition', 'device_integrity', 'licensing'] as const;

export type IntegrityCheck = (typeof integrityChecks)[number];

/** Whether install proofs are configured: at least one app, and either keys or a service account to decrypt the app's tokens. */
export function provesInstalls({
  packageNames,
  integrityKeys,
  serviceAccount,
}: Pick<GoogleSettings, 'packageNames' | 'integrityKeys' | 'serviceAccount'>): boolean {
  return packageNames.length > 0 && (integrityKeys ?? serviceAccount) !== undefined;
}

/** Decrypts and verifies Play Integrity tokens, which apps get by a "classic" request. */
export class IntegrityTokens implements InstallProofs {
  readonly #options: GoogleOptions;
  readonly #api: GoogleApi;

  constructor(options: GoogleOptions, api: GoogleApi) {
    this.#options = options;
    this.#api = api;
  }

  get ready(): boolean {
    return provesInstalls(this.#options.settings());
  }

  async verify(token: string, nonce: string, traceparent?: string): Promise<{ packageName: string }> {
    const payload = await this.open(token, traceparent);
    const { packageNames } = this.#options.settings();
    const failed = failedChecks(payload, { nonce, packageNames, now: this.#options.wallClock() });
    if (failed.length > 0) throw refuse('integrity_failed', { failed });
    return { packageName: payload.appIntegrity.packageName! };
  }

  /**
   * The verdict of a genuine token. `failedChecks` tells whether the verdict suffices.
   * @throws Refusal `bad_token`; without local keys, when the store has to decrypt the token, also `app_store_unavailable` and
   * `store_unconfigured`
   */
  async open(token: string, traceparent?: string): Promise<IntegrityPayload> {
    const keys = await this.#options.settings().integrityKeys?.();
    if (keys === undefined) return this.#openByStore(token, traceparent);
    try {
      return await openByKeys(token, keys);
    } catch (error) {
      throw this.#badToken((error as Error).message);
    }
  }

  #badToken(reason: string): Refusal<'bad_token'> {
    this.#options.log.debug({ reason }, 'an integrity token does not verify');
    return refuse('bad_token', { field: 'integrityToken' });
  }

  /**
   * An encrypted token does not show its app, so the service asks the store about each configured app in turn, all within CALL_MS. Most
   * services have one app. If the store does not answer for one app, the service still asks about the next app.
   */
  async #openByStore(token: string, traceparent: string | undefined): Promise<IntegrityPayload> {
    const { integrityUrl, packageNames } = this.#options.settings();
    const endsAt = performance.now() + CALL_MS;
    let away: Refusal | undefined;
    for (const packageName of packageNames) {
      const url = `${integrityUrl}/v1/${packageName}:decodeIntegrityToken`;
      const budgetMs = Math.max(endsAt - performance.now(), 1);
      try {
        const request = { method: 'POST', url, body: { integrity_token: token }, traceparent, budgetMs } as const;
        const { status, body } = await this.#api.call(request);
        if (status < 300) return this.#verdictIn(body);
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'app_store_unavailable') throw error;
        away ??= error;
      }
    }
    throw away ?? this.#badToken('the store decrypts the token for none of GOOGLE_PACKAGE_NAMES');
  }

  #verdictIn(body: unknown): IntegrityPayload {
    const answer = z.object({ tokenPayloadExternal: IntegrityPayload }).safeParse(body);
    if (answer.success) return answer.data.tokenPayloadExternal;
    // The store accepted the token but sent no readable verdict. The token may be genuine, so the answer is not `bad_token`.
    this.#options.log.warn('the store decrypted an integrity token and answered without a readable verdict');
    throw appStoreUnavailable(1000);
  }
}

/**
 * Decrypts the JWE and verifies the JWS inside it, with the two keys that the Play Console shows
 * (https://developer.android.com/google/play/integrity/classic#decrypt-verify-locally). Compression is refused: Google
 * uses none, and a short token must not expand into a large payload.
 */
async function openByKeys(token: string, keys: IntegrityKeys): Promise<IntegrityPayload> {
  if (!isCompact(token, 5)) throw new Error('not a JWE in compact form');
  const { plaintext } = await compactDecrypt(token, keys.decryption, {
    keyManagementAlgorithms: ['A256KW'],
    contentEncryptionAlgorithms: ['A256GCM'],
    maxDecompressedLength: 0,
  });
  const jws = Buffer.from(plaintext).toString('latin1');
  if (!isCompact(jws, 3)) throw new Error('the JWE holds no JWS in compact form');
  const key = createPublicKey({ key: Buffer.from(keys.verification), format: 'der', type: 'spki' });
  const { payload } = await compactVerify(jws, key, { algorithms: ['ES256'] });
  return payloadOf(payload);
}

function payloadOf(bytes: Uint8Array): IntegrityPayload {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    // The parser's own message is left out, because it would quote the payload in the log.
    throw new Error('the payload is not JSON');
  }
  const payload = IntegrityPayload.safeParse(json);
  if (!payload.success) throw new Error(`unexpected ${payload.error.issues[0]!.path.join('.') || 'payload'}`);
  return payload.data;
}

/**
 * The names of the checks that a verdict fails; none for a genuine install. A check fails if the verdict lacks the field for it.
 * @param expected `nonce` in base64url without padding, `now` in milliseconds since 1970
 */
export function failedChecks(
  { requestDetails, appIntegrity, deviceIntegrity, accountDetails }: IntegrityPayload,
  { nonce, packageNames, now }: { nonce: string; packageNames: readonly string[]; now: number },
): IntegrityCheck[] {
  const { packageName } = appIntegrity;
  const ageMs = now - (requestDetails.timestampMillis ?? -Infinity);
  const passed: Record<IntegrityCheck, boolean> = {
    nonce: requestDetails.nonce?.replace(/=+$/, '') === nonce,
    // Google warns that requestPackageName may be forged. The packageName in appIntegrity is reliable, because it is verified by the app's
    // certificate.
    package: packageName !== undefined && packageNames.includes(packageName) && requestDetails.requestPackageName === packageName,
    age: ageMs <= MAX_AGE_MS && ageMs >= -TOLERANCE_MS,
    app_recognition: appIntegrity.appRecognitionVerdict === 'PLAY_RECOGNIZED',
    device_integrity: deviceIntegrity.deviceRecognitionVerdict.includes('MEETS_DEVICE_INTEGRITY'),
    licensing: accountDetails.appLicensingVerdict === 'LICENSED',
  };
  return integrityChecks.filter((check) => !passed[check]);
}
