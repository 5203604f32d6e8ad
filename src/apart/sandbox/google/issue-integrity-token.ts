import { hash } from 'node:crypto';
import { CompactEncrypt, CompactSign } from 'jose';
import { z } from 'zod';
import { invalid } from '../../../errors.ts';
import type { SandboxServices } from '../sandbox-services.ts';
import { SANDBOX_PACKAGE_NAME } from '../settings.ts';

export const integrityTokenFields = {
  nonce: z
    .string()
    .regex(/^[\x21-\x7e]{1,500}$/, 'Must be 1 to 500 visible ASCII characters')
    .optional()
    .meta({
      description:
        'integrity_token: required. The nonce from GET /v1/account/store-install/nonce. id_token: the `nonce` claim, at most 255 characters.',
    }),
  appRecognitionVerdict: z
    .enum(['PLAY_RECOGNIZED', 'UNRECOGNIZED_VERSION', 'UNEVALUATED'])
    .optional()
    .meta({ description: 'integrity_token: PLAY_RECOGNIZED if left out.' }),
  deviceRecognitionVerdict: z
    .array(z.enum(['MEETS_BASIC_INTEGRITY', 'MEETS_DEVICE_INTEGRITY', 'MEETS_STRONG_INTEGRITY', 'MEETS_VIRTUAL_INTEGRITY']))
    .max(4, 'Must hold at most 4')
    .optional()
    .meta({ description: 'integrity_token: MEETS_DEVICE_INTEGRITY alone if left out. Empty: a device that meets none of them.' }),
  appLicensingVerdict: z
    .enum(['LICENSED', 'UNLICENSED', 'UNEVALUATED'])
    .optional()
    .meta({ description: 'integrity_token: LICENSED if left out.' }),
  ageSeconds: z
    .number()
    .min(-86_400, 'Must be at least -86400')
    .max(86_400, 'Must be at most 86400')
    .optional()
    .meta({ description: 'integrity_token: how long ago the app requested the token. 0 if left out. Below 0: in the future.' }),
};

interface IntegrityTokenOrder {
  readonly nonce?: string | undefined;
  readonly packageName?: string | undefined;
  readonly appRecognitionVerdict?: string | undefined;
  readonly deviceRecognitionVerdict?: readonly string[] | undefined;
  readonly appLicensingVerdict?: string | undefined;
  readonly ageSeconds?: number | undefined;
}

/**
 * Makes the token of a classic Play Integrity request. The token is signed (ES256), then encrypted (A256KW, A256GCM).
 * https://developer.android.com/google/play/integrity/classic#decrypt-verify-locally
 */
export async function issueIntegrityToken(
  order: IntegrityTokenOrder,
  { sandbox, now }: SandboxServices,
): Promise<{ integrityToken: string }> {
  const { nonce } = order;
  if (nonce === undefined) throw invalid('nonce', 'An integrity token is made for a nonce');
  if (!NONCE.test(nonce)) throw invalid('nonce', 'Must be 16 to 500 characters of base64url');
  const { integrity } = await sandbox.keys.get();
  const payload = payloadOf({ ...order, nonce }, now());
  const signed = await new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'ES256' })
    .sign(integrity.privateKey);
  const integrityToken = await new CompactEncrypt(new TextEncoder().encode(signed))
    .setProtectedHeader({ alg: 'A256KW', enc: 'A256GCM' })
    .encrypt(integrity.decryption);
  return { integrityToken };
}

/** The nonces for which Google makes integrity tokens: https://developer.android.com/google/play/integrity/classic#nonce */
const NONCE = /^[A-Za-z0-9_=-]{16,500}$/;

/** The verdict in the token: https://developer.android.com/google/play/integrity/verdicts */
function payloadOf(order: IntegrityTokenOrder & { nonce: string }, now: number): object {
  const { nonce, packageName = SANDBOX_PACKAGE_NAME, appRecognitionVerdict = 'PLAY_RECOGNIZED', ageSeconds = 0 } = order;
  const { deviceRecognitionVerdict = ['MEETS_DEVICE_INTEGRITY'], appLicensingVerdict = 'LICENSED' } = order;
  const evaluated = appRecognitionVerdict !== 'UNEVALUATED';
  return {
    requestDetails: { requestPackageName: packageName, nonce, timestampMillis: String(Math.round(now - ageSeconds * 1000)) },
    appIntegrity: {
      appRecognitionVerdict,
      ...(evaluated ? { packageName, certificateSha256Digest: [CERTIFICATE_DIGEST], versionCode: '1' } : {}),
    },
    deviceIntegrity: deviceRecognitionVerdict.length === 0 ? {} : { deviceRecognitionVerdict },
    accountDetails: { appLicensingVerdict },
  };
}

/** A made-up digest, because the sandbox's app has no signing certificate. */
const CERTIFICATE_DIGEST = hash('sha256', 'coinop:sandbox', 'base64url');
