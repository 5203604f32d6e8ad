import { compactDecrypt, compactVerify, errors } from 'jose';
import { z } from 'zod';
import { scopes } from './issue-access-token.ts';
import { googleEndpoint } from './google-endpoint.ts';
import { googleError, notFound } from './google-reply.ts';
import type { SandboxServices } from '../sandbox-services.ts';

const CALL = ':decodeIntegrityToken';

/** Stands in for https://developer.android.com/google/play/integrity/reference/rest/v1/v1/decodeIntegrityToken */
export const sandboxDecodeIntegrityToken = googleEndpoint({
  method: 'POST',
  path: '/sandbox/playintegrity/v1/{call}',
  operationId: 'sandboxDecodeIntegrityToken',
  scope: scopes.integrity,
  summary: "The sandbox's stand-in for `decodeIntegrityToken` of the Play Integrity API.",
  description:
    'Requires the access token of `POST /sandbox/token`, with the scope playintegrity, as a bearer. An integrity token that the sandbox ' +
    'did not issue for this package is refused as Google does it, with 400 `INVALID_ARGUMENT`.',
  params: z.object({ call: z.string().meta({ description: 'The package name, then `:decodeIntegrityToken`.' }) }),
  body: z.object({
    integrity_token: z.string().optional().meta({ description: 'The name `integrityToken` is accepted as well.' }),
    integrityToken: z.string().optional(),
  }),
  reply: z.object({ tokenPayloadExternal: z.looseObject({}) }),
  example:
    `curl -s $base/sandbox/playintegrity/v1/dev.coinop.sandbox:decodeIntegrityToken -H 'authorization: Bearer access-token' ` +
    `-H 'content-type: application/json' -d '{"integrity_token":"token-of-the-app"}'`,
  async handle({ params, body }, services) {
    if (!params.call.endsWith(CALL)) return notFound('NOT_FOUND');
    const packageName = params.call.slice(0, -CALL.length);
    const payload = await open(body.integrity_token ?? body.integrityToken ?? '', services);
    if (payload?.requestDetails.requestPackageName !== packageName) {
      const message = 'Integrity token cannot be decrypted due to invalid arguments.';
      return googleError(400, { reason: 'badRequest', domain: 'global', message, status: 'INVALID_ARGUMENT' });
    }
    return { tokenPayloadExternal: payload };
  },
});

type Payload = Record<string, unknown> & { readonly requestDetails: { readonly requestPackageName: string } };

/** The payload of an integrity token. Undefined if this sandbox did not issue the token. */
async function open(token: string, { sandbox }: SandboxServices): Promise<Payload | undefined> {
  const { integrity } = await sandbox.keys.get();
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
