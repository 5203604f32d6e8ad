import specs from '@asyncapi/specs';
import AjvModule from 'ajv';
import formatsModule from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { channels } from '../../../src/api.ts';
import { asyncapiDocument } from '../../../src/web/documents/asyncapi.ts';
import { errorSchemas } from '../../../src/web/documents/refusals.ts';
import { Schemas } from '../../../src/web/documents/schemas.ts';
import { errors } from '../../../src/errors.ts';
import { channelErrors } from '../../../src/server/live/channel.ts';
import { closeCodes } from '../../../src/server/live/close-codes.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { RawSocket } from '../../realtime/raw-socket.ts';
import { eventually } from '../../realtime/watcher.ts';

// Both are CommonJS modules whose default export is nested once more.
const Ajv = AjvModule.default;
const addFormats = formatsModule.default;

// `any`: the document is read without types, as a client reads it.
// oxlint-disable-next-line no-explicit-any
const service = await forFile(start());
const document = (await service.get('/asyncapi.json')).body;

const described = () =>
  channels.map((channel) => ({ channel, written: Object.values<any>(document.channels).find(({ address }) => address === channel.path) }));

/** The value that a reference points to. */
const at = (reference: string) =>
  reference
    .split('/')
    .slice(1)
    .reduce((place, name) => place?.[name], document);

/** Validates against AsyncAPI's schema. It contains draft 7 itself, so ajv's own copy is switched off (`meta: false`). */
const isAsyncapi = (() => {
  const ajv = new Ajv({ strict: false, meta: false, validateSchema: false, allErrors: true });
  addFormats(ajv);
  return ajv.compile(specs.schemas['3.0.0']);
})();

// strict: an unknown keyword or format is an error. AsyncAPI's default schema format is draft 7.
const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
addFormats(ajv);
ajv.addVocabulary(['components']);

/** A validator that resolves references within the document, as tools do. */
const validatorOf = (schema: object) => ajv.compile({ ...schema, components: document.components });

describe('GET /asyncapi.json', () => {
  test('is valid AsyncAPI 3.0.0', () => {
    expect([isAsyncapi(document), isAsyncapi.errors]).toEqual([true, null]);
    expect([document.asyncapi, document.info.title, document.info.version]).toEqual(['3.0.0', 'coinop', '1.0.0']);
  });

  test('answers with the bare document, cacheable for a minute, and answers HEAD', async () => {
    const { headers } = await service.get('/asyncapi.json');
    expect([headers.get('content-type'), headers.get('cache-control')]).toEqual(['application/json', 'public, max-age=60']);
    expect(document).not.toHaveProperty('ok');
    expect((await service.get('/asyncapi.json', { method: 'HEAD' })).status).toBe(200);
  });

  test('every reference has a target in the document', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference!);
    expect(references.length).toBeGreaterThan(10);
    for (const reference of references) expect(at(reference), reference).toBeDefined();
  });

  test('the OpenAPI document and the page link to it', async () => {
    expect((await service.get('/openapi.json')).body.info.description).toContain('`/asyncapi.json`');
    expect((await service.get('/')).body).toContain('href="/asyncapi.json"');
  });
});

describe('the channels of /asyncapi.json', () => {
  test('are exactly the declared ones, with names for generated code', () => {
    expect(Object.values<any>(document.channels).map(({ address }) => address)).toEqual(channels.map(({ path }) => path));
    expect(Object.keys(document.channels)).toEqual(['roomsByCodeLive', 'lobbyLive', 'pairLive', 'highscoresByGameLive']);
  });

  test('list their messages and the error message', () => {
    for (const { channel, written } of described()) {
      expect(Object.keys(written.messages).toSorted(), channel.path).toEqual(
        [...Object.keys(channel.sends), ...Object.keys(channel.receives), 'error'].toSorted(),
      );
    }
    expect(Object.keys(document.channels.roomsByCodeLive.messages)).toEqual([
      ...['room', 'patch', 'welcome', 'you', 'acted', 'message', 'missed'],
      ...['hello', 'act', 'error'],
    ]);
    expect(Object.keys(document.channels.pairLive.messages)).toEqual(['pair', 'error']);
  });

  test("have send and receive operations from the service's point of view", () => {
    const operations = Object.entries<any>(document.operations).map(([id, { action, channel, messages }]) => {
      expect(
        messages.every(({ $ref }: { $ref: string }) => $ref.startsWith(`${channel.$ref}/messages/`)),
        id,
      ).toBe(true);
      return [id, action, at(channel.$ref).address, messages.map(({ $ref }: { $ref: string }) => $ref.split('/').at(-1))];
    });
    expect(operations).toEqual([
      ['sendRoomsByCodeLive', 'send', '/v1/rooms/{code}/live', ['room', 'patch', 'welcome', 'you', 'acted', 'message', 'missed', 'error']],
      ['receiveRoomsByCodeLive', 'receive', '/v1/rooms/{code}/live', ['hello', 'act']],
      ['sendLobbyLive', 'send', '/v1/lobby/live', ['rooms', 'error']],
      ['sendPairLive', 'send', '/v1/pair/live', ['pair', 'error']],
      ['sendHighscoresByGameLive', 'send', '/v1/highscores/{game}/live', ['board', 'error']],
    ]);
  });

  test('document path parameters, and query parameters in the WebSocket binding', () => {
    for (const { channel, written } of described()) {
      expect(Object.keys(written.parameters ?? {}), channel.path).toEqual([...channel.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
      expect(Object.keys(written.bindings.ws.query?.properties ?? {}), channel.path).toEqual(Object.keys(channel.query?.shape ?? {}));
    }
    expect(document.channels.roomsByCodeLive.parameters.code.examples).toEqual(['BCDFG']);
    expect(document.channels.pairLive.bindings.ws.query.required).toEqual(['token']);
  });

  test('document the headers that an upgrade uses', () => {
    expect(Object.keys(document.channels.roomsByCodeLive.bindings.ws.headers.properties)).toEqual(['authorization', 'cookie', 'origin']);
    expect(Object.keys(document.channels.pairLive.bindings.ws.headers.properties)).toEqual(['origin']);
  });

  test('list the errors that refuse an upgrade, in the order of their statuses', () => {
    for (const { channel, written } of described()) {
      const listed = written['x-upgrade-errors'].errors as { status: number; code: keyof typeof errors }[];
      expect(listed.map(({ code }) => code).toSorted(), channel.path).toEqual(channelErrors(channel).toSorted());
      for (const { status, code } of listed) {
        expect(errors[code].status, code).toBe(status);
        expect(written.description).toContain(`\`${code}\` (${status})`);
      }
      expect(listed.map(({ status }) => status)).toEqual(listed.map(({ status }) => status).toSorted((one, other) => one - other));
    }
    expect(document.channels.roomsByCodeLive['x-upgrade-errors'].errors.map(({ code }: any) => code)).toContain('room_not_found');
    expect(document.channels.pairLive['x-upgrade-errors'].errors.map(({ code }: any) => code)).toContain('pair_not_found');
  });

  test.each([
    ['roomsByCodeLive', '/v1/rooms/BCDFG/live', 'room_not_found'],
    ['pairLive', `/v1/pair/live?token=${'a'.repeat(24)}`, 'pair_not_found'],
    ['pairLive', '/v1/pair/live', 'invalid_request'],
  ])('describe the body of a refused upgrade: %s %s %s', async (id, path, code) => {
    const { status, body } = await RawSocket.open(service.port, path);
    const { schema, errors: listed } = document.channels[id]['x-upgrade-errors'];
    const validate = validatorOf(schema);
    expect([validate(body), validate.errors]).toEqual([true, null]);
    expect([body.error.code, status]).toEqual([code, listed.find((each: any) => each.code === code).status]);
  });

  test('list the close codes and whether a client should reconnect', () => {
    const listed = document['x-close-codes'].map(({ code, reconnect }: any) => [code, reconnect]);
    expect(listed).toEqual([
      [1001, true],
      [1009, true],
      [4008, true],
      [4009, true],
      [4400, true],
      [4429, true],
      [4500, false],
      [4501, false],
    ]);
    expect(listed.map(([code]: [number]) => code)).toEqual(Object.values(closeCodes).toSorted((one, other) => one - other));
    for (const { code, reconnect, description } of document['x-close-codes']) {
      expect(document.info.description).toContain(`\n- ${code} (${reconnect ? 'reconnect' : 'final'}): ${description}`);
    }
  });
});

describe('the messages of /asyncapi.json', () => {
  const watch = (path: string): Promise<RawSocket> => RawSocket.open(service.port, path);
  const until = (socket: RawSocket, condition: (message: any) => boolean) => eventually(() => socket.messages.some(condition));

  const expectDescribed = (channelId: string, message: any): void => {
    const written = document.channels[channelId].messages[message.type];
    const { payload } = written.$ref === undefined ? written : at(written.$ref);
    const validate = validatorOf(payload);
    expect([validate(message), validate.errors], JSON.stringify(message)).toEqual([true, null]);
  };

  test('match the real messages of a room: states, welcome and errors', async () => {
    const host = freshId();
    const { room } = (await service.post('/v1/rooms', { installId: host, game: 'tetris', name: 'Ada' })).body;
    const watcher = await watch(`/v1/rooms/${room.code}/live`);
    await until(watcher, ({ type }) => type === 'room');
    for (const installId of [host, freshId()]) {
      const hello = { type: 'hello', installId };
      expectDescribed('roomsByCodeLive', hello);
      watcher.text(JSON.stringify(hello));
    }
    await until(watcher, ({ type }) => type === 'welcome');
    await until(watcher, ({ error }) => error?.code === 'not_in_room');
    watcher.text('{"type":"goodbye"}');
    await until(watcher, ({ error }) => error?.code === 'invalid_request');
    await service.post(`/v1/rooms/${room.code}/join`, { installId: freshId(), name: 'Bob' });
    for (const [action, body] of [
      ['start', {}],
      ['state', { state: { level: [1, null] } }],
      ['end', {}],
    ] as const) {
      expect((await service.post(`/v1/rooms/${room.code}/${action}`, { installId: host, ...body })).status, action).toBe(200);
    }
    expect(await watcher.closed()).toBe(4501);
    expect(watcher.messages.at(-1)).toMatchObject({ type: 'room', room: { phase: 'ended', state: { level: [1, null] } } });
    for (const message of watcher.messages) expectDescribed('roomsByCodeLive', message);
  });

  test('match the real messages of a pairing', async () => {
    const { token } = (await service.post('/v1/pair/new')).body;
    const watcher = await watch(`/v1/pair/live?token=${token}`);
    await until(watcher, ({ status }) => status === 'pending');
    watcher.text(JSON.stringify({ type: 'hello', installId: freshId() }));
    await until(watcher, ({ type }) => type === 'error');
    expect((await service.post('/v1/pair/claim', { token, installId: freshId() })).status).toBe(200);
    await watcher.closed();
    expect(watcher.messages.map(({ status }) => status).filter(Boolean)).toEqual(['pending', 'claimed']);
    for (const message of watcher.messages) expectDescribed('pairLive', message);
  });
});

test('a channel without received messages, parameters and query has a valid description', () => {
  const bare = { path: '/v1/ticks', summary: 'Ticks.', sends: { tick: z.object({ type: z.literal('tick') }) }, receives: {}, errors: [] };
  const written = asyncapiDocument([bare], new Schemas(errorSchemas, 'draft-7'));
  expect([isAsyncapi(written), isAsyncapi.errors]).toEqual([true, null]);
  expect(Object.keys(written.operations)).toEqual(['sendTicks']);
});
