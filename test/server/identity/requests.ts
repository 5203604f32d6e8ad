import { api } from '../../api.ts';
import type { DeclaredWire } from '../../../src/clients/javascript/wire.ts';
import type { Services } from '../../../src/declare.ts';
import type { Endpoint } from '../../../src/server/http/endpoint.ts';
import { freshId, type RequestOptions, type TestReply, type TestService } from '../../harness.ts';
import { pair } from '../../features/sessions/paired.ts';
import { issue } from '../../store.ts';
import { nameOf, validRequest, type Fields } from '../../valid-requests.ts';

/** Every endpoint that identifies a caller. */
export const identifying = api.filter(({ caller }) => caller !== 'none').map((endpoint) => ({ ...endpoint, name: nameOf(endpoint) }));
export type Identifying = (typeof identifying)[number];

interface Needs {
  /** Replaces the fields of the valid request. */
  readonly fields?: Fields;
  readonly headers?: Record<string, string>;
  /** Fields that depend on the caller. */
  readonly fieldsOf?: (credentials: Credentials) => Promise<Fields>;
}

export type Credentials = RequestOptions & { installId?: string | undefined };

/** Creates the data that the valid request of an endpoint needs for a 200. */
const needed: { readonly [Route in keyof DeclaredWire]?: (service: TestService) => Needs | Promise<Needs> } = {
  'POST /v1/sessions/end': (service) => ({ fieldsOf: async (credentials) => ({ id: await aSessionOf(credentials, service) }) }),
  'POST /v1/highscores/{game}': () => ({ fields: { game: freshId('game').toLowerCase() } }),
  // Otherwise the second caller gets a seat in the room of the first.
  'POST /v1/rooms/match': () => ({ fields: { game: `${freshId('game').toLowerCase()}1` } }),
  'POST /v1/pair/claim': async (service) => ({ fields: { token: (await service.post('/v1/pair/new')).body.token } }),
  'POST /v1/rooms/{code}/{action}': async (service) => {
    const { room } = (await service.post('/v1/rooms', { installId: freshId() })).body;
    return { fields: { code: room.code, action: 'join' } };
  },
  'POST /v1/rooms/{code}/ticket': (service) => ({ fieldsOf: async (credentials) => ({ code: await aRoomOf(credentials, service) }) }),
  'GET /v1/saves/{game}/{name}': (service) => ({ fieldsOf: (credentials) => aSaveOf(credentials, service) }),
  'POST /v1/trial/link': async (service) => {
    const deviceId = freshId('device');
    await service.post('/v1/trial/touch', { deviceId });
    return { headers: { 'x-device-id': deviceId } };
  },
  'POST /v1/subscription/purchase': async (service) => {
    const { purchaseToken } = await issue(service, { kind: 'subscription', state: 'active' });
    return { fields: { purchaseToken } };
  },
  'POST /v1/purchases': async (service) => {
    const { purchaseToken } = await issue(service, { kind: 'purchase' });
    return { fields: { purchaseToken } };
  },
  'POST /v1/account/store-provision': async (service) => {
    const { token } = await issue(service, { kind: 'id_token', subject: freshId('subject') });
    return { fields: { token } };
  },
  'POST /v1/account/store-install': async (service) => {
    const { nonce } = (await service.get('/v1/account/store-install/nonce')).body;
    const { integrityToken } = await issue(service, { kind: 'integrity_token', nonce });
    return { fields: { nonce, integrityToken } };
  },
};

/** A save of the caller. */
async function aSaveOf({ installId, ...options }: Credentials, service: TestService): Promise<Fields> {
  await service.post('/v1/saves/pebble-drop/slot-1', { installId, data: 1 }, options);
  return { game: 'pebble-drop', name: 'slot-1' };
}

/** The code of a room in which the caller has a seat. */
async function aRoomOf({ installId, ...options }: Credentials, service: TestService): Promise<string> {
  const { room } = (await service.post('/v1/rooms', { installId }, options)).body;
  return room?.code ?? 'BCDFG';
}

/** The id of a session of the caller, who pairs a browser if there is none. */
async function aSessionOf({ installId, ...options }: Credentials, service: TestService): Promise<string> {
  const path = installId === undefined ? '/v1/sessions' : `/v1/sessions?installId=${encodeURIComponent(installId)}`;
  const { sessions } = (await service.get(path, options)).body;
  if (sessions === undefined) return 'unknown';
  if (sessions.length > 0) return sessions[0].id;
  await pair(service, { installId: installId ?? options.headers!['x-install-id']! });
  return (await service.get(path, options)).body.sessions[0].id;
}

export type Send = (credentials: Credentials) => Promise<TestReply>;

/**
 * Prepares a request that needs nothing but credentials to be answered with 200. `installId` goes into the body or the query,
 * where the endpoint takes one.
 */
export async function prepare(endpoint: Endpoint<Services>, preparedBy: TestService, sentTo = preparedBy): Promise<Send> {
  const { fields, headers, fieldsOf } = (await needed[nameOf(endpoint) as keyof DeclaredWire]?.(preparedBy)) ?? {};
  return async ({ installId, ...options }) => {
    const { path, body } = validRequest(endpoint, { ...fields, ...(await fieldsOf?.({ ...options, installId })), installId });
    const given = { ...options, headers: { ...headers, ...options.headers } };
    return body === undefined ? sentTo.get(path, given) : sentTo.post(path, body, given);
  };
}
