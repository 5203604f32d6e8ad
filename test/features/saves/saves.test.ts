import { describe, expect, test } from 'vitest';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import type { HoldingServices } from '../../../src/accounts/holdings.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { saveHolding } from '../../../src/features/saves/holdings.ts';
import { keysOf } from '../../../src/features/saves/model.ts';
import { audited } from '../../consistency/audited.ts';
import { codeOf, forFile, freshId, isOnCluster, signIn, start, type RequestOptions, type TestReply } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { makeServerKey } from '../../server-keys.ts';
import { deleteAccount, signInToStore } from '../../store.ts';
import { peopleOf, person } from '../sign-in/people.ts';

/** A Redis of this file, whose data the audit finds right. On a Cluster the data of other files is there too. */
const own = isOnCluster() ? undefined : await forFile(startRedis());
const startHere = (settings: Record<string, string>) =>
  start({ ...(own === undefined ? {} : { redis: own.location }), settings, stoppedClock: true });
const service = await forFile(startHere({ ADMIN_API: 'on' }));
const { redis } = service.service;

const KIB = 1024;
const FULL = 64 * KIB;
/** A text whose JSON has this many bytes. */
const bytes = (count: number, letter = 'a'): string => letter.repeat(count - 2);

interface Fields {
  readonly ifVersion?: number;
  readonly device?: string;
  readonly [field: string]: unknown;
}

/** A player by its installId, or by a session. */
const playerAs = (options: RequestOptions, at = service) => ({
  save: (name: string, data: unknown, fields: Fields = {}, game = 'tetris'): Promise<TestReply> =>
    at.post(`/v1/saves/${game}/${name}`, { data, ...fields }, options),
  load: (name: string, version?: number, game = 'tetris'): Promise<TestReply> =>
    at.get(`/v1/saves/${game}/${name}${version === undefined ? '' : `?version=${version}`}`, options),
  drop: (name: string, fields: Fields = {}, game = 'tetris') => at.post(`/v1/saves/${game}/${name}/delete`, fields, options),
  list: async (game = 'tetris') => (await at.get(`/v1/saves/${game}`, options)).body.saves,
});
const player = (installId = freshId(), at = service) => ({ installId, ...playerAs({ headers: { 'x-install-id': installId } }, at) });

/** The reply to the body as it is. */
const raw = async ({ installId }: { installId: string }, body: string): Promise<TestReply['body']> => {
  const headers = { 'content-type': 'application/json', 'x-install-id': installId };
  return (await fetch(`${service.url}/v1/saves/tetris/slot`, { method: 'POST', headers, body })).json();
};

const time = (): string => new Date(service.now()).toISOString();
const versionsOf = async ({ load }: ReturnType<typeof playerAs>, name: string, upTo: number) => {
  const found = await Promise.all(Array.from({ length: upTo }, (_, index) => load(name, index + 1)));
  return found.flatMap(({ status, body }) => (status === 200 ? [[body.version, body.data]] : []));
};
const findings = async () => (own === undefined ? [] : (await audited(own.location)).findings);

describe('a save', () => {
  test('is read as it was sent, apart for each game and name, and listed without its data', async () => {
    const { save, load, list } = player();
    expect([await list(), codeOf(await load('slot'))]).toEqual([[], '404 save_not_found']);
    const data = { level: 3, ü: '\u2028 \ud83d\ude00 "\\', list: [0, -1.5, 1e300, null, true], nested: { __proto__: 1, constructor: {} } };
    const { status, body } = await save('slot', data, { device: ' Ada’s tablet ' });
    expect([status, body]).toEqual([200, { ok: true, version: 1, updatedAt: time() }]);
    const first = time();
    service.advance(1000);
    await save('another', 'text');
    await save('slot', null, {}, 'chess');
    expect((await load('slot')).body).toEqual({ ok: true, name: 'slot', version: 1, data, updatedAt: first, device: 'Ada’s tablet' });
    expect([(await load('slot', undefined, 'chess')).body.data, (await load('another')).body.data]).toEqual([null, 'text']);
    const sizeBytes = Buffer.byteLength(JSON.stringify(data));
    expect(await list()).toEqual([
      { name: 'another', version: 1, sizeBytes: 6, updatedAt: time() },
      { name: 'slot', version: 1, sizeBytes, updatedAt: first, device: 'Ada’s tablet' },
    ]);
    expect(await player().list()).toEqual([]);
  });

  test('keeps the last five versions, and no version comes twice, after a delete neither', async () => {
    const one = player();
    for (let turn = 1; turn <= 7; turn++) expect((await one.save('slot', { turn })).body.version).toBe(turn);
    expect(await versionsOf(one, 'slot', 8)).toEqual([3, 4, 5, 6, 7].map((turn) => [turn, { turn }]));
    expect((await one.load('slot')).body).toMatchObject({ version: 7, data: { turn: 7 } });
    expect((await one.drop('slot')).body).toEqual({ ok: true, deleted: true });
    expect([(await one.drop('slot', { ifVersion: 7 })).body.deleted, codeOf(await one.load('slot', 7)), await one.list()]).toEqual([
      false,
      '404 save_not_found',
      [],
    ]);
    expect((await one.save('slot', 1)).body.version).toBe(8);
    expect((await one.save('other', 1)).body.version).toBe(1);
  });

  test('with a size or version beyond all saves is read as lost at once, and can be written again', async () => {
    const { save, load, list, installId } = player();
    await save('slot-1', { a: 1 });
    const { saves } = keysOf(accountIdOf(installId));
    const line = (await redis.hget(saves, 'tetris/slot-1'))!;
    for (const damaged of [line.replace(/^1 7 /, `1 ${'9'.repeat(15)} `), line.replace(/^1 7 /, '1 0 ')]) {
      await redis.hset(saves, 'tetris/slot-1', damaged);
      expect((await load('slot-1')).status).not.toBe(503);
      expect((await list()).length).toBe(1);
      expect((await save('slot-1', { a: damaged })).status).toBe(200);
      await redis.hset(saves, 'tetris/slot-1', line);
    }
    // The audits of other tests find nothing of it.
    await redis.del(saves, keysOf(accountIdOf(installId)).texts);
  });

  test('of very many deleted names stays small, and none of the names begins again', async () => {
    const one = player();
    await one.save('n0', 0);
    for (let name = 0; name < 66; name++) {
      await one.save(`n${name}`, 1);
      await one.drop(`n${name}`);
    }
    expect((await redis.hget(keysOf(accountIdOf(one.installId)).saves, ':ended'))!.split('\n')).toHaveLength(64 + 1);
    // The last versions of n0 and n1 are not known any more, and all names without a known one begin above them.
    for (const [name, version] of [
      ['n0', 3],
      ['n1', 3],
      ['n2', 2],
      ['new', 3],
    ] as const)
      expect((await one.save(name, 1)).body.version).toBe(version);
  });

  test('whose data equals the current data changes nothing, whatever `ifVersion` says; the order of members and blanks make no difference', async () => {
    const one = player();
    await one.save('slot', { a: [1, { x: 1, y: 2 }], b: 12 });
    const first = time();
    service.advance(1000);
    for (const ifVersion of [undefined, 0, 1, 9])
      expect((await one.save('slot', { b: 12.0, a: [1, { y: 2, x: 1 }] }, { ifVersion })).body).toEqual({
        ok: true,
        version: 1,
        updatedAt: first,
      });
    const sameBytes = [
      { a: [1, { x: 2, y: 1 }], b: 12 },
      { a: [1, { x: 1, y: 2 }], b: 21 },
      { b: [1, { x: 1, y: 2 }], a: 12 },
    ];
    for (const [index, data] of sameBytes.entries()) expect((await one.save('slot', data)).body.version).toBe(index + 2);
    expect((await one.load('slot')).body.data).toEqual(sameBytes.at(-1));
    expect((await one.save('slot', { a: [1, { x: 1, y: 2 }], b: 12 })).body.version).toBe(5);
  });

  test('is accepted only if `ifVersion` is the current version, and a refusal shows the current data', async () => {
    const one = player();
    expect((await one.save('slot', 1, { ifVersion: 4 })).body.error).toMatchObject({ code: 'stale_save', version: 0 });
    expect((await one.save('slot', 1, { ifVersion: 0 })).body.version).toBe(1);
    const stale = { code: 'stale_save', version: 1, updatedAt: time(), data: 1 };
    for (const ifVersion of [0, 2]) {
      expect(codeOf(await one.save('slot', 2, { ifVersion }))).toBe('409 stale_save');
      expect((await one.save('slot', 2, { ifVersion })).body.error).toMatchObject(stale);
      expect((await one.drop('slot', { ifVersion })).body.error).toMatchObject(stale);
    }
    const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => one.save('slot', { index }, { ifVersion: 1 })));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await one.drop('slot', { ifVersion: 2 })).body.deleted).toBe(true);
    expect((await one.save('slot', 1, { ifVersion: 0 })).body.version).toBe(3);
  });

  test('of 64 KiB of compact JSON passes in a body of 80 KiB, and one byte more does not', async () => {
    const one = player();
    const text = `${'ü'.repeat(30_000)}${'\u{1f600}'.repeat(1000)}`;
    const data = text + 'a'.repeat(FULL - 2 - Buffer.byteLength(text));
    expect((await one.save('slot', data)).body.version).toBe(1);
    expect([(await one.load('slot')).body.data === data, (await one.list())[0].sizeBytes]).toEqual([true, FULL]);
    const { status, body } = await one.save('slot', `${data}a`);
    expect([status, body.error.code, body.error.field]).toEqual([409, 'save_limit', 'data']);
    const padded = (length: number) => JSON.stringify({ data: bytes(FULL) }).padEnd(length);
    expect([(await raw(one, padded(80 * KIB))).version, (await raw(one, padded(80 * KIB + 1))).error.code]).toEqual([
      2,
      'payload_too_large',
    ]);
  });

  test('nests 32 levels deep, in as many lists as fit; what no double holds and half a character are refused with their path', async () => {
    const one = player();
    const deep = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;
    expect((await one.save('slot', deep(32))).body.version).toBe(1);
    expect((await one.save('slot', deep(33))).body.error).toMatchObject({ code: 'invalid_request', field: 'data' });
    const lists = Array.from({ length: 21_000 }, () => []);
    expect((await one.save('slot', lists)).body.version).toBe(2);
    expect((await one.load('slot')).body.data).toEqual(lists);
    for (const data of ['{"a":[9007199254740993]}', '{"a":[1e400]}', '{"a":["\\ud800"]}'])
      expect((await raw(one, `{"data":${data}}`)).error).toMatchObject({ code: 'invalid_request', field: 'data.a.0' });
    expect((await one.save('slot', undefined)).body.error).toMatchObject({ code: 'invalid_request', field: 'data' });
  });
});

describe('the limits', () => {
  test('are 16 names and 256 KiB a game; an existing save may still be replaced, and a delete makes room', async () => {
    const one = player();
    for (let name = 0; name < 16; name++) expect((await one.save(`n${name}`, bytes(16 * KIB))).status).toBe(200);
    expect((await one.save('n16', 1)).body.error).toMatchObject({ code: 'save_limit', field: 'name' });
    expect((await one.save('n0', bytes(16 * KIB + 1))).body.error).toMatchObject({ code: 'save_limit', field: 'data' });
    expect((await one.save('n0', bytes(16 * KIB, 'b'))).body.version).toBe(2);
    expect((await one.save('n16', 1, {}, 'chess')).status).toBe(200);
    await one.drop('n0');
    expect((await one.save('n16', bytes(16 * KIB))).body.version).toBe(1);
  });

  test('are 1 MiB an account with all versions, in which a small version counts 256 bytes', async () => {
    const one = player();
    for (let version = 0; version < 5; version++)
      for (const name of ['a', 'b', 'c']) expect((await one.save(name, bytes(FULL, String(version)))).status).toBe(200);
    expect((await one.save('d', bytes(FULL - 256), {}, 'chess')).status).toBe(200);
    expect((await one.save('e', 1, {}, 'go')).status).toBe(200);
    expect(codeOf(await one.save('e', 2, {}, 'go'))).toBe('409 save_limit');
    // The oldest version goes, so this takes no more than before.
    expect((await one.save('a', bytes(FULL, 'z'))).body.version).toBe(6);
    await one.drop('b');
    expect((await one.save('e', 2, {}, 'go')).status).toBe(200);
    expect(await redis.hget(keysOf(accountIdOf(one.installId)).saves, ':bytes')).toBe(String(11 * FULL + 256));
  });

  test('of an address a day count only bytes that are written, and no bytes that a server key writes', async () => {
    const settings = {
      RATE_LIMIT: 'on',
      RATE_LIMIT_PER_SECOND: '1000',
      RATE_LIMIT_BURST: '1000',
      SAVE_BYTES_PER_DAY: '2000',
      SAVE_BYTES: '1500',
    };
    await using limited = await startHere(settings);
    const one = player(freshId(), limited);
    expect((await one.save('slot', bytes(1501))).body.error).toMatchObject({
      code: 'save_limit',
      message: 'A save has at most 1500 bytes.',
    });
    expect((await one.save('slot', bytes(1000))).status).toBe(200);
    for (let times = 0; times < 5; times++) expect((await one.save('slot', bytes(1000))).body.version).toBe(1);
    for (let times = 0; times < 5; times++)
      expect(codeOf(await one.save('slot', bytes(1000, 'b'), { ifVersion: 7 }))).toBe('409 stale_save');
    expect((await one.save('slot', bytes(744, 'c'))).status).toBe(200);
    expect((await one.save('slot', 1)).status).toBe(200);
    const refused = await player(freshId(), limited).save('slot', 2);
    expect([refused.status, refused.body.error.code, refused.headers.get('retry-after')]).toEqual([429, 'rate_limited', '11060']);
    const { token } = await makeServerKey(limited, ['saves']);
    const reply = await limited.post(
      '/v1/saves/tetris/slot',
      { data: bytes(1500), accountId: accountIdOf(one.installId) },
      { bearer: token },
    );
    expect(reply.body.version).toBe(4);
  });

  test('count a long body as several requests', async () => {
    const settings = { RATE_LIMIT: 'on', RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '12' };
    await using limited = await startHere(settings);
    const one = player(freshId(), limited);
    const replies = [];
    for (const letter of 'abc') replies.push((await one.save('slot', bytes(60 * KIB, letter))).status);
    expect(replies).toEqual([200, 200, 200]);
    expect((await one.save('slot', 1)).status).toBe(429);
  });

  test('count a comparison of long texts as several requests', async () => {
    await using limited = await startHere({ RATE_LIMIT: 'on', RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '14' });
    const one = player(freshId(), limited);
    const text = bytes(60 * KIB);
    const save = async (data: unknown) => (await one.save('slot', data)).status;
    // The first text and the second have other bytes than the one before. The third and the second have the same size and sum.
    expect([await save([text, 0]), await save([text, 12]), await save([text, 21])]).toEqual([200, 200, 429]);
  });
});

test('a version takes at most a tenth more memory than its text, and 2 KiB', async () => {
  for (const size of [3, 1000, 9 * KIB, 20 * KIB, 40 * KIB + 1, FULL]) {
    const one = player();
    for (const letter of 'ab') await one.save('slot', bytes(size, letter));
    const keys = Object.values(keysOf(accountIdOf(one.installId)));
    const used = await Promise.all(keys.map((key) => redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) as Promise<number>));
    expect([size, used[0]! + used[1]!]).toEqual([size, expect.toSatisfy((total: number) => total <= 2 * (1.1 * size + 2 * KIB))]);
  }
});

describe('a server key', () => {
  test('with the scope `saves` reads and writes the saves of an account, those of its game only', async () => {
    const one = player();
    const accountId = accountIdOf(one.installId);
    const { token: bearer } = await makeServerKey(service, ['saves'], { game: 'tetris' });
    const { token: other } = await makeServerKey(service, ['coins']);
    expect((await service.post('/v1/saves/tetris/slot', { data: 1, accountId }, { bearer })).body.version).toBe(1);
    expect((await service.get(`/v1/saves/tetris/slot?accountId=${accountId}`, { bearer })).body.data).toBe(1);
    expect((await service.get(`/v1/saves/tetris?accountId=${accountId}`, { bearer })).body.saves).toHaveLength(1);
    for (const path of ['chess', 'chess/slot'])
      expect(codeOf(await service.get(`/v1/saves/${path}?accountId=${accountId}`, { bearer }))).toBe('403 forbidden');
    for (const path of ['chess/slot', 'chess/slot/delete'])
      expect(codeOf(await service.post(`/v1/saves/${path}`, { data: 1, accountId }, { bearer }))).toBe('403 forbidden');
    expect(codeOf(await service.post('/v1/saves/tetris/slot', { data: 1, accountId }, { bearer: other }))).toBe('403 forbidden');
    expect(codeOf(await service.post('/v1/saves/tetris/slot', { data: 1 }, { bearer }))).toBe('400 invalid_request');
    expect((await service.post('/v1/saves/tetris/slot/delete', { accountId }, { bearer })).body.deleted).toBe(true);
  });
});

describe('a move', () => {
  type Play = (one: ReturnType<typeof playerAs>) => Promise<unknown>;

  /** A store account with these saves, into which a store account with those saves was merged. */
  async function mergedAccounts(account: Play, other: Play) {
    const { enter, merge } = peopleOf(service);
    const [one, another] = [await enter(person()), await enter(person('apple'))];
    await account(playerAs(one));
    await other(playerAs(another));
    expect((await merge(one, another)).body.merged).toBe(true);
    for (const key of Object.values(keysOf(another.accountId))) expect(await redis.exists(key)).toBe(0);
    return { ...one, ...playerAs(one) };
  }

  /** A store account with these saves, into which a guest with those saves has moved. */
  async function merged(account: Play, guest: Play) {
    const subject = freshId('subject');
    await account(playerAs({ cookies: (await signInToStore(service, subject)).cookies }));
    const one = player();
    await guest(one);
    const { cookies, body } = await signInToStore(service, subject, { installId: one.installId });
    expect(body.moved).toBe(true);
    for (const key of Object.values(keysOf(accountIdOf(one.installId)))) expect(await redis.exists(key)).toBe(0);
    return { accountId: body.accountId as string, cookies, ...playerAs({ cookies }) };
  }

  test('brings the saves with their versions, and a name that the account has deleted goes on', async () => {
    const one = await merged(
      async ({ save, drop }) => {
        for (let turn = 1; turn <= 6; turn++) await save('gone', turn);
        await drop('gone');
      },
      async ({ save }) => {
        for (let turn = 1; turn <= 6; turn++) await save('slot', { turn }, { device: 'phone' });
        for (let turn = 1; turn <= 2; turn++) await save('gone', { turn });
      },
    );
    expect(await versionsOf(one, 'slot', 7)).toEqual([2, 3, 4, 5, 6].map((turn) => [turn, { turn }]));
    expect((await one.load('slot')).body).toMatchObject({ device: 'phone' });
    expect((await one.load('slot')).body).not.toHaveProperty('other');
    expect(await versionsOf(one, 'gone', 9)).toEqual([
      [7, { turn: 1 }],
      [8, { turn: 2 }],
    ]);
    expect(await findings()).toEqual([]);
  });

  test.each([
    ['of a guest', merged],
    ['of an account that is merged', mergedAccounts],
  ])(
    '%s keeps the account’s save where both have one: the other is its newest older version, and `other` until a save with `ifVersion`',
    async (_, joined) => {
      const one = await joined(
        async ({ save }) => {
          for (const data of ['a1', 'a2', 'a3', 'a4', 'a5']) await save('slot', data);
          await save('same', { x: 1 });
        },
        async ({ save }) => {
          for (const data of ['g1', 'g2']) await save('slot', data);
          await save('same', { x: 1 });
        },
      );
      const { version, data, other } = (await one.load('slot')).body;
      expect([version, data, other]).toEqual([7, 'a5', { version: 6 }]);
      expect(await versionsOf(one, 'slot', 8)).toEqual([
        [2, 'a2'],
        [3, 'a3'],
        [4, 'a4'],
        [6, 'g2'],
        [7, 'a5'],
      ]);
      expect((await one.load('slot', 6)).body).not.toHaveProperty('other');
      expect((await one.load('same')).body).toMatchObject({ version: 1 });
      expect((await one.load('same')).body).not.toHaveProperty('other');
      // A device that knows only an older version is refused, and gets the version that stands.
      expect((await one.save('slot', 'late', { ifVersion: 5 })).body.error).toMatchObject({ code: 'stale_save', version: 7 });
      expect((await one.save('slot', 'b')).body.version).toBe(8);
      expect((await one.load('slot')).body.other).toEqual({ version: 6 });
      expect((await one.save('slot', 'b+g2', { ifVersion: 8 })).body.version).toBe(9);
      expect((await one.load('slot')).body).not.toHaveProperty('other');
      expect(await findings()).toEqual([]);
    },
  );

  test('is settled too by a save of the current data with `ifVersion`, and forgotten when the other version is no longer kept', async () => {
    const both = () =>
      merged(
        ({ save }) => save('slot', 'a'),
        ({ save }) => save('slot', 'g'),
      );
    const [settled, forgotten] = [await both(), await both()];
    expect((await settled.save('slot', 'a', { ifVersion: 2 })).body.version).toBe(3);
    expect((await settled.load('slot')).body.other).toEqual({ version: 2 });
    expect((await settled.save('slot', 'a', { ifVersion: 3 })).body.version).toBe(3);
    expect((await settled.load('slot')).body).not.toHaveProperty('other');
    for (const data of [1, 2, 3]) await forgotten.save('slot', data);
    expect((await forgotten.load('slot')).body.other).toEqual({ version: 2 });
    await forgotten.save('slot', 4);
    expect((await forgotten.load('slot')).body).not.toHaveProperty('other');
  });

  test('above the limits loses no save and refuses new ones', async () => {
    const many = async ({ save }: ReturnType<typeof playerAs>, prefix: string) => {
      for (let name = 0; name < 16; name++) await save(`${prefix}${name}`, bytes(16 * KIB));
      for (const game of ['chess', 'go']) for (let name = 0; name < 4; name++) await save(`${prefix}${name}`, bytes(60 * KIB), {}, game);
    };
    const one = await merged(
      (account) => many(account, 'a'),
      (guest) => many(guest, 'g'),
    );
    expect([(await one.list()).length, (await one.list('chess')).length]).toEqual([32, 8]);
    expect((await one.load('g15')).body.data).toBe(bytes(16 * KIB));
    for (const [name, game] of [
      ['new', 'tetris'],
      ['new', 'chess'],
      ['new', 'checkers'],
    ] as const)
      expect(codeOf(await one.save(name, 1, {}, game))).toBe('409 save_limit');
    expect(await findings()).toEqual([]);
  });

  test('that is repeated changes nothing', async () => {
    const one = await merged(
      ({ save }) => save('slot', 'a'),
      ({ save }) => save('slot', 'g'),
    );
    const keys = Object.values(keysOf(one.accountId));
    const before = await Promise.all(keys.map((key) => redis.hgetall(key)));
    const guest = Object.keys(before[0]!)
      .find((field) => /^:.{22}$/.test(field))!
      .slice(1);
    // A process that stood still brings a save again, after the guest has gone.
    await redis.hset(keysOf(guest).saves, 'tetris/slot', '1 3 0 19838 0 \n');
    await redis.hset(keysOf(guest).texts, 'tetris/slot/1/0', '"z"');
    const scripts = new CallerScripts(service.service.connections.scripts, { now: service.now });
    await saveHolding.handOver({ guestId: guest, accountId: one.accountId, isLast: true }, { scripts } as HoldingServices);
    expect(await Promise.all(keys.map((key) => redis.hgetall(key)))).toEqual(before);
    expect(await redis.exists(...Object.values(keysOf(guest)))).toBe(0);
  });
});

describe('what is kept', () => {
  test('is exported with all versions, in pages, and erased with the account', async () => {
    const one = player();
    const games = [...'abcdefgh'];
    for (const game of games) for (const data of [bytes(40 * KIB), { game }]) await one.save('slot', data, { device: 'phone' }, game);
    const saves: { game: string; version: number }[] = [];
    let pages = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined; pages++) {
      const path = `/v1/account/export${cursor === '' ? '' : `?cursor=${cursor}`}`;
      const { body } = await service.get(path, { headers: { 'x-install-id': one.installId } });
      saves.push(...(body.saves ?? []));
      cursor = body.nextCursor;
    }
    const updatedAt = time();
    expect(pages).toBeGreaterThan(1);
    expect(saves.toSorted((one, other) => one.game.localeCompare(other.game) || other.version - one.version)).toEqual(
      games.flatMap((game) => [
        { game, name: 'slot', version: 2, data: { game }, updatedAt, device: 'phone' },
        { game, name: 'slot', version: 1, data: bytes(40 * KIB), updatedAt, device: 'phone' },
      ]),
    );
    await deleteAccount(service, { installId: one.installId });
    for (const key of Object.values(keysOf(accountIdOf(one.installId)))) expect(await redis.exists(key)).toBe(0);
    expect(codeOf(await one.load('slot'))).toBe('410 account_deleted');
  });

  test('is shown to operators, who bring an older version back beyond the limits, those of a game for that game', async () => {
    const one = player();
    const accountId = accountIdOf(one.installId);
    for (const data of [{ level: 9 }, { level: 1 }, bytes(FULL)]) await one.save('slot', data, { device: 'phone' });
    for (const name of ['b', 'c', 'd']) await one.save(name, bytes(FULL));
    const { token: bearer } = await makeServerKey(service, ['admin'], { role: 'support' });
    const { token: ofChess } = await makeServerKey(service, ['admin'], { role: 'support', game: 'chess' });
    const show = async () => (await service.get(`/v1/admin/accounts/${accountId}`, { bearer })).body.saves;
    const updatedAt = time();
    expect((await show()).at(-1)).toEqual({
      game: 'tetris',
      name: 'slot',
      version: 3,
      sizeBytes: FULL,
      updatedAt,
      device: 'phone',
      versions: [
        { version: 2, sizeBytes: 11, updatedAt, device: 'phone' },
        { version: 1, sizeBytes: 11, updatedAt, device: 'phone' },
      ],
    });
    const bringBack = (version: number, key = bearer, name = 'slot') =>
      service.post(`/v1/admin/accounts/${accountId}/saves/tetris/${name}/bring-back`, { version, reason: 'ticket 1' }, { bearer: key });
    expect(codeOf(await bringBack(1, ofChess))).toBe('403 forbidden');
    expect([codeOf(await bringBack(4)), codeOf(await bringBack(1, bearer, 'none'))]).toEqual(['404 save_not_found', '404 save_not_found']);
    expect((await bringBack(1)).body).toMatchObject({
      accountId,
      version: 4,
      logged: { action: 'saves bring-back', outcome: { version: 4 } },
    });
    expect((await one.load('slot')).body).toMatchObject({ version: 4, data: { level: 9 }, device: 'phone' });
    expect((await bringBack(3)).body.version).toBe(5);
    const cookies = await signIn(service, one.installId);
    expect((await playerAs({ cookies }).load('slot')).body.data).toBe(bytes(FULL));
    const change = (verb: string) => service.post(`/v1/admin/accounts/${accountId}/${verb}`, { reason: 'ticket 1' }, { bearer });
    await change('ban');
    expect([codeOf(await bringBack(3)), codeOf(await one.load('slot'))]).toEqual(['403 account_banned', '403 account_banned']);
    await change('unban');
    await deleteAccount(service, { installId: one.installId });
    expect(codeOf(await bringBack(3))).toBe('410 account_deleted');
  });
});
