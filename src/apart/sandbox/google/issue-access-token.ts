import { errors, jwtVerify, SignJWT } from 'jose';
import type { Encoded, Reply, RequestMeta } from '../../../server/http/endpoint.ts';
import { googleError } from './google-reply.ts';
import type { SandboxServices } from '../sandbox-services.ts';

/** The OAuth scopes of access tokens: https://developers.google.com/identity/protocols/oauth2/scopes */
export const scopes = {
  publisher: 'https://www.googleapis.com/auth/androidpublisher',
  integrity: 'https://www.googleapis.com/auth/playintegrity',
} as const;

export type Scope = (typeof scopes)[keyof typeof scopes];

/**
 * The life of an access token, the same as of Google's: https://developers.google.com/identity/protocols/oauth2/service-account#httprest
 */
export const ACCESS_TOKEN_LIFE_SECONDS = 3600;

const TYPE = 'at+jwt';

/** Makes an access token. @param scope one or several scopes, separated by blanks, as in the assertion that the service account signed */
export async function issueAccessToken(scope: string, { sandbox, now }: SandboxServices): Promise<string> {
  const { accessTokens } = await sandbox.keys.get();
  const issuedAt = Math.floor(now() / 1000);
  return new SignJWT({ scope })
    .setProtectedHeader({ alg: 'HS256', typ: TYPE })
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + ACCESS_TOKEN_LIFE_SECONDS)
    .sign(accessTokens);
}

/** Google's refusal of a request: 401 without a valid access token, 403 if the token lacks the scope. Undefined: the request may go on. */
export async function refuseBearer(
  { authorization }: RequestMeta,
  scope: Scope,
  { sandbox, now }: SandboxServices,
): Promise<Reply<Encoded> | undefined> {
  const token = /^Bearer ([\w.-]+)$/i.exec(authorization)?.[1] ?? '';
  const { accessTokens } = await sandbox.keys.get();
  try {
    const { payload } = await jwtVerify(token, accessTokens, {
      algorithms: ['HS256'],
      typ: TYPE,
      requiredClaims: ['exp', 'scope'],
      currentDate: new Date(now()),
    });
    if (String(payload['scope']).split(' ').includes(scope)) return undefined;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    return googleError(401, {
      reason: 'authError',
      message: 'Request had invalid authentication credentials. Expected OAuth 2 access token.',
      domain: 'global',
      place: ['Authorization', 'header'],
      status: 'UNAUTHENTICATED',
    });
  }
  return googleError(403, {
    reason: 'insufficientPermissions',
    message: 'Request had insufficient authentication scopes.',
    domain: 'global',
    status: 'PERMISSION_DENIED',
  });
}
