import { SignJWT, importPKCS8 } from 'jose';
import type { JWTPayload } from 'jose';
import type { TestService } from '../../harness.ts';

/** Requests to the sandbox's Google APIs. They bypass the harness, which expects errors in coinop's own shape. */

export const PUBLISHER = 'https://www.googleapis.com/auth/androidpublisher';
export const INTEGRITY = 'https://www.googleapis.com/auth/playintegrity';
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

export const APP = 'dev.coinop.sandbox';
/** A purchase token in the form of the sandbox's, which nobody bought. */
export const UNKNOWN = 'sandbox.'.padEnd(40, 'A');

export interface GoogleReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // `any`, because each test compares the body with a value of its own.
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
}

export async function google(service: TestService, path: string, init: RequestInit = {}): Promise<GoogleReply> {
  const response = await fetch(service.url + path, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text.startsWith('{') ? JSON.parse(text) : undefined };
}

/** Calls one of the APIs with an access token: with a body a POST. */
export async function call(service: TestService, path: string, body?: object, scope = PUBLISHER): Promise<GoogleReply> {
  const authorization = `Bearer ${await accessTokenFor(service, scope)}`;
  if (body === undefined) return google(service, path, { headers: { authorization } });
  return google(service, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify(body),
  });
}

export function askForToken(service: TestService, form: Record<string, string>): Promise<GoogleReply> {
  return google(service, '/sandbox/token', { method: 'POST', body: new URLSearchParams(form) });
}

/** The sandbox's private keys, read from Redis. */
export async function keptKeys(service: TestService): Promise<Record<string, string>> {
  await service.get('/sandbox/jwks.json');
  return JSON.parse((await service.service.redis.get('{sandbox:keys}'))!) as Record<string, string>;
}

/** A JWT bearer assertion as Google documents it. `claims` replaces claims; an undefined claim is omitted. */
export async function assertionFor(service: TestService, claims: JWTPayload = {}, key = 'serviceAccount'): Promise<string> {
  const keys = await keptKeys(service);
  const now = Math.floor(service.now() / 1000);
  const account = { iss: 'service-account@sandbox.coinop', scope: PUBLISHER, aud: `${service.url}/sandbox/token` };
  return new SignJWT({ ...account, iat: now, exp: now + 3600, ...claims })
    .setProtectedHeader({ alg: 'RS256' })
    .sign(await importPKCS8(keys[key]!, 'RS256'));
}

export async function accessTokenFor(service: TestService, scope: string): Promise<string> {
  const { body } = await askForToken(service, { grant_type: JWT_BEARER, assertion: await assertionFor(service, { scope }) });
  return body.access_token as string;
}

export const purchasesPath = (packageName = APP) => `/sandbox/androidpublisher/androidpublisher/v3/applications/${packageName}/purchases`;
export const subscriptionPath = (token: string, packageName = APP) => `${purchasesPath(packageName)}/subscriptionsv2/tokens/${token}`;
export const decodePath = `/sandbox/playintegrity/v1/${APP}:decodeIntegrityToken`;
