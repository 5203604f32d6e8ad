import { SignJWT, importPKCS8 } from 'jose';
import type { JWTPayload } from 'jose';
import type { TestService } from '../../harness.ts';

/** Requests to the sandbox's Google APIs. They bypass the harness, which expects errors in coinop's own shape. */

export const PUBLISHER = 'https://www.googleapis.com/auth/androidpublisher';
export const INTEGRITY = 'https://www.googleapis.com/auth/playintegrity';
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
export const SERVICE_ACCOUNT = 'service-account@sandbox.coinop';

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

export function askForToken(service: TestService, form: Record<string, string>): Promise<GoogleReply> {
  return google(service, '/sandbox/token', { method: 'POST', body: new URLSearchParams(form) });
}

/** The sandbox's private keys, read from Redis. */
export async function keptKeys(service: TestService): Promise<Record<string, string>> {
  await service.get('/sandbox/jwks.json');
  return JSON.parse((await service.service.redis.get('{sandbox:keys}'))!) as Record<string, string>;
}

/** A JWT bearer assertion as Google documents it. `claims` replaces claims; an undefined claim is omitted. */
export async function assertionFor(service: TestService, claims: JWTPayload = {}): Promise<string> {
  const { serviceAccount } = await keptKeys(service);
  const now = Math.floor(service.now() / 1000);
  return new SignJWT({ iss: SERVICE_ACCOUNT, scope: PUBLISHER, aud: `${service.url}/sandbox/token`, iat: now, exp: now + 3600, ...claims })
    .setProtectedHeader({ alg: 'RS256' })
    .sign(await importPKCS8(serviceAccount!, 'RS256'));
}

export async function accessTokenFor(service: TestService, scope: string): Promise<string> {
  const { body } = await askForToken(service, { grant_type: JWT_BEARER, assertion: await assertionFor(service, { scope }) });
  return body.access_token as string;
}

export const purchasePath = (packageName: string, token: string) =>
  `/sandbox/androidpublisher/androidpublisher/v3/applications/${packageName}/purchases/subscriptionsv2/tokens/${token}`;
