import { errors, jwtVerify, type JWTPayload } from 'jose';
import { z } from 'zod';
import { Reply, type Encoded } from '../../../server/http/endpoint.ts';
import { ACCESS_TOKEN_LIFE_SECONDS, issueAccessToken } from './issue-access-token.ts';
import { googleEndpoint } from './google-endpoint.ts';
import { googleReply } from './google-reply.ts';
import type { SandboxServices } from '../sandbox-services.ts';
import { SANDBOX_SERVICE_ACCOUNT } from '../settings.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The longest life of an assertion that is accepted: https://developers.google.com/identity/protocols/oauth2/service-account#httprest */
const MAX_ASSERTION_SECONDS = 3600;

/** Seconds by which the clock of the signer may run ahead of the sandbox's. */
const CLOCK_TOLERANCE_SECONDS = 60;

export const sandboxToken = googleEndpoint({
  method: 'POST',
  path: '/sandbox/token',
  operationId: 'sandboxGetAccessToken',
  summary: "The sandbox's stand-in for Google's token endpoint: exchanges the service account's assertion for an access token.",
  description:
    'Stands in for oauth2.googleapis.com/token (RFC 7523). A refused grant is answered with 400 in the format of RFC 6749, section 5.2: ' +
    '`{"error":"invalid_grant","error_description":"…"}`, or `invalid_request`, `unsupported_grant_type`, `invalid_scope`.',
  body: z.object({
    grant_type: z.string().optional().meta({ description: JWT_BEARER }),
    assertion: z.string().optional().meta({ description: 'A JWT of the service account (RS256): iss, aud, iat, exp and scope.' }),
  }),
  form: true,
  reply: z.object({ access_token: z.string(), expires_in: z.number().int(), token_type: z.literal('Bearer') }),
  example: `curl -s $base/sandbox/token -d 'grant_type=${JWT_BEARER}' -d 'assertion=jwt-of-the-service-account'`,
  async handle({ body }, services) {
    if (body.grant_type === undefined) return oauthError('invalid_request', 'Required parameter is missing: grant_type');
    if (body.grant_type !== JWT_BEARER) return oauthError('unsupported_grant_type', `Invalid grant_type: Must be ${JWT_BEARER}`);
    if (body.assertion === undefined) return oauthError('invalid_request', 'Required parameter is missing: assertion');
    const claims = await verifyAssertion(body.assertion, services);
    if (claims instanceof Reply) return claims;
    const scope = claims['scope'];
    if (typeof scope !== 'string' || scope === '') {
      return oauthError('invalid_scope', 'Invalid OAuth scope or ID token audience provided.');
    }
    return { access_token: await issueAccessToken(scope, services), expires_in: ACCESS_TOKEN_LIFE_SECONDS, token_type: 'Bearer' as const };
  },
});

async function verifyAssertion(assertion: string, { sandbox, now }: SandboxServices): Promise<JWTPayload | Reply<Encoded>> {
  const { serviceAccount } = await sandbox.keys.get();
  try {
    const { payload } = await jwtVerify(assertion, serviceAccount.publicKey, {
      algorithms: ['RS256'],
      issuer: SANDBOX_SERVICE_ACCOUNT,
      audience: sandbox.tokenUrl,
      currentDate: new Date(now()),
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      maxTokenAge: MAX_ASSERTION_SECONDS,
      requiredClaims: ['iss', 'aud', 'iat', 'exp'],
    });
    if (payload.exp! - payload.iat! <= MAX_ASSERTION_SECONDS) return payload;
    return oauthError('invalid_grant', SHORT_LIVED);
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    return oauthError('invalid_grant', describe(error));
  }
}

/** The `error_description` of a refused assertion, in Google's words. */
function describe(error: errors.JOSEError): string {
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'iss') return 'Invalid grant: account not found';
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud') return 'Invalid JWT: Failed audience check.';
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) return SHORT_LIVED;
  return error instanceof errors.JWSSignatureVerificationFailed ? 'Invalid JWT Signature.' : 'Bad Request';
}

const SHORT_LIVED =
  'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.';

/** An error in OAuth's format (RFC 6749, section 5.2). */
function oauthError(error: string, description: string): Reply<Encoded> {
  return googleReply({ error, error_description: description }, { status: 400 });
}
