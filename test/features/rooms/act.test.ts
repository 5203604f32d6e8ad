import { describe, expect, test, vi } from 'vitest';
import { forFile, freshId, isOnCluster, start } from '../../harness.ts';
import { signInToStore } from '../../store.ts';
import { open, refusal } from './room.ts';

const service = await forFile(start());

const ids = (room: { players: { id: string }[] }) => room.players.map(({ id }) => id);
const ofSeats = ['join', 'leave', 'ready', 'unready', 'data', 'message'];
const ofHost = ['start', 'end', 'kick', 'transfer', 'lock', 'unlock', 'settings', 'state', 'private', 'rematch'];
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

  test.each([...ofSeats, ...ofHost])(
    '%s changes nothing without a room, without a seat, for a guest if it is for hosts, and after the end',
    async (action) => {
      const missing = await service.post(`/v1/rooms/BBBBB/${action}`, { installId: freshId(), ...needed[action] });
      expect(refusal(missing)).toEqual([404, 'room_not_found']);
      const room = await open(service);
      const guest = await room.join();
      const before = await room.read();
      if (action !== 'join') expect(refusal(await room.act(action, freshId(), needed[action]))).toEqual([403, 'not_in_room']);
      if (ofHost.includes(action)) expect(refusal(await room.act(action, guest, needed[action]))).toEqual([403, 'not_host']);
      expect(await room.read()).toEqual(before);
      if (['join', 'leave', 'end', 'rematch'].includes(action)) return;
      await room.act('end', room.host);
      expect(refusal(await room.act(action, room.host, needed[action]))).toEqual([409, 'room_ended']);
    },
  );

  test('seq rises by one with every change and stays when an action changes nothing, and no reply names an install or account', async () => {
    const room = await open(service);
    const guest = await room.join();
    const [seqs, texts]: [number[], string[]] = [[], []];
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
      ['leave', guest, {}],
    ] as const) {
      const { status, body } = await room.act(action, installId, more);
      expect([action, status]).toEqual([action, 200]);
      seqs.push(body.room.seq);
      texts.push(JSON.stringify(body));
    }
    expect(seqs).toEqual([2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7, 8, 8, 9, 9, 10, 10, 11]);
    const last = await room.read();
    texts.push(JSON.stringify([last, (await service.get(`/v1/rooms/${last.nextCode}`)).body]));
    for (const installId of [room.host, guest]) {
      const { accountId } = (await service.post('/v1/account/resolve', { installId })).body;
      for (const text of texts) for (const secret of [installId, accountId]) expect(text).not.toContain(secret);
    }
  });

  test('kick, transfer and state without a valid field are refused, and the error names the field', async () => {
    const room = await open(service);
    for (const [action, more, field] of [
      ['kick', {}, 'playerId'],
      ['kick', { playerId: 'p9' }, 'playerId'],
      ['kick', { playerId: 'p1' }, 'playerId'],
      ['kick', { playerId: 'p1 p2' }, 'playerId'],
      ['transfer', {}, 'playerId'],
      ['transfer', { playerId: 'p9' }, 'playerId'],
      ['state', {}, 'state'],
    ] as const) {
      const { body } = await room.act(action, room.host, more);
      expect([action, more, body.error]).toMatchObject([action, more, { code: 'invalid_request', field }]);
    }
    expect((await room.read()).seq).toBe(1);
  });
});

describe('join', () => {
  test('gives the next seat, and a default name to a caller who sends none', async () => {
    const room = await open(service, { name: 'Ann' });
    // There is no seat yet that could remember the order.
    const { body } = await room.act('join', freshId(), { order: 1, tab: 'a' });
    expect(body.you).toEqual({ playerId: 'p2', host: false });
    const joinedAt = expect.stringMatching(/^\d{4}-.*Z$/);
    const player = { id: 'p2', name: 'Player 2', ready: false, connected: false, host: false, joinedAt, data: null };
    expect(body.room.players[1]).toEqual(player);
    expect((await room.act('join', freshId(), { name: 'Cy "\\/é' })).body.room.players[2].name).toBe('Cy "\\/é');
  });

  test('creates the account of a new install only when the join succeeds', async () => {
    const room = await open(service, { maxPlayers: 2 });
    const [joined, refused] = [await room.join(), freshId()];
    expect(refusal(await room.act('join', refused))).toEqual([409, 'room_full']);
    expect((await service.post('/v1/account/resolve', { installId: joined })).body.created).toBe(false);
    expect((await service.post('/v1/account/resolve', { installId: refused })).body.created).toBe(true);
  });

  test.each([
    ['lock', 'room_locked'],
    ['start', 'room_started'],
    ['end', 'room_ended'],
  ])('is refused to a new player after %s, with %s, and keeps the seat and the name of one who repeats it', async (action, code) => {
    const room = await open(service);
    const guest = await room.join('Bob');
    await room.act(action, room.host);
    expect(refusal(await room.act('join', freshId()))).toEqual([409, code]);
    const { body } = await room.act('join', guest, { name: 'Rob' });
    expect(body).toMatchObject({ ok: true, you: { playerId: 'p2' }, room: { players: [{ id: 'p1' }, { id: 'p2', name: 'Bob' }] } });
  });

  test('of 20 at once by one caller takes one seat', async () => {
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
    expect([seq, ids({ players })]).toEqual([64, Array.from({ length: 64 }, (_, index) => `p${index + 1}`)]);
  });
});

describe('leave', () => {
  test('frees the seat, and a player who joins again gets a new player id', async () => {
    const room = await open(service);
    const guest = await room.join();
    const left = await room.act('leave', guest);
    expect([left.status, left.body.you, ids(left.body.room)]).toEqual([200, { playerId: 'p2', host: false }, ['p1']]);
    expect((await room.act('join', guest)).body.you).toEqual({ playerId: 'p3', host: false });
  });

  test('passes the host role to the longest-seated player when the host leaves', async () => {
    const room = await open(service);
    const [second, third] = [await room.join(), await room.join()];
    const { body } = await room.act('leave', room.host);
    const players = [{ host: true }, { host: false }];
    expect(body).toMatchObject({ you: { playerId: 'p1', host: false }, room: { hostId: 'p2', players } });
    await room.act('join', room.host);
    await room.act('leave', second);
    expect((await room.act('lock', third)).body.you).toEqual({ playerId: 'p3', host: true });
    expect(refusal(await room.act('lock', room.host))).toEqual([403, 'not_host']);
  });

  test('ends the room when the last player leaves, and is possible while the game runs and after its end', async () => {
    const [lobby, ended] = [await open(service), await open(service)];
    const { body } = await lobby.act('leave', lobby.host);
    expect(body.room).toMatchObject({ phase: 'ended', players: [], hostId: 'p1', endedAt: body.room.updatedAt });
    expect(await lobby.read()).toEqual(body.room);
    const guest = await ended.join();
    await ended.act('start', ended.host);
    expect((await ended.act('leave', guest)).body.room.phase).toBe('playing');
    const { endedAt } = (await ended.act('end', ended.host)).body.room;
    service.advance(1000);
    expect((await ended.act('leave', ended.host)).body.room).toMatchObject({ players: [], endedAt });
  });
});

test('start needs minPlayers, begins the game without waiting for ready players, and a repeated start or end changes nothing', async () => {
  const room = await open(service, { minPlayers: 2 });
  expect(refusal(await room.act('start', room.host))).toEqual([409, 'not_enough_players']);
  expect((await room.read()).phase).toBe('lobby');
  await room.join();
  for (const [action, phase, at] of [
    ['start', 'playing', 'startedAt'],
    ['end', 'ended', 'endedAt'],
  ] as const) {
    const { body } = await room.act(action, room.host);
    expect(body.room).toMatchObject({ phase, [at]: body.room.updatedAt });
    service.advance(1000);
    expect((await room.act(action, room.host)).body).toEqual(body);
  }
});

test('kick frees a seat, and neither its player nor the account into which the player moves can join again', async () => {
  const room = await open(service);
  const guest = await room.join();
  const { status, body } = await room.act('kick', room.host, { playerId: 'p2' });
  expect([status, body.you, ids(body.room)]).toEqual([200, { playerId: 'p1', host: true }, ['p1']]);
  expect(refusal(await room.act('ready', guest))).toEqual([403, 'not_in_room']);
  expect(refusal(await room.act('join', guest))).toEqual([403, 'kicked']);
  const { cookies } = await signInToStore(service, freshId('subject'), { installId: guest });
  expect(refusal(await service.post(`/v1/rooms/${room.code}/join`, {}, { cookies }))).toEqual([403, 'kicked']);
});

test('transfer makes another player the host, who can lock and unlock the room', async () => {
  const room = await open(service);
  const guest = await room.join();
  const { body } = await room.act('transfer', room.host, { playerId: 'p2' });
  expect([body.you, body.room.hostId]).toEqual([{ playerId: 'p1', host: false }, 'p2']);
  expect(refusal(await room.act('lock', room.host))).toEqual([403, 'not_host']);
  expect((await room.act('lock', guest)).body.room.locked).toBe(true);
  expect((await room.act('unlock', guest)).body.room.locked).toBe(false);
  expect((await room.act('join', freshId())).status).toBe(200);
});

describe('state', () => {
  test.each([
    '{"a":[],"n":12345678901234567000,"__proto__":{"x":1},"o":{},"big":1e+300,"tiny":5e-324,"nested":[[],{},[{}]]}',
    'null',
    '""',
    '"\\u0000 </script> é 😀"',
  ])('%s is stored byte for byte', async (state) => {
    const room = await open(service);
    const url = `${service.url}/v1/rooms/${room.code}`;
    const body = `{"installId":"${room.host}","state":${state}}`;
    const set = await fetch(`${url}/state`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(await set.text()).toContain(`"state":${state}},"you"`);
    // `lock` writes the whole room again and must not encode the state anew.
    expect((await room.act('lock', room.host)).status).toBe(200);
    expect(await (await fetch(url)).text()).toContain(`"state":${state}}}`);
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
  test('ends a running room, opens a lobby with the same settings, and nextCode names it, also for the next host', async () => {
    const room = await open(service, { name: 'Ann', game: 'chess', minPlayers: 2, maxPlayers: 3, state: { board: 'set' } });
    const guest = await room.join('Bob');
    await room.act('start', room.host);
    const { body } = await room.act('rematch', room.host);
    const { nextCode } = body.room;
    expect(body).toMatchObject({ room: { phase: 'ended', endedAt: body.room.updatedAt }, you: { playerId: 'p1', host: true } });
    const next = (await service.get(`/v1/rooms/${nextCode}`)).body.room;
    const settings = { game: 'chess', minPlayers: 2, maxPlayers: 3, locked: false, state: {} };
    expect(next).toMatchObject({ phase: 'lobby', seq: 1, hostId: 'p1', ...settings, players: [{ id: 'p1', name: 'Ann' }] });
    expect((await service.post(`/v1/rooms/${nextCode}/join`, { installId: guest })).body.you).toEqual({ playerId: 'p2', host: false });
    await room.act('leave', room.host);
    expect((await room.act('rematch', guest)).body.room.nextCode).toBe(nextCode);
  });

  // Cuts the link to a single Redis.
  test.skipIf(isOnCluster()).each([1, 2, 3, 4])(
    'that loses Redis at its command %i changes nothing, and a retry succeeds',
    async (step) => {
      await using cut = await start();
      const room = await open(cut);
      const { link } = cut.service;
      const call = link.call.bind(link);
      let steps = 0;
      const spy = vi
        .spyOn(link, 'call')
        .mockImplementation((command, words) =>
          ++steps >= step ? Promise.reject(new Error('Connection is closed.')) : call(command, words),
        );
      expect(refusal(await room.act('rematch', room.host))).toEqual([503, 'store_unavailable']);
      expect(steps).toBeGreaterThanOrEqual(step);
      spy.mockRestore();
      const left = await room.read();
      expect([left.phase, left.seq, left.nextCode]).toEqual(['lobby', 1, undefined]);
      const { nextCode } = (await room.act('rematch', room.host)).body.room;
      expect((await cut.get(`/v1/rooms/${nextCode}`)).body.room.phase).toBe('lobby');
    },
  );

  test('counts as one creation, and a repeated rematch counts as none', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '2' }, stoppedClock: true });
    const room = await open(limited);
    const { nextCode } = (await room.act('rematch', room.host)).body.room;
    expect(refusal(await limited.post(`/v1/rooms/${nextCode}/rematch`, { installId: room.host }))).toEqual([429, 'rate_limited']);
    expect((await limited.get(`/v1/rooms/${nextCode}`)).body.room.phase).toBe('lobby');
    expect((await room.act('rematch', room.host)).body.room.nextCode).toBe(nextCode);
  });
});
