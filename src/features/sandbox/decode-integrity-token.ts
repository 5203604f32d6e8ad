import { compactDecrypt, compactVerify, errors } from 'jose';
import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { GOOGLE_JSON, googleError, googleReply, refusalWithout, scopes } from './google-reply.ts';
import { KEY_MAKING_MS } from './keys.ts';

const CALL = ':decodeIntegrityToken';

/** https://developer.android.com/google/play/integrity/reference/rest/v1/v1/decodeIntegrityToken */
export const sandboxDecodeIntegrityToken = endpoint({
  method: 'POST',
  path: '/sandbox/playintegrity/v1/{call}',
  caller: 'none',
  summary: "The sandbox's stand-in for `decodeIntegrityToken` of the Play Integrity API.",
  description:
    'Wants the bearer access token of `POST /sandbox/token` for the scope playintegrity. A token that the sandbox did not make for this ' +
    "package is Google's 400 `INVALID_ARGUMENT`.",
  params: z.object({ call: z.string().meta({ description: 'The package name, then `:decodeIntegrityToken`.' }) }),
  body: z.object({
    integrity_token: z.string().optional().meta({ description: 'Or, as JSON spells it, `integrityToken`.' }),
    integrityToken: z.string().optional(),
  }),
  reply: z.object({ tokenPayloadExternal: z.looseObject({}) }),
  errors: ['store_unavailable'],
  mediaType: GOOGLE_JSON,
  sandbox: true,
  probe: true,
  unlimited: true,
  deadlineMs: KEY_MAKING_MS,
  headers: { authorization: 'Bearer and an access token.' },
  example:
    `curl -s $base/sandbox/playintegrity/v1/dev.coinop.sandbox:decodeIntegrityToken -H 'authorization: Bearer access-token' ` +
    `-H 'content-type: application/json' -d '{"integrity_token":"token-of-the-app"}'`,
  async handle({ params, body, meta }, services) {
    const refusal = await refusalWithout(scopes.integrity, meta, services);
    if (refusal !== undefined) return refusal;
    const fault = { reason: 'badRequest', domain: 'global' };
    if (!params.call.endsWith(CALL)) return googleError(404, { ...fault, reason: 'notFound', message: 'Not Found', status: 'NOT_FOUND' });
    const packageName = params.call.slice(0, -CALL.length);
    const payload = await open(body.integrity_token ?? body.integrityToken ?? '', services);
    if (payload?.requestDetails.requestPackageName !== packageName) {
      const message = 'Integrity token cannot be decrypted due to invalid arguments.';
      return googleError(400, { ...fault, message, status: 'INVALID_ARGUMENT' });
    }
    return googleReply({ tokenPayloadExternal: payload });
  },
});

interface Payload {
  readonly requestDetails: { readonly requestPackageName: string };
}

/** Undefined for what this sandbox did not make. */
async function open(token: string, { sandbox }: Services): Promise<Payload | undefined> {
  const { integrity } = await sandbox!.keys.get();
  try {
    const options = { keyManagementAlgorithms: ['A256KW'], contentEncryptionAlgorithms: ['A256GCM'] };
    const { plaintext } = await compactDecrypt(token, integrity.decryption, options);
    const { payload } = await compactVerify(plaintext, integrity.publicKey, { algorithms: ['ES256'] });
    return JSON.parse(new TextDecoder().decode(payload)) as Payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}
