import { constants, createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { expect } from 'vitest';
import { errors, Refusal } from '../../../src/errors.ts';
import type { GoogleSettings } from '../../../src/stores/google/settings.ts';
import type { GoogleOptions } from '../../../src/stores/google/settings.ts';

export const CLIENT_ID = 'game.apps.googleusercontent.com';
export const PUSH_AUDIENCE = 'https://coinop.example/v1/store/google/notifications';
export const PUSH_EMAIL = 'push@game.iam.gserviceaccount.com';

export interface SigningKey {
  readonly kid: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export function rsaKey(kid: string, modulusLength = 2048): SigningKey {
  return { kid, ...generateKeyPairSync('rsa', { modulusLength }) };
}

export function ecKey(kid: string): SigningKey {
  return { kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
}

export const jwkOf = ({ kid, publicKey }: SigningKey): object => ({
  ...publicKey.export({ format: 'jwk' }),
  kid,
  use: 'sig',
  alg: publicKey.asymmetricKeyType === 'ec' ? 'ES256' : 'RS256',
});

type Part = object | string | Buffer;

function encoded(part: Part): string {
  if (Buffer.isBuffer(part)) return part.toString('base64url');
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}

/** Signs any header and payload, including invalid ones that jose refuses. Text and bytes are encoded unchanged. */
export function signed(header: Part, payload: Part, key: KeyObject | string): string {
  const input = `${encoded(header)}.${encoded(payload)}`;
  if (typeof key === 'string') return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
  const options =
    key.asymmetricKeyType === 'ec' ? { key, dsaEncoding: 'ieee-p1363' as const } : { key, padding: constants.RSA_PKCS1_PADDING };
  return `${input}.${sign('sha256', Buffer.from(input), options).toString('base64url')}`;
}

/** A fake store that serves its public keys over HTTP and counts the requests. */
export class Issuer implements AsyncDisposable {
  fetches = 0;
  keys: object[];
  headers: Record<string, string> = { 'cache-control': 'public, max-age=3600' };
  /** Replaces the normal response. */
  fault: ((response: ServerResponse) => void) | undefined;
  /** Log lines of the code under test, which gets its logger from `parts`. */
  readonly logLines: string[] = [];
  settings: GoogleSettings;
  #offset = 0;
  #setBy = 0;
  /** Replaces the discovery document. */
  discovery: object | undefined;
  discoveries = 0;
  readonly #server = createServer((request, response) => {
    if (request.url === '/.well-known/openid-configuration') {
      this.discoveries++;
      return void response.end(JSON.stringify(this.discovery ?? { issuer: this.url, jwks_uri: this.settings.jwksUrl }));
    }
    this.fetches++;
    if (this.fault !== undefined) return this.fault(response);
    response.writeHead(200, { 'content-type': 'application/json', ...this.headers }).end(JSON.stringify({ keys: this.keys }));
  });

  static async start(keys: SigningKey[]): Promise<Issuer> {
    const issuer = new Issuer(keys);
    await new Promise<void>((listening) => issuer.#server.listen(0, '127.0.0.1', listening));
    issuer.settings = { ...issuer.settings, jwksUrl: `http://127.0.0.1:${(issuer.#server.address() as AddressInfo).port}/certs` };
    return issuer;
  }

  private constructor(keys: SigningKey[]) {
    this.keys = keys.map(jwkOf);
    this.settings = {
      name: 'google',
      issuers: ['https://accounts.google.com', 'accounts.google.com'],
      jwksUrl: '',
      packageNames: [],
      publisherUrl: '',
      integrityUrl: '',
      serviceAccount: undefined,
      integrityKeys: undefined,
      notifications: { audience: PUSH_AUDIENCE, email: PUSH_EMAIL },
      askForVoidedEveryMs: 300_000,
    };
  }

  /** The issuer's own address, which is its `iss` for providers with discovery. */
  get url(): string {
    return this.settings.jwksUrl.slice(0, -'/certs'.length);
  }

  get parts(): GoogleOptions {
    const log = pino({ level: 'debug' }, { write: (line: string) => void this.logLines.push(line) });
    return {
      settings: () => this.settings,
      log,
      now: () => this.now(),
      wallClock: () => this.now(),
      monotonic: () => performance.now() + this.#offset,
    };
  }

  now(): number {
    return Date.now() + this.#offset + this.#setBy;
  }

  advance(milliseconds: number): void {
    this.#offset += milliseconds;
  }

  /** As `setClock` of the harness. */
  setClock(milliseconds: number): void {
    this.#setBy += milliseconds;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

/** Code, status, message and details of the Refusal that a call rejects with. Fails the test on any other outcome. */
export async function refusal(call: Promise<unknown>): Promise<object> {
  const outcome = await call.then(
    (value) => ({ resolved: value }),
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(Refusal);
  const { code, details, message } = outcome as Refusal;
  return { code, status: errors[code].status, message, ...details };
}
