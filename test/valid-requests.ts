import type { DeclaredWire } from '../src/clients/javascript/wire.ts';
import type { Services } from '../src/declare.ts';
import type { Endpoint } from '../src/server/http/endpoint.ts';

/** Path parameters, query and body in one object. */
export type Fields = Readonly<Record<string, unknown>>;

const appleTransaction = { environment: 'production', transactionId: '2000000123456789' };

/**
 * A valid request of each endpoint, without credentials, for tests that call every endpoint. If an endpoint is missing here, the file
 * does not compile; if it is missing in the client's types, valid-requests.test.ts fails.
 */
export const validRequests: { readonly [Route in keyof DeclaredWire]: DeclaredWire[Route]['input'] } & Readonly<Record<string, Fields>> = {
  'GET /': {},
  'GET /client.js': {},
  'GET /rooms.js': {},
  'GET /saves.js': {},
  'GET /pages/style.css': {},
  'GET /pages/styles/{name}': { name: 'home.css' },
  'GET /client/{module}': { module: 'account.js' },
  'GET /pages/modules/{name}': { name: 'home.js' },
  'GET /openapi.json': {},
  'GET /asyncapi.json': {},
  'GET /docs': {},
  'GET /docs/{page}': { page: 'client' },
  'GET /docs/{folder}/{page}': { folder: 'reference', page: 'coins' },
  'GET /docs/search.json': {},
  'GET /llms.txt': {},
  'GET /docs/channels': {},
  'GET /docs/errors': {},
  'GET /docs/style.css': {},
  'GET /health': {},
  'GET /ready': {},
  'GET /metrics': {},
  'POST /v1/account/resolve': {},
  'GET /v1/account/export': {},
  'GET /v1/account/sign-ins': {},
  'POST /v1/account/sign-ins': { token: 'a.b.c' },
  'POST /v1/account/sign-ins/nonce': {},
  'POST /v1/account/sign-ins/remove': { id: 'none' },
  'POST /v1/account/delete': {},
  'POST /v1/login': {},
  'POST /v1/logout': {},
  'GET /v1/session': {},
  'GET /v1/sessions': {},
  'POST /v1/sessions/end': { id: '0.AAAAAAAAAAAAAAAA' },
  'POST /v1/sessions/verify': { sessionToken: 'a.b.c' },
  'GET /v1/balance': {},
  'POST /v1/coins/credit': { coins: 1, key: 'credit' },
  'POST /v1/coins/purchase': { coins: 1, key: 'purchase' },
  'POST /v1/coins/debit': { coins: 1, key: 'debit' },
  'GET /v1/coins/history': {},
  'GET /v1/highscores/{game}': { game: 'pebble-drop' },
  'POST /v1/highscores/{game}': { game: 'pebble-drop', score: 1, name: 'Ada' },
  'GET /v1/highscores/{game}/entries': { game: 'pebble-drop' },
  'GET /v1/highscores/{game}/around': { game: 'pebble-drop' },
  'GET /v1/catalogue': {},
  'GET /v1/products': {},
  'POST /v1/pair/new': {},
  'POST /v1/pair/claim': { token: 'A'.repeat(22), name: 'Ada' },
  'GET /v1/pair/status': { token: 'A'.repeat(22) },
  'GET /v1/pair/qr.svg': { token: 'A'.repeat(22) },
  'GET /pair': {},
  'POST /v1/rooms': {},
  'GET /v1/rooms': { game: 'pebble-drop', limit: '5' },
  'POST /v1/rooms/match': { game: 'pebble-drop' },
  'GET /v1/rooms/{code}': { code: 'BCDFG' },
  'POST /v1/rooms/{code}/{action}': { code: 'BCDFG', action: 'state', state: 1 },
  'POST /v1/rooms/{code}/ticket': { code: 'BCDFG' },
  'POST /v1/rooms/{code}/ticket/verify': { code: 'BCDFG', ticket: 'a.b.c' },
  'GET /v1/saves/{game}': { game: 'pebble-drop' },
  'GET /v1/saves/{game}/{name}': { game: 'pebble-drop', name: 'slot-1' },
  'POST /v1/saves/{game}/{name}': { game: 'pebble-drop', name: 'slot-1', data: { level: 3 } },
  'POST /v1/saves/{game}/{name}/delete': { game: 'pebble-drop', name: 'slot-1' },
  'GET /v1/events': {},
  'POST /v1/trial/touch': { deviceId: 'device-0001' },
  'GET /v1/trial/status': {},
  'POST /v1/trial/link': {},
  'GET /v1/subscription': {},
  'POST /v1/subscription/report': { subscribed: true },
  'POST /v1/subscription/purchase': { purchaseToken: 'A'.repeat(100) },
  'POST /v1/purchases': { store: 'google', purchaseToken: 'A'.repeat(100) },
  'GET /v1/purchases': {},
  'GET /v1/account/store-ids': {},
  'GET /v1/entitlement': {},
  'POST /v1/entitlement/first-run': {},
  'GET /.well-known/jwks.json': {},
  'POST /v1/account/store-provision': { token: 'a.b.c' },
  'GET /v1/account/store-install/nonce': {},
  'POST /v1/account/store-install': { nonce: 'A'.repeat(43), integrityToken: 'a.b.c' },
  'POST /v1/store/apple/notifications': { signedPayload: 'a.b.c' },
  'POST /v1/store/apple/account-notifications': { payload: 'a.b.c' },
  'POST /v1/store/google/notifications': { message: { data: 'e30=' } },
  'POST /sandbox/issue': { kind: 'id_token' },
  'GET /sandbox/jwks.json': {},
  'POST /sandbox/token': {},
  'GET /sandbox/androidpublisher/androidpublisher/v3/applications/{packageName}/purchases/subscriptionsv2/tokens/{token}': {
    packageName: 'com.example.app',
    token: 'A'.repeat(100),
  },
  'POST /sandbox/androidpublisher/androidpublisher/v3/applications/{packageName}/purchases/subscriptions/{productId}/tokens/{call}': {
    packageName: 'com.example.app',
    productId: 'premium',
    call: `${'A'.repeat(100)}:acknowledge`,
  },
  'GET /sandbox/androidpublisher/androidpublisher/v3/applications/{packageName}/purchases/productsv2/tokens/{token}': {
    packageName: 'com.example.app',
    token: 'A'.repeat(100),
  },
  'POST /sandbox/androidpublisher/androidpublisher/v3/applications/{packageName}/purchases/products/{productId}/tokens/{call}': {
    packageName: 'com.example.app',
    productId: 'coins_500',
    call: `${'A'.repeat(100)}:consume`,
  },
  'GET /sandbox/androidpublisher/androidpublisher/v3/applications/{packageName}/purchases/voidedpurchases': {
    packageName: 'com.example.app',
  },
  'GET /sandbox/app-store/{environment}/inApps/v1/transactions/{transactionId}': { ...appleTransaction },
  'GET /sandbox/app-store/{environment}/inApps/v1/subscriptions/{transactionId}': { ...appleTransaction },
  'POST /sandbox/app-store/{environment}/inApps/v1/transactions/{transactionId}/finish': { ...appleTransaction },
  'POST /sandbox/app-store/{environment}/inApps/v1/notifications/history': {
    environment: 'production',
    startDate: 0,
    endDate: 1_795_348_800_000,
    notificationType: 'REFUND',
  },
  'POST /sandbox/apple-id/auth/token': {},
  'POST /sandbox/apple-id/auth/revoke': {},
  'POST /sandbox/playintegrity/v1/{call}': { call: 'com.example.app:decodeIntegrityToken', integrity_token: 'a.b.c' },
};

export const nameOf = ({ method, path }: Endpoint<Services>): string => `${method} ${path}`;

export const takesInstallId = ({ body, query }: Endpoint<Services>): boolean =>
  'installId' in (body?.shape ?? {}) || 'installId' in (query?.shape ?? {});

export interface Sendable {
  /** The path with its query. */
  readonly path: string;
  /** Undefined for GET. */
  readonly body: Fields | undefined;
}

/** The valid request of an endpoint. @param more fields that replace fields of the table or are added. Undefined fields are left out */
export function validRequest(endpoint: Endpoint<Services>, more: Fields = {}): Sendable {
  const fields = Object.entries({ ...validRequests[nameOf(endpoint)], ...more }).filter(([, value]) => value !== undefined);
  const isOf =
    (shape: Endpoint<Services>['query']) =>
    ([name]: [string, unknown]) =>
      name in (shape?.shape ?? {});
  const query = new URLSearchParams(fields.filter(isOf(endpoint.query)) as [string, string][]).toString();
  const path = filled(endpoint.path, Object.fromEntries(fields)) + (query === '' ? '' : `?${query}`);
  return { path, body: endpoint.method === 'GET' ? undefined : Object.fromEntries(fields.filter(isOf(endpoint.body))) };
}

/** Writes the parameters into a path. */
export function filled(path: string, params: Fields): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name]));
}
