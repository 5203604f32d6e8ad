import { createPublicKey } from 'node:crypto';
import { compactDecrypt, compactVerify } from 'jose';
import { z } from 'zod';
import { refuse, Refusal } from '../errors.ts';
import { CALL_MS, type GoogleApi } from './api.ts';
import { isCompact } from './compact-token.ts';
import { appStoreAway } from './outage.ts';
import type { IntegrityKeys, StoreSettings } from './settings.ts';
import type { StoreParts } from './app-store.ts';

/** How old the verdict of a proof may be, by the clock of the store that gave it. */
const MAX_AGE_MS = 5 * 60_000;

/** A verdict from the future: clocks differ by less than this. */
const TOLERANCE_MS = 60_000;

/** int64 is a string in Google's JSON, a number in older tokens. */
const Milliseconds = z.union([
  z.number(),
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
]);

/**
 * What is looked at of a verdict (https://developer.android.com/google/play/integrity/verdicts). Google leaves out what
 * it did not evaluate, and adds fields and words as it goes.
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

/** What a verdict is held against, in the order it is told. */
export const integrityChecks = ['nonce', 'package', 'age', 'app_recognition', 'device_integrity', 'licensing'] as const;

export type IntegrityCheck = (typeof integrityChecks)[number];

/** Whether there are apps to prove, and a way to open their tokens. */
export function provesInstalls({
  packageNames,
  integrityKeys,
  serviceAccount,
}: Pick<StoreSettings, 'packageNames' | 'integrityKeys' | 'serviceAccount'>): boolean {
  return packageNames.length > 0 && (integrityKeys ?? serviceAccount) !== undefined;
}

/** Opens the store's attestations of installs: Play Integrity, classic requests. */
export class IntegrityTokens {
  readonly #parts: StoreParts;
  readonly #api: GoogleApi;

  constructor(parts: StoreParts, api: GoogleApi) {
    this.#parts = parts;
    this.#api = api;
  }

  get ready(): boolean {
    return provesInstalls(this.#parts.settings());
  }

  /**
   * The verdict in a token that is truly the store's; what it says is another matter (`failedChecks`).
   * @throws Refusal `bad_token`, `store_unavailable` or `store_unconfigured` where the store has to open it and cannot be asked
   */
  async open(token: string): Promise<IntegrityPayload> {
    const keys = await this.#parts.settings().integrityKeys?.();
    if (keys === undefined) return this.#openByStore(token);
    try {
      return await openByKeys(token, keys);
    } catch (error) {
      throw this.#badToken((error as Error).message);
    }
  }

  #badToken(reason: string): Refusal<'bad_token'> {
    this.#parts.log.debug({ reason }, 'an integrity token does not verify');
    return refuse('bad_token', { field: 'integrityToken' });
  }

  /**
   * A token does not say whose it is before it is opened: the store is asked for each app in turn. There mostly is one.
   * An app that the store does not speak of to this service must not stand in the way of the next.
   */
  async #openByStore(token: string): Promise<IntegrityPayload> {
    const { integrityUrl, packageNames } = this.#parts.settings();
    const endsAt = performance.now() + CALL_MS;
    let away: Refusal | undefined;
    for (const packageName of packageNames) {
      const url = `${integrityUrl}/v1/${packageName}:decodeIntegrityToken`;
      const budgetMs = Math.max(endsAt - performance.now(), 1);
      try {
        const { status, body } = await this.#api.call({ method: 'POST', url, body: { integrity_token: token }, budgetMs });
        if (status < 300) return this.#verdictIn(body);
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'store_unavailable') throw error;
        away ??= error;
      }
    }
    throw away ?? this.#badToken('the store opens it for no app of ours');
  }

  #verdictIn(body: unknown): IntegrityPayload {
    const answer = z.object({ tokenPayloadExternal: IntegrityPayload }).safeParse(body);
    if (answer.success) return answer.data.tokenPayloadExternal;
    // The store took the token, and said nothing we understand of it: that is no verdict on the install.
    this.#parts.log.warn('the store opened an integrity token and answered with something else');
    throw appStoreAway(1000);
  }
}

/**
 * A JWE around a JWS, by the two keys that the Play Console shows
 * (https://developer.android.com/google/play/integrity/classic#decrypt-verify-locally). Compression is refused: Google
 * uses none, and what is short here must not become long inside.
 */
async function openByKeys(token: string, keys: IntegrityKeys): Promise<IntegrityPayload> {
  if (!isCompact(token, 5)) throw new Error('not a JWE in compact form');
  const { plaintext } = await compactDecrypt(token, keys.decryption, {
    keyManagementAlgorithms: ['A256KW'],
    contentEncryptionAlgorithms: ['A256GCM'],
    maxDecompressedLength: 0,
  });
  const jws = Buffer.from(plaintext).toString('latin1');
  if (!isCompact(jws, 3)) throw new Error('what it holds is not a JWS in compact form');
  const key = createPublicKey({ key: Buffer.from(keys.verification), format: 'der', type: 'spki' });
  const { payload } = await compactVerify(jws, key, { algorithms: ['ES256'] });
  return payloadOf(payload);
}

function payloadOf(bytes: Uint8Array): IntegrityPayload {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    // The parser's own words would quote the payload.
    throw new Error('its payload is not JSON');
  }
  const payload = IntegrityPayload.safeParse(json);
  if (!payload.success) throw new Error(`unexpected ${payload.error.issues[0]!.path.join('.') || 'payload'}`);
  return payload.data;
}

/**
 * The checks that a verdict does not pass; none for a genuine install. A verdict that says nothing on a check does not pass it.
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
    // The requested name might be spoofed, says Google; the app's own is that of its certificate.
    package: packageName !== undefined && packageNames.includes(packageName) && requestDetails.requestPackageName === packageName,
    age: ageMs <= MAX_AGE_MS && ageMs >= -TOLERANCE_MS,
    app_recognition: appIntegrity.appRecognitionVerdict === 'PLAY_RECOGNIZED',
    device_integrity: deviceIntegrity.deviceRecognitionVerdict.includes('MEETS_DEVICE_INTEGRITY'),
    licensing: accountDetails.appLicensingVerdict === 'LICENSED',
  };
  return integrityChecks.filter((check) => !passed[check]);
}
