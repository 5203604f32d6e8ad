import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { GoogleSettings } from '../../../../src/stores/google/settings.ts';
import { jwkOf, rsaKey, signed } from '../../../stores/google/issuer.ts';

/** The part of a `purchases.subscriptionsv2.get` response that the tests set. */
export interface FakePurchase {
  subscriptionState: string;
  acknowledgementState?: string;
  linkedPurchaseToken?: string;
  startTime?: string;
  externalAccountIdentifiers?: { obfuscatedExternalAccountId?: string };
  lineItems: { productId: string; expiryTime?: string; autoRenewingPlan?: { autoRenewEnabled?: boolean } }[];
}

/** Replaces Google's normal response. */
export type Misbehaviour = (request: IncomingMessage, response: ServerResponse) => void;

export const PACKAGE = 'dev.coinop.game';
export const OTHER_PACKAGE = 'dev.coinop.other';
export const UNACKNOWLEDGED = 'ACKNOWLEDGEMENT_STATE_PENDING';
export const ACKNOWLEDGED = 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED';

const CLIENT_EMAIL = 'coinop@project.iam.gserviceaccount.com';
const PUSH_EMAIL = 'pusher@project.iam.gserviceaccount.com';
const PUSH_AUDIENCE = 'https://coinop.example/v1/store/google/notifications';
const SCOPES = 'https://www.googleapis.com/auth/androidpublisher https://www.googleapis.com/auth/playintegrity';

/** Shared by all fakes of a file, because generating RSA keys is slow. */
const [accountKey, pushKey] = [rsaKey('a'), rsaKey('s')];
const accountKeys = createLocalJWKSet({ keys: [jwkOf(accountKey)] } as Parameters<typeof createLocalJWKSet>[0]);
const privateKey = accountKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** A fake of Google's OAuth and Play Developer APIs with injectable faults. */
export class FakeGoogle implements AsyncDisposable {
  readonly settings: GoogleSettings;
  readonly #server;
  readonly #accessTokens = new Set<string>();
  readonly #purchases = new Map<string, FakePurchase & { packageName: string }>();
  /** Replaces every response of the API. */
  misbehaviour: Misbehaviour | undefined;
  /** Replaces responses to acknowledgements. */
  acknowledgeMisbehaviour: Misbehaviour | undefined;
  /** Replaces responses of the token endpoint. */
  grantMisbehaviour: Misbehaviour | undefined;
  /** Requests to the token endpoint. */
  grants = 0;
  /** Requests to the API. */
  asked = 0;
  /** The header traceparent of each request. */
  traceparents: (string | undefined)[] = [];
  acknowledgements: string[] = [];
  now: () => number = Date.now;

  private constructor(server: ReturnType<typeof createServer>, settings: GoogleSettings) {
    this.#server = server;
    this.settings = settings;
    server.on('request', (request, response) => {
      if (request.url === '/certs') return json(response, 200, JSON.stringify({ keys: [jwkOf(pushKey)] }));
      if (request.url === '/token') return void this.#grant(request, response);
      this.#answer(request, response);
    });
  }

  static async start(packageNames: readonly string[] = [PACKAGE]): Promise<FakeGoogle> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new FakeGoogle(server, {
      name: 'google',
      issuers: [url],
      jwksUrl: `${url}/certs`,
      packageNames,
      publisherUrl: url,
      integrityUrl: url,
      serviceAccount: () => Promise.resolve({ clientEmail: CLIENT_EMAIL, privateKey, privateKeyId: 'a', tokenUrl: `${url}/token` }),
      integrityKeys: undefined,
      notifications: { audience: PUSH_AUDIENCE, email: PUSH_EMAIL },
      askForVoidedEveryMs: 300_000,
    });
  }

  /** Sells a subscription, or replaces the state of a sold one. */
  sell(token: string, purchase: FakePurchase, packageName = PACKAGE): void {
    this.#purchases.set(token, { acknowledgementState: ACKNOWLEDGED, ...purchase, packageName });
  }

  /** Replaces the next response of the API. */
  misbehaveOnce(misbehaviour: Misbehaviour): void {
    this.misbehaviour = (request, response) => {
      this.misbehaviour = undefined;
      misbehaviour(request, response);
    };
  }

  forget(token: string): void {
    this.#purchases.delete(token);
  }

  /** Revokes all access tokens issued so far. */
  refuseTokens(): void {
    this.#accessTokens.clear();
  }

  /** The token of a Pub/Sub push. */
  pushToken(claims: object = {}): string {
    const iat = Math.floor(this.now() / 1000);
    const push = { iss: this.settings.issuers[0], aud: PUSH_AUDIENCE, sub: '1', email: PUSH_EMAIL, email_verified: true };
    return signed({ alg: 'RS256', kid: 's', typ: 'JWT' }, { ...push, iat, exp: iat + 3600, ...claims }, pushKey.privateKey);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #grant(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.grants++;
    if (this.grantMisbehaviour !== undefined) return this.grantMisbehaviour(request, response);
    const form = new URLSearchParams(await text(request));
    try {
      if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') throw new Error('grant_type');
      const { payload } = await jwtVerify(form.get('assertion')!, accountKeys, {
        algorithms: ['RS256'],
        issuer: CLIENT_EMAIL,
        audience: `${this.settings.publisherUrl}/token`,
        currentDate: new Date(this.now()),
      });
      if (payload.exp! - payload.iat! > 3600 || payload['scope'] !== SCOPES) throw new Error('claims');
    } catch {
      return json(response, 400, '{"error":"invalid_grant"}');
    }
    const token = `access-${this.grants}`;
    this.#accessTokens.add(token);
    json(response, 200, JSON.stringify({ access_token: token, expires_in: 3600, token_type: 'Bearer' }));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    // The service asks for refunds from time to time. The tests count their own requests only.
    if (request.url!.includes('/voidedpurchases?')) return json(response, 200, '{}');
    this.asked++;
    this.traceparents.push(request.headers['traceparent'] as string | undefined);
    if (this.misbehaviour !== undefined) return this.misbehaviour(request, response);
    if (!this.#accessTokens.has(request.headers.authorization?.replace('Bearer ', '') ?? '')) return googleError(401)(request, response);
    const [, app, rest = ''] = /^\/androidpublisher\/v3\/applications\/([\w.]+)\/purchases\/(.*)$/.exec(request.url!) ?? [];
    const [, token = ''] = /tokens\/([^/:]+)(:acknowledge)?$/.exec(rest) ?? [];
    const purchase = this.#purchases.get(decodeURIComponent(token));
    if (purchase?.packageName !== app) return googleError(404)(request, response);
    if (rest.startsWith('subscriptionsv2/') && request.method === 'GET') {
      const { packageName: _, ...said } = purchase!;
      return json(response, 200, JSON.stringify({ kind: 'androidpublisher#subscriptionPurchaseV2', ...said }));
    }
    if (rest.startsWith(`subscriptions/${purchase!.lineItems[0]!.productId}/tokens/`) && request.method === 'POST') {
      this.acknowledgements.push(decodeURIComponent(token));
      if (this.acknowledgeMisbehaviour !== undefined) return this.acknowledgeMisbehaviour(request, response);
      purchase!.acknowledgementState = ACKNOWLEDGED;
      response.writeHead(204).end();
      return;
    }
    googleError(404)(request, response);
  }
}

function json(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8', ...headers }).end(body);
}

export const googleError =
  (status: number, headers?: Record<string, string>): Misbehaviour =>
  (_, response) =>
    json(response, status, JSON.stringify({ error: { code: status, message: 'A message.', status: 'A_WORD' } }), headers);

export const answering =
  (body: unknown): Misbehaviour =>
  (_, response) =>
    json(response, 200, typeof body === 'string' ? body : JSON.stringify(body));

/** Faults after which a retry may succeed. */
export const passingFaults: Record<string, Misbehaviour> = {
  'a 401 that stays': googleError(401),
  'a 403': googleError(403),
  'a 429': googleError(429),
  'a 429 that asks for an hour': googleError(429, { 'retry-after': '3600' }),
  'a 500': googleError(500),
  'a 503 in HTML': (_, response) => void response.writeHead(503, { 'content-type': 'text/html' }).end('<html>'),
  'a 404 in HTML': (_, response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('<html>'),
  'no answer': () => {},
  'a cut connection': (request) => void request.socket.destroy(),
  'half an answer': (_, response) => {
    const head = response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    head.write('{"subscriptionState":', () => response.destroy());
  },
  'no JSON': answering('It works!'),
  'an answer that never ends': (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"a":"');
    const timer = setInterval(() => response.write('a'.repeat(16_384)), 1);
    response.once('close', () => clearInterval(timer));
  },
  'a redirect': (_, response) => void response.writeHead(302, { location: '/certs' }).end(),
};

/** What Google says of an active subscription. */
export const activeUntil = (expiryTime: string, lineItem: object = {}) => ({
  subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE',
  lineItems: [{ productId: 'gold', expiryTime, ...lineItem }],
});

const good = activeUntil('2099-01-01T00:00:00Z');

/** Bodies of 200 responses that the service must not trust. */
export const nonsense: Record<string, unknown> = {
  'an unknown state': { ...good, subscriptionState: 'SUBSCRIPTION_STATE_ASCENDED' },
  'the state UNSPECIFIED': { ...good, subscriptionState: 'SUBSCRIPTION_STATE_UNSPECIFIED' },
  'a state named like an object property': { ...good, subscriptionState: 'constructor' },
  'no state': { ...good, subscriptionState: undefined },
  'active without an end': { ...good, lineItems: [{ productId: 'gold' }] },
  'an end that is no time': activeUntil('soon'),
  'no product': { ...good, lineItems: [] },
  'a product id with a line break': activeUntil('2099-01-01T00:00:00Z', { productId: 'a\nb' }),
  'an array': [],
  null: null,
};
