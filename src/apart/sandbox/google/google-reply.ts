import { Encoded, Reply } from '../../../server/http/endpoint.ts';

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
  /** Google's canonical error code, such as NOT_FOUND. */
  readonly status?: string | undefined;
}

/**
 * An error in the format of Google's APIs. Version 1 of the format, which the Play Developer API uses, has `errors`; version 2 has
 * `status` (https://cloud.google.com/apis/design/errors#http_mapping).
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

export const notFound = (status?: string) => googleError(404, { reason: 'notFound', message: 'Not Found', domain: 'global', status });

export const invalidValue = () => googleError(400, { reason: 'invalid', message: 'Invalid Value', domain: 'global' });

export const unavailable = () => googleError(503, { reason: 'backendError', message: 'Backend Error', domain: 'global' });
