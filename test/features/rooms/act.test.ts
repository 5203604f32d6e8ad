import { describe, expect, test, vi } from 'vitest';
import { forFile, freshId, isOnCluster, start, type TestReply } from '../../harness.ts';
import { signInToStore } from '../../store.ts';
import { open, refusal } from './room.ts';

const service = await forFile(start());

const ids = (room: { players: { id: string }[] }) => room.players.map(({ id }) => id);
const everyAction = 'join leave ready unready data message start end kick transfer lock unlock settings state private rematch'.split(' ');
/** Body fields that an action requires besides the caller. */
const needed: Record<string, object> = {
  kick: { playerId: 'p1' },
  transfer: { playerId: 'p1' },
  state: { state: 1 },
  data: { data: 1 },
  message: { data: 1 },
  private: { seats: { p1: 1 } },
  settings: { public: true },
};

describe('POST /v1/rooms/{code}/{action}', () => {
  test.each(['dance', 'Join', 'constructor', '__proto__', 'joi%6e%20'])('the action %j is refused with unknown_action', async (action) => {
    const room = await open(service);
    expect(refusal(await room.act(action, room.host))).toEqual([400, 'unknown_action']);
  });

  test.each(everyAction)('%s is refused with room_not_found when no room has the code', async (action) => {
    const reply = await service.post(`/v1/rooms/BBBBB/${action}`, { installId: freshId(), ...needed[action] });
    expect(refusal(reply)).toEqual([404, 'room_not_found']);
  });

  test.each(everyAction.slice(1))('%s is refused with not_in_room when the caller has no seat', async (action) => {
    const room = await open(service);
    const before = await room.read();
    expect(refusal(await room.act(action, freshId(), needed[action]))).toEqual([403, 'not_in_room']);
    expect(await room.read()).toEqual(before);
  });

  test.each(everyAction.slice(6))('%s is refused with not_host when the caller is not the host', async (action) => {
    const room = await open(service);
    const guest = await room.join();
    const before = await room.read();
    expect(refusal(await room.act(action, guest, needed[action]))).toEqual([403, 'not_host']);
    expect(await room.read()).toEqual(before);
  });

  test.each(everyAction.filter((action) => !['join', 'leave', 'end', 'rematch'].includes(action)))(
    '%s is refused with room_ended after the end',
    async (action) => {
      const room = await open(service);
      await room.act('end', room.host);
      expect(refusal(await room.act(action, room.host, needed[action]))).toEqual([409, 'room_ended']);
    },
  );

  test('seq rises by one with every change and stays when an action changes nothing', async () => {
    const room = await open(service);
    const guest = await room.join();
    const seqs: number[] = [];
    for (const [action, installId, more] of [
      ['join', guest, {}],
      ['ready', guest, {}],
      ['ready', guest, {}],
      ['unready', guest, {}],
      ['unready', guest, {}],
      ['lock', room.host, {}],
      ['lock', room.host, {}],
      ['unlock', room.host, {}],
      ['unlock', room.host, {}],
      ['state', room.host, { state: { a: 1 } }],
      ['state', room.host, { state: { a: 1 } }],
      ['transfer', room.host, { playerId: 'p1' }],
      ['start', room.host, {}],
      ['start', room.host, {}],
      ['end', room.host, {}],
      ['end', room.host, {}],
      ['rematch', room.host, {}],
      ['rematch', room.host, {}],
    ] as const) {
      const { status, body } = await room.act(action, installId, more);
      expect([action, status]).toEqual([action, 200]);
      seqs.push(body.room.seq);
    }
    expect(seqs).toEqual([2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7, 8, 8, 9, 9, 10, 10]);
  });

  test('a change moves updatedAt and expiresAt and leaves createdAt', async () => {
    const room = await open(service);
    const before = await room.read();
    service.advance(5000);
    const { body } = await room.act('lock', room.host);
    expect(Date.parse(body.room.updatedAt) - Date.parse(before.updatedAt)).toBeGreaterThanOrEqual(5000);
    expect(Date.parse(body.room.expiresAt) - Date.parse(body.room.updatedAt)).toBe(7_200_000);
    expect(body.room.createdAt).toBe(before.createdAt);
  });

  test('no reply contains an installId or an account id', async () => {
    const room = await open(service);
    const guest = await room.join();
    const texts: string[] = [];
    const secrets = [room.host, guest];
    for (const installId of [room.host, guest]) secrets.push((await service.post('/v1/account/resolve', { installId })).body.accountId);
    texts.push(JSON.stringify(await room.read()));
    for (const [action, installId, more] of [
      ['join', guest, {}],
      ['ready', guest, {}],
      ['transfer', room.host, { playerId: 'p2' }],
      ['start', guest, {}],
      ['kick', guest, { playerId: 'p1' }],
      ['rematch', guest, {}],
      ['leave', guest, {}],
    ] as const) {
      const { status, body } = await room.act(action, installId, more);
      expect([action, status]).toEqual([action, 200]);
      texts.push(JSON.stringify(body));
    }
    const { nextCode } = await room.read();
    texts.push(JSON.stringify((await service.get(`/v1/rooms/${nextCode}`)).body));
    expect(texts).toHaveLength(9);
    for (const text of texts) for (const secret of secrets) expect(text).not.toContain(secret);
  });
});

describe('join', () => {
  test('gives the next seat, and a default name to a caller who sends none', async () => {
    const room = await open(service, { name: 'Ann' });
    const { body } = await room.act('join', freshId());
    expect(body.you).toEqual({ playerId: 'p2', host: false });
    expect(body.room.players[1]).toEqual({
      id: 'p2',
      name: 'Player 2',
      ready: false,
      connected: false,
      host: false,
      joinedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      data: null,
    });
    expect((await room.act('join', freshId(), { name: 'Cy "\\/é' })).body.room.players[2].name).toBe('Cy "\\/é');
  });

  test('creates the account of a new install only when the join succeeds', async () => {
    const room = await open(service, { maxPlayers: 2 });
    const [joined, refused] = [await room.join(), freshId()];
    expect(refusal(await room.act('join', refused))).toEqual([409, 'room_full']);
    expect((await service.post('/v1/account/resolve', { installId: joined })).body.created).toBe(false);
    expect((await service.post('/v1/account/resolve', { installId: refused })).body.created).toBe(true);
  });

  test('a repeated join keeps the seat and the name in every phase', async () => {
    const room = await open(service, { maxPlayers: 2 });
    const guest = await room.join('Bob');
    for (const action of ['lock', 'start', 'end']) {
      await room.act(action, room.host);
      const { status, body } = await room.act('join', guest, { name: 'Rob' });
      expect([status, body.you, ids(body.room), body.room.players[1].name]).toEqual([
        200,
        { playerId: 'p2', host: false },
        ['p1', 'p2'],
        'Bob',
      ]);
    }
  });

  test('20 concurrent joins of one caller take one seat', async () => {
    const room = await open(service);
    const guest = freshId();
    const replies = await Promise.all(Array.from({ length: 20 }, () => room.act('join', guest)));
    expect(replies.every(({ status, body }) => status === 200 && body.you.playerId === 'p2')).toBe(true);
    expect(ids(await room.read())).toEqual(['p1', 'p2']);
  });

  test('of 70 concurrent joins a room of 64 accepts 63 and refuses 7', async () => {
    const room = await open(service, { maxPlayers: 64 });
    const replies = await Promise.all(Array.from({ length: 70 }, () => room.act('join', freshId())));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(63);
    expect(replies.filter((reply) => refusal(reply)[1] === 'room_full')).toHaveLength(7);
    const { players, seq } = await room.read();
    expect(seq).toBe(64);
    expect(ids({ players })).toEqual(Array.from({ length: 64 }, (_, index) => `p${index + 1}`));
  });

  test.each([
    ['lock', 'room_locked'],
    ['start', 'room_started'],
    ['end', 'room_ended'],
  ])('is refused to a new player after %s, with %s', async (action, code) => {
    const room = await open(service);
    await room.act(action, room.host);
    expect(refusal(await room.act('join', freshId()))).toEqual([409, code]);
    expect(ids(await room.read())).toEqual(['p1']);
  });
});

describe('join with an order', () => {
  test('takes a seat like any other join: there is no seat yet that could remember the order', async () => {
    const room = await open(service);
    const { status, body } = await room.act('join', freshId(), { order: 1, tab: 'a' });
    expect([status, body.you]).toEqual([200, { playerId: 'p2', host: false }]);
  });
});

describe('leave', () => {
  test('frees the seat, and a player who joins again gets a new player id', async () => {
    const room = await open(service);
    const guest = await room.join();
    const left = await room.act('leave', guest);
    expect([left.status, left.body.you, ids(left.body.room)]).toEqual([200, { playerId: 'p2', host: false }, ['p1']]);
    expect(refusal(await room.act('leave', guest))).toEqual([403, 'not_in_room']);
    expect((await room.act('join', guest)).body.you).toEqual({ playerId: 'p3', host: false });
  });

  test('passes the host role to the longest-seated player when the host leaves', async () => {
    const room = await open(service);
    const [second, third] = [await room.join(), await room.join()];
    const { body } = await room.act('leave', room.host);
    expect([body.you, body.room.hostId, body.room.players.map(({ host }: { host: boolean }) => host)]).toEqual([
      { playerId: 'p1', host: false },
      'p2',
      [true, false],
    ]);
    await room.act('join', room.host);
    await room.act('leave', second);
    expect((await room.read()).hostId).toBe('p3');
    expect((await room.act('lock', third)).body.you).toEqual({ playerId: 'p3', host: true });
    expect(refusal(await room.act('lock', room.host))).toEqual([403, 'not_host']);
  });

  test('ends the room when the last player leaves', async () => {
    const room = await open(service);
    const { status, body } = await room.act('leave', room.host);
    expect([status, body.you]).toEqual([200, { playerId: 'p1', host: false }]);
    expect(body.room).toMatchObject({ phase: 'ended', players: [], hostId: 'p1', endedAt: body.room.updatedAt });
    expect(await room.read()).toEqual(body.room);
    expect(refusal(await room.act('join', freshId()))).toEqual([409, 'room_ended']);
  });

  test('is possible while the game runs and after its end', async () => {
    const room = await open(service);
    const guest = await room.join();
    await room.act('start', room.host);
    expect((await room.act('leave', guest)).body.room.phase).toBe('playing');
    const { endedAt } = (await room.act('end', room.host)).body.room;
    service.advance(1000);
    expect((await room.act('leave', room.host)).body.room).toMatchObject({ players: [], endedAt });
  });

  test('of five players who compete for a freed seat exactly one gets it', async () => {
    const room = await open(service, { maxPlayers: 2 });
    const guest = await room.join();
    let hasLeft = false;
    // Every player tries once more after the answer to the leave, so that at least one attempt finds the seat free.
    const compete = async (installId: string): Promise<TestReply> => {
      for (;;) {
        const isLastTry = hasLeft;
        const reply = await room.act('join', installId);
        if (reply.status === 200 || isLastTry) return reply;
      }
    };
    const competing = Array.from({ length: 5 }, () => compete(freshId()));
    expect((await room.act('leave', guest)).status).toBe(200);
    hasLeft = true;
    const replies = await Promise.all(competing);
    expect(replies.filter(({ status }) => status === 200).map(({ body }) => body.you.playerId)).toEqual(['p3']);
    expect(replies.map((reply) => refusal(reply)[1]).filter((code) => code === 'room_full')).toHaveLength(4);
    expect(ids(await room.read())).toEqual(['p1', 'p3']);
  });
});

describe('start', () => {
  test('begins the game without waiting for ready players, and a repeated start changes nothing', async () => {
    const room = await open(service, { minPlayers: 2 });
    await room.join();
    const { status, body } = await room.act('start', room.host);
    expect([status, body.room.phase, body.room.startedAt]).toEqual([200, 'playing', body.room.updatedAt]);
    service.advance(1000);
    expect((await room.act('start', room.host)).body).toEqual(body);
  });

  test('is refused with not_enough_players below minPlayers', async () => {
    const room = await open(service, { minPlayers: 2 });
    expect(refusal(await room.act('start', room.host))).toEqual([409, 'not_enough_players']);
    expect((await room.read()).phase).toBe('lobby');
  });
});

describe('end', () => {
  test.each([
    ['running game', 'start'],
    ['lobby', 'lock'],
  ])('ends a %s, and a repeated end changes nothing', async (_, first) => {
    const room = await open(service);
    await room.act(first, room.host);
    const { status, body } = await room.act('end', room.host);
    expect([status, body.room.phase, body.room.endedAt]).toEqual([200, 'ended', body.room.updatedAt]);
    service.advance(1000);
    expect((await room.act('end', room.host)).body).toEqual(body);
  });
});

describe('kick', () => {
  test('frees a seat, and its player cannot join again', async () => {
    const room = await open(service);
    const guest = await room.join();
    const { status, body } = await room.act('kick', room.host, { playerId: 'p2' });
    expect([status, body.you, ids(body.room)]).toEqual([200, { playerId: 'p1', host: true }, ['p1']]);
    expect(refusal(await room.act('ready', guest))).toEqual([403, 'not_in_room']);
    expect(refusal(await room.act('join', guest))).toEqual([403, 'kicked']);
  });

  test('of a guest also bars the account into which the guest moves', async () => {
    const room = await open(service);
    const guest = await room.join();
    await room.act('kick', room.host, { playerId: 'p2' });
    const { cookies } = await signInToStore(service, freshId('subject'), { installId: guest });
    expect(refusal(await service.post(`/v1/rooms/${room.code}/join`, {}, { cookies }))).toEqual([403, 'kicked']);
  });
});

test('transfer makes another player the host', async () => {
  const room = await open(service);
  const guest = await room.join();
  const { body } = await room.act('transfer', room.host, { playerId: 'p2' });
  expect([body.you, body.room.hostId]).toEqual([{ playerId: 'p1', host: false }, 'p2']);
  expect(refusal(await room.act('lock', room.host))).toEqual([403, 'not_host']);
  expect((await room.act('lock', guest)).status).toBe(200);
});

test.each([
  ['kick', {}],
  ['kick', { playerId: 'p9' }],
  ['kick', { playerId: 'p1' }],
  ['kick', { playerId: 'p1 p2' }],
  ['transfer', {}],
  ['transfer', { playerId: 'p9' }],
  ['state', {}],
])('%s with %j is refused, and the error names the field', async (action, more) => {
  const room = await open(service);
  const reply = await room.act(action, room.host, more);
  expect([...refusal(reply), reply.body.error.field]).toEqual([400, 'invalid_request', action === 'state' ? 'state' : 'playerId']);
  expect((await room.read()).seq).toBe(1);
});

describe('lock and unlock', () => {
  test('set and clear `locked`', async () => {
    const room = await open(service);
    expect((await room.act('lock', room.host)).body.room.locked).toBe(true);
    expect((await room.act('unlock', room.host)).body.room.locked).toBe(false);
    expect((await room.act('join', freshId())).status).toBe(200);
  });
});

describe('state', () => {
  test.each([
    '{"a":[],"n":12345678901234567000,"__proto__":{"x":1},"o":{},"big":1e+300,"tiny":5e-324,"nested":[[],{},[{}]]}',
    'null',
    '""',
    '"\\u0000 </script> é 😀"',
  ])('%s is stored byte for byte', async (state) => {
    const room = await open(service);
    const headers = { 'content-type': 'application/json' };
    const text = async (response: Promise<Response>) => (await response).text();
    const set = await text(
      fetch(`${service.url}/v1/rooms/${room.code}/state`, {
        method: 'POST',
        headers,
        body: `{"installId":"${room.host}","state":${state}}`,
      }),
    );
    expect(set).toContain(`"state":${state}},"you"`);
    // `lock` writes the whole room again and must not encode the state anew.
    expect((await room.act('lock', room.host)).status).toBe(200);
    expect(await text(fetch(`${service.url}/v1/rooms/${room.code}`))).toContain(`"state":${state}}}`);
  });

  test('holds up to 8192 bytes of JSON', async () => {
    const room = await open(service);
    const fits = ['é'.repeat(4094)];
    expect((await room.act('state', room.host, { state: fits })).body.room.state).toEqual(fits);
    const reply = await room.act('state', room.host, { state: [`${fits[0]}x`] });
    expect([...refusal(reply), reply.body.error.field]).toEqual([400, 'invalid_request', 'state']);
    expect((await room.read()).state).toEqual(fits);
  });
});

describe('rematch', () => {
  test('opens a lobby with the same settings, and nextCode names it', async () => {
    const room = await open(service, { name: 'Ann', game: 'chess', minPlayers: 2, maxPlayers: 3, state: { board: 'set' } });
    const guest = await room.join('Bob');
    for (const action of ['start', 'end', 'rematch']) await room.act(action, room.host);
    const { body } = await room.act('rematch', room.host);
    expect([body.room.code, body.room.phase, body.you]).toEqual([room.code, 'ended', { playerId: 'p1', host: true }]);
    const next = (await service.get(`/v1/rooms/${body.room.nextCode}`)).body.room;
    expect(next).toMatchObject({
      phase: 'lobby',
      seq: 1,
      hostId: 'p1',
      game: 'chess',
      minPlayers: 2,
      maxPlayers: 3,
      locked: false,
      state: {},
    });
    expect(next.players.map(({ id, name }: { id: string; name: string }) => [id, name])).toEqual([['p1', 'Ann']]);
    expect((await service.post(`/v1/rooms/${next.code}/join`, { installId: guest })).body.you).toEqual({ playerId: 'p2', host: false });
    expect((await service.post(`/v1/rooms/${next.code}/lock`, { installId: room.host })).body.you).toEqual({ playerId: 'p1', host: true });
  });

  test('ends a room that is still running', async () => {
    const room = await open(service);
    await room.act('start', room.host);
    const { body } = await room.act('rematch', room.host);
    expect(body.room).toMatchObject({ phase: 'ended', endedAt: body.room.updatedAt });
    expect((await service.get(`/v1/rooms/${body.room.nextCode}`)).body.room.phase).toBe('lobby');
  });

  test('a repeat by the next host answers with the same nextCode', async () => {
    const room = await open(service);
    const guest = await room.join();
    const first = (await room.act('rematch', room.host)).body.room.nextCode;
    await room.act('leave', room.host);
    const again = await room.act('rematch', guest);
    expect([again.status, again.body.room.nextCode]).toEqual([200, first]);
  });

  // Cuts the link to a single Redis.
  test.skipIf(isOnCluster()).each([1, 2, 3])(
    'a rematch that loses Redis at its command %i changes nothing, and a retry succeeds',
    async (step) => {
      await using cut = await start();
      const room = await open(cut);
      const { link } = cut.service;
      const call = link.call.bind(link);
      let steps = 0;
      const spy = vi
        .spyOn(link, 'call')
        .mockImplementation((command, words) =>
          ++steps === step ? Promise.reject(new Error('Connection is closed.')) : call(command, words),
        );
      expect(refusal(await room.act('rematch', room.host))).toEqual([503, 'store_unavailable']);
      spy.mockRestore();
      const left = await room.read();
      expect([left.phase, left.seq, left.nextCode]).toEqual(['lobby', 1, undefined]);
      const { nextCode } = (await room.act('rematch', room.host)).body.room;
      expect((await cut.get(`/v1/rooms/${nextCode}`)).body.room.phase).toBe('lobby');
    },
  );

  test('counts as one creation, and a repeated rematch counts as none', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '2' } });
    const room = await open(limited);
    const { body } = await room.act('rematch', room.host);
    const refused = await limited.post(`/v1/rooms/${body.room.nextCode}/rematch`, { installId: room.host });
    expect(refusal(refused)).toEqual([429, 'rate_limited']);
    expect((await limited.get(`/v1/rooms/${body.room.nextCode}`)).body.room.phase).toBe('lobby');
    expect((await room.act('rematch', room.host)).body.room.nextCode).toBe(body.room.nextCode);
  });
});
