import specs from '@asyncapi/specs';
import AjvModule from 'ajv';
import formatsModule from 'ajv-formats';
import { expect, test } from 'vitest';
import { channels } from '../../../src/api.ts';
import { errors } from '../../../src/errors.ts';
import { channelErrors } from '../../../src/server/live/channel.ts';
import { closeCodes } from '../../../src/server/live/close-codes.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { RawSocket } from '../../realtime/raw-socket.ts';
import { watchPairing, Watcher, watchRoom } from '../../realtime/watcher.ts';

// Both are CommonJS modules whose default export is nested once more.
const Ajv = AjvModule.default;
const addFormats = formatsModule.default;

// `any`: the document is read without types, as a client reads it.
// oxlint-disable-next-line no-explicit-any
type Any = any;

const service = await forFile(start());
const document = (await service.get('/asyncapi.json')).body;

/** The value that a reference points to. */
const at = (reference: string): Any =>
  reference
    .split('/')
    .slice(1)
    .reduce((place, name) => place?.[name], document);

// strict: an unknown keyword or format is an error. AsyncAPI's default schema format is draft 7.
const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
addFormats(ajv);
ajv.addVocabulary(['components']);

/** Compares a value with a schema of the document, whose references are resolved within the document, as tools do. */
function expectValid(schema: object, value: unknown): void {
  const validate = ajv.compile({ ...schema, components: document.components });
  expect([validate(value), validate.errors], JSON.stringify(value)).toEqual([true, null]);
}

test('the document is valid AsyncAPI 3.0.0, and its references have targets', () => {
  // AsyncAPI's schema contains draft 7 itself, so ajv's own copy is switched off (`meta: false`).
  const own = new Ajv({ strict: false, meta: false, validateSchema: false, allErrors: true });
  addFormats(own);
  const isAsyncapi = own.compile(specs.schemas['3.0.0']);
  expect([isAsyncapi(document), isAsyncapi.errors]).toEqual([true, null]);
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference!);
  expect(references.filter((reference) => at(reference) === undefined)).toEqual([]);
});

test('the channels are the declared ones, with their messages, parameters and the errors that refuse an upgrade', () => {
  const written = Object.values<Any>(document.channels);
  expect(written.map(({ address }) => address)).toEqual(channels.map(({ path }) => path));
  for (const [index, channel] of channels.entries()) {
    const { messages, parameters = {}, bindings, description, 'x-upgrade-errors': refusals } = written[index];
    const names = [...Object.keys(channel.sends), ...Object.keys(channel.receives), 'error'];
    expect(Object.keys(messages).toSorted(), channel.path).toEqual(names.toSorted());
    expect(Object.keys(parameters)).toEqual([...channel.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    expect(Object.keys(bindings.ws.query?.properties ?? {})).toEqual(Object.keys(channel.query?.shape ?? {}));
    const listed = (refusals.errors as { status: number; code: string }[]).map(({ status, code }) => `\`${code}\` (${status})`);
    expect(listed.toSorted()).toEqual(
      channelErrors(channel)
        .map((code) => `\`${code}\` (${errors[code].status})`)
        .toSorted(),
    );
    for (const each of listed) expect(description).toContain(each);
  }
});

test.each([
  ['roomsByCodeLive', '/v1/rooms/BCDFG/live', 'room_not_found'],
  ['pairLive', `/v1/pair/live?token=${'a'.repeat(24)}`, 'pair_not_found'],
  ['pairLive', '/v1/pair/live', 'invalid_request'],
])('the body of a refused upgrade matches its description: %s %s %s', async (id, path, code) => {
  const { status, body } = await RawSocket.open(service.port, path);
  const { schema, errors: listed } = document.channels[id]['x-upgrade-errors'];
  expectValid(schema, body);
  expect([body.error.code, status]).toEqual([code, listed.find((each: Any) => each.code === code).status]);
});

test('the close codes say whether a client should reconnect', () => {
  const listed = document['x-close-codes'].map(({ code, reconnect }: Any) => [code, reconnect]);
  expect(listed).toEqual([
    ...[1001, 1009, 4008, 4009, 4400, 4429].map((code) => [code, true]),
    ...[4500, 4501, 4502, 4503].map((code) => [code, false]),
  ]);
  expect(listed.map(([code]: [number]) => code)).toEqual(Object.values(closeCodes).toSorted((one, other) => one - other));
});

function expectDescribed(channelId: string, message: Any): void {
  const written = document.channels[channelId].messages[message.type];
  expectValid((written.$ref === undefined ? written : at(written.$ref)).payload, message);
}

test('the real messages of a room, of a pairing and of an account match the document', async () => {
  const host = freshId();
  const { code } = (await service.post('/v1/rooms', { installId: host, game: 'tetris', name: 'Ada' })).body.room;
  const watcher = await watchRoom(service, code);
  const hello = { type: 'hello', installId: host };
  expectDescribed('roomsByCodeLive', hello);
  watcher.send(hello);
  await watcher.until(({ type }) => type === 'welcome');
  watcher.send({ type: 'goodbye' });
  await watcher.until(({ error }) => error?.code === 'invalid_request');
  await service.post(`/v1/rooms/${code}/join`, { installId: freshId(), name: 'Bob' });
  await service.post(`/v1/rooms/${code}/state`, { installId: host, state: { level: [1, null] } });
  await service.post(`/v1/rooms/${code}/end`, { installId: host });
  await watcher.closed;
  expect(watcher.last).toMatchObject({ type: 'room', room: { phase: 'ended', state: { level: [1, null] } } });
  for (const message of watcher.messages) expectDescribed('roomsByCodeLive', message);

  const { token } = (await service.post('/v1/pair/new')).body;
  const pairing = await watchPairing(service, token);
  await pairing.until(({ status }) => status === 'pending');
  await service.post('/v1/pair/claim', { token, installId: freshId() });
  await pairing.closed;
  expect(pairing.messages.map(({ status }) => status)).toEqual(['pending', 'claimed']);
  for (const message of pairing.messages) expectDescribed('pairLive', message);

  const account = await Watcher.open(service.url, '/v1/account/live');
  const names = { type: 'hello', installId: host };
  expectDescribed('accountLive', names);
  account.send({ ...names, installId: 7 });
  account.send(names);
  await account.until(({ type }) => type === 'account');
  for (const message of account.messages) expectDescribed('accountLive', message);
  await account.close();
});
