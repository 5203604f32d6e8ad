import { errors, jwtVerify } from 'jose';
import { Encoded, Reply, type RequestMeta } from '../../server/http/endpoint.ts';
import type { Services } from '../../declare.ts';

/** Google's endpoints answer in shapes of their own, without `ok`. */
export const GOOGLE_JSON = 'application/json; charset=UTF-8';

export function googleReply(
  body: object,
  more: { status?: number; headers?: readonly (readonly [name: string, value: string])[] } = {},
): Reply<Encoded> {
  return new Reply(new Encoded(JSON.stringify(body)), more);
}

interface GoogleFault {
  readonly reason: string;
  readonly message: string;
  readonly domain?: string;
  readonly place?: readonly [location: string, locationType: string];
  /** The canonical code, in words. */
  readonly status?: string;
}

/**
 * An error as Google's APIs tell it. Version 1 of the format, which the Play Developer API answers with, has `errors`;
 * version 2 has `status` (https://cloud.google.com/apis/design/errors#http_mapping).
 */
export function googleError(code: number, fault: GoogleFault): Reply<Encoded> {
  const { reason, message, domain = 'androidpublisher', place, status } = fault;
  const [location, locationType] = place ?? [];
  return googleReply(
    {
      error: {
        code,
        message,
        errors: [{ message, domain, reason, ...(place === undefined ? {} : { location, locationType }) }],
        ...(status === undefined ? {} : { status }),
      },
    },
    { status: code, headers: code === 401 ? [['www-authenticate', 'Bearer realm="https://accounts.sandbox.coinop/"']] : [] },
  );
}

/** What an access token is for: https://developers.google.com/identity/protocols/oauth2/scopes */
export const scopes = {
  publisher: 'https://www.googleapis.com/auth/androidpublisher',
  integrity: 'https://www.googleapis.com/auth/playintegrity',
} as const;

export const ACCESS_TOKEN_TYPE = 'at+jwt';

/** Google's answer to a request whose bearer may not make it: 401 without a live access token, 403 without the scope; else undefined. */
export async function refusalWithout(
  scope: string,
  { authorization }: RequestMeta,
  { sandbox, now }: Services,
): Promise<Reply<Encoded> | undefined> {
  const token = /^Bearer ([\w.-]+)$/i.exec(authorization)?.[1] ?? '';
  const { accessTokens } = await sandbox!.keys.get();
  try {
    const { payload } = await jwtVerify(token, accessTokens, {
      algorithms: ['HS256'],
      typ: ACCESS_TOKEN_TYPE,
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
