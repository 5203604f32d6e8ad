import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { open } from '../../features/rooms/room.ts';
import { forFile, start } from '../../harness.ts';
import { OpenapiDocument, ROOM_ACTIONS } from './openapi-document.ts';

// `any`: the document is read without types, as a client reads it.
// oxlint-disable-next-line no-explicit-any
const service = await forFile(start());
const document = (await service.get('/openapi.json')).body;
const openapi = new OpenapiDocument(document);

describe('generated clients', () => {
  /** All schemas of the document, at every depth, with the name of the field that each describes. */
  function fieldsOf(value: unknown, name = ''): [name: string, schema: any][] {
    if (typeof value !== 'object' || value === null) return [];
    const own: [string, any][] = typeof (value as any).type === 'string' ? [[name, value]] : [];
    return [
      ...own,
      ...Object.entries(value).flatMap(([key, below]) =>
        key === 'example' || key === 'examples'
          ? []
          : key === 'schema'
            ? fieldsOf(below, String((value as any).name ?? name))
            : fieldsOf(below, key),
      ),
    ];
  }

  test('get integers for whole numbers: only scores have a fraction', () => {
    const fractional = fieldsOf({ paths: document.paths, components: document.components }).filter(([, { type }]) => type === 'number');
    expect([...new Set(fractional.map(([name]) => name))].toSorted()).toEqual(['best', 'score']);
    const parameter = (path: string, name: string) =>
      document.paths[path].get.parameters.find((each: { name: string }) => each.name === name).schema;
    expect(parameter('/v1/rooms/{code}', 'since')).toEqual({ type: 'integer', minimum: 0, maximum: 999_999_999_999_999, format: 'int64' });
    expect(parameter('/v1/rooms/{code}', 'wait')).toEqual({ type: 'integer', minimum: 0, maximum: 25 });
    expect(parameter('/v1/pair/status', 'wait')).toEqual({ type: 'integer', minimum: 0, maximum: 25 });
    expect(parameter('/v1/coins/history', 'limit')).toEqual({ type: 'integer', minimum: 1, maximum: 100 });
  });

  test('get 64 bits for integers that 32 bits do not hold', () => {
    const integers = fieldsOf({ paths: document.paths, components: document.components }).filter(([, { type }]) => type === 'integer');
    expect(integers.length).toBeGreaterThan(20);
    for (const [name, { minimum = -Infinity, maximum = Infinity, format }] of integers) {
      if (name === 'RetryAfter') continue;
      expect([name, format]).toEqual([name, minimum < -2147483647 || maximum > 2147483647 ? 'int64' : undefined]);
    }
  });

  test('get no type that is named by a number or by its place', () => {
    expect(Object.keys(document.components.schemas).filter((name) => /\d$|^Nested/.test(name))).toEqual([]);
  });

  test('get no type that hides a global of JavaScript or of a browser', () => {
    const library = new URL('../../../node_modules/@typescript/typescript-linux-x64/lib/lib.dom.d.ts', import.meta.url);
    const ofBrowsers = [...readFileSync(library, 'utf8').matchAll(/^(?:interface|declare var|type) (\w+)/gm)].map(([, name]) => name!);
    const globals = new Set([...Object.getOwnPropertyNames(globalThis), ...ofBrowsers, 'Record', 'Partial', 'Pick', 'Omit', 'Exclude']);
    for (const name of ['Error', 'Map', 'Object', 'Request', 'Response', 'Node', 'Event', 'Selection'])
      expect(globals.has(name)).toBe(true);
    expect(Object.keys(document.components.schemas).filter((name) => globals.has(name))).toEqual([]);
  });

  test('get examples of all JSON replies and of all errors, which match their schemas', () => {
    let checked = 0;
    for (const { name, operation } of openapi.operations) {
      for (const status of Object.keys(operation.responses).filter((each) => each !== '304')) {
        for (const [mediaType, { schema, example, examples }] of Object.entries<any>(openapi.response(operation, status).content)) {
          if (!/json/.test(mediaType)) continue;
          const all = examples === undefined ? [example] : Object.values<any>(examples).map(({ value }) => value);
          if (Number(status) >= 400) expect(Object.keys(examples)).toEqual(openapi.codes(operation, status));
          const validate = openapi.validator(schema);
          for (const each of all) {
            expect([validate(each), validate.errors], `${name} ${status}`).toEqual([true, null]);
            checked++;
          }
        }
      }
    }
    expect(checked).toBeGreaterThan(openapi.operations.length * 5);
  });

  test('get examples without a field that the reply does not declare', () => {
    for (const { endpoint, operation } of openapi.declared) {
      const [mediaType, { example }] = Object.entries<any>(operation.responses[200].content)[0]!;
      if (!/json/.test(mediaType)) continue;
      const { ok, ...fields } = example;
      const declared = endpoint.mediaType === undefined ? fields : example;
      expect(Object.keys(declared).filter((field) => !(field in endpoint.reply.shape))).toEqual([]);
      expect([endpoint.path, ok]).toEqual([endpoint.path, endpoint.mediaType === undefined ? true : undefined]);
    }
  });

  test('get one body for each action of a room, with the fields that the service asks for', async () => {
    const { code, host } = await open(service, { maxPlayers: 3 });
    const fields = (action: string) => {
      const { post } = document.paths[`/v1/rooms/{code}/${action}`];
      const { properties, required } = openapi.body(post);
      return [Object.keys(properties), required, post.requestBody.required];
    };
    const settings = ['public', 'tags', 'minPlayers', 'maxPlayers', 'writers'];
    /** The fields of an action itself, and the field that a request without fields lacks. */
    const own = new Map<string, [fields: string[], missing?: string]>([
      ['join', [['name']]],
      ['kick', [['playerId'], 'playerId']],
      ['transfer', [['playerId'], 'playerId']],
      ['settings', [settings, 'public']],
      ['state', [['state', 'merge', 'ifStateSeq'], 'state']],
      ['data', [['data', 'merge'], 'data']],
      ['private', [['seats', 'state', 'merge', 'ifStateSeq'], 'seats']],
      ['message', [['data', 'to'], 'data']],
    ]);
    for (const action of ROOM_ACTIONS) {
      const [fieldsOfAction, missing] = own.get(action) ?? [[]];
      const isRequired = ['kick', 'transfer', 'private', 'message'].includes(action);
      expect([action, fields(action)]).toEqual([
        action,
        [['installId', ...fieldsOfAction, ...(action === 'join' ? [] : ['order', 'tab'])], isRequired ? [missing] : undefined, isRequired],
      ]);
      const { status, body } = await service.post(`/v1/rooms/${code}/${action}`, { installId: host });
      if (missing === undefined) expect([action, status]).not.toEqual([action, 400]);
      else expect([action, status, body.error.field]).toEqual([action, 400, missing]);
    }
    expect(document.paths['/v1/rooms/{code}/{action}'].post.operationId).toBe('actInRoom');
  });

  test('get separate errors for each action of a room', () => {
    const ofHost = ['not_host', 'not_in_room', 'room_ended'];
    const own: Record<string, readonly string[]> = {
      join: ['kicked', 'room_ended', 'room_full', 'room_locked', 'room_started'],
      leave: ['not_in_room'],
      ready: ['not_in_room', 'room_ended'],
      unready: ['not_in_room', 'room_ended'],
      start: [...ofHost, 'not_enough_players'],
      end: ['not_host', 'not_in_room'],
      kick: ofHost,
      transfer: ofHost,
      lock: ofHost,
      unlock: ofHost,
      settings: [...ofHost, 'room_started'],
      state: [...ofHost, 'not_writer', 'stale_state'],
      data: ['not_in_room', 'room_ended'],
      private: [...ofHost, 'not_writer', 'stale_state'],
      message: ['not_in_room', 'room_ended'],
      rematch: ofHost,
    };
    const ofAll = ['account_banned', 'cross_site', 'forbidden'];
    for (const action of ROOM_ACTIONS) {
      const { post } = document.paths[`/v1/rooms/{code}/${action}`];
      const codes = [403, 409].flatMap((status) => (status in post.responses ? openapi.codes(post, status) : []));
      expect([action, codes.filter((code) => !ofAll.includes(code)).toSorted()]).toEqual([action, own[action]!.toSorted()]);
      expect(openapi.codes(post, 404)).toEqual(['room_not_found']);
    }
    // Together they are the errors of the endpoint.
    const all = [403, 409].flatMap((status) => openapi.codes(document.paths['/v1/rooms/{code}/{action}'].post, status));
    expect(all.filter((code) => !ofAll.includes(code)).toSorted()).toEqual([...new Set(Object.values(own).flat())].toSorted());
  });

  test('get the error for an unknown action only if the action is a parameter', () => {
    const codes = (path: string) => openapi.codes(document.paths[path].post, 400);
    expect(codes('/v1/rooms/{code}/{action}')).toContain('unknown_action');
    expect(codes('/v1/rooms/{code}/join')).not.toContain('unknown_action');
  });
});
