import { api } from '../../../src/api.ts';
import type { Services } from '../../../src/declare.ts';
import type { Endpoint } from '../../../src/server/http/endpoint.ts';
import { freshId, type RequestOptions, type TestReply, type TestService } from '../../harness.ts';
import { pair } from '../../features/sessions/paired.ts';
import { issue } from '../../store.ts';

export const nameOf = ({ method, path }: Endpoint<Services>): string => `${method} ${path}`;

/** Every endpoint that identifies a caller. */
export const identifying = api.filter(({ caller }) => caller !== 'none').map((endpoint) => ({ ...endpoint, name: nameOf(endpoint) }));

export const takesInstallId = ({ body, query }: Endpoint<Services>): boolean =>
  'installId' in (body?.shape ?? {}) || 'installId' in (query?.shape ?? {});

interface Parts {
  readonly body?: object;
  readonly params?: Record<string, string>;
  readonly headers?: Record<string, string>;
  /** What the body needs of the caller. */
  readonly bodyOf?: (credentials: Credentials) => Promise<object>;
}

type Credentials = RequestOptions & { installId?: string | undefined };

/** What a request of each identifying endpoint needs, beside the credentials, to be answered with 200. */
const parts: Record<string, (service: TestService) => Parts | Promise<Parts>> = {
  'POST /v1/account/resolve': () => ({}),
  'GET /v1/account/export': () => ({}),
  'POST /v1/login': () => ({}),
  'POST /v1/logout': () => ({}),
  'GET /v1/session': () => ({}),
  'GET /v1/sessions': () => ({}),
  'POST /v1/sessions/end': (service) => ({ bodyOf: async (credentials) => ({ id: await aSessionOf(credentials, service) }) }),
  'GET /v1/balance': () => ({}),
  'POST /v1/coins/credit': () => ({ body: { coins: 5, key: freshId('key') } }),
  'POST /v1/coins/purchase': () => ({ body: { coins: 5, key: freshId('key') } }),
  'POST /v1/coins/debit': () => ({ body: { coins: 5, key: freshId('key') } }),
  'GET /v1/coins/history': () => ({}),
  'POST /v1/highscores/{game}': () => ({ params: { game: freshId('game').toLowerCase() }, body: { score: 1, name: 'Ada' } }),
  'POST /v1/pair/claim': async (service) => ({ body: { token: (await service.post('/v1/pair/new')).body.token } }),
  'POST /v1/rooms': () => ({ body: { name: 'Ada' } }),
  'POST /v1/rooms/{code}/{action}': async (service) => {
    const { room } = (await service.post('/v1/rooms', { installId: freshId() })).body;
    return { params: { code: room.code, action: 'join' } };
  },
  'GET /v1/trial/status': () => ({}),
  'POST /v1/trial/link': async (service) => {
    const deviceId = freshId('device');
    await service.post('/v1/trial/touch', { deviceId });
    return { headers: { 'x-device-id': deviceId } };
  },
  'GET /v1/subscription': () => ({}),
  'POST /v1/subscription/report': () => ({ body: { subscribed: true } }),
  'POST /v1/subscription/purchase': async (service) => {
    const { purchaseToken } = await issue(service, { kind: 'subscription', state: 'active' });
    return { body: { purchaseToken } };
  },
  'GET /v1/entitlement': () => ({}),
  'POST /v1/entitlement/first-run': () => ({}),
  'POST /v1/account/store-provision': async (service) => {
    const { token } = await issue(service, { kind: 'id_token', subject: freshId('subject') });
    return { body: { token } };
  },
  'GET /v1/account/store-install/nonce': () => ({}),
  'POST /v1/account/store-install': async (service) => {
    const { nonce } = (await service.get('/v1/account/store-install/nonce')).body;
    const { integrityToken } = await issue(service, { kind: 'integrity_token', nonce });
    return { body: { nonce, integrityToken } };
  },
};

/** The id of a session of the caller, who pairs a browser if there is none. */
async function aSessionOf({ installId, ...options }: Credentials, service: TestService): Promise<string> {
  const path = installId === undefined ? '/v1/sessions' : `/v1/sessions?installId=${encodeURIComponent(installId)}`;
  const { sessions } = (await service.get(path, options)).body;
  if (sessions === undefined) return 'unknown';
  if (sessions.length > 0) return sessions[0].id;
  await pair(service, { installId: installId ?? options.headers!['x-install-id']! });
  return (await service.get(path, options)).body.sessions[0].id;
}

export const preparable = Object.keys(parts);

export type Send = (credentials: Credentials) => Promise<TestReply>;

/**
 * Prepares a request that needs nothing but credentials to be answered with 200. `installId` goes into the body or the query,
 * where the endpoint takes one.
 */
export async function prepare(name: string, preparedBy: TestService, sentTo = preparedBy): Promise<Send> {
  const { body = {}, params = {}, headers = {}, bodyOf } = await parts[name]!(preparedBy);
  const [method, template = ''] = name.split(' ');
  const path = template.replace(/\{(\w+)\}/g, (_, parameter: string) => params[parameter]!);
  return async ({ installId, ...options }) => {
    const given = { ...options, headers: { ...headers, ...options.headers } };
    if (method === 'POST') return sentTo.post(path, { ...body, ...(await bodyOf?.({ ...options, installId })), installId }, given);
    return sentTo.get(installId === undefined ? path : `${path}?installId=${encodeURIComponent(installId)}`, given);
  };
}
