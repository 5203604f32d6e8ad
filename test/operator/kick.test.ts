import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { forFile, freshId } from '../harness.ts';
import { logged, openDesk } from './parts.ts';

/** `rooms kick` and `rooms pardon`. */

const { service, change, newest } = await forFile(openDesk({ role: 'support' }));

const shown = async (code: string) => (await service.get(`/v1/rooms/${code}`)).body.room;
const join = async (code: string, installId: string) => (await service.post(`/v1/rooms/${code}/join`, { installId, name: 'Bob' })).body;
const kick = async (code: string, player: string) => (await change(`/rooms/${code}/kick`, { player })).body;

async function room(): Promise<{ code: string; host: string; guest: string }> {
  const [host, guest] = [freshId(), freshId()];
  const { code } = (await service.post('/v1/rooms', { installId: host, game: 'tetris' })).body.room;
  expect((await join(code, guest)).ok).toBe(true);
  return { code, host, guest };
}

describe('a player who is kicked by an operator', () => {
  test('leaves the room, and cannot join again before a pardon', async () => {
    const { code, guest } = await room();
    const account = accountIdOf(guest);
    expect(await kick(code, 'p2')).toEqual({ ok: true, accountId: account, logged });
    expect(await newest()).toMatchObject([
      { action: 'rooms kick', what: { room: code, player: 'p2', account }, outcome: { word: 'done' } },
    ]);
    expect((await shown(code)).players).toMatchObject([{ id: 'p1' }]);
    expect((await join(code, guest)).error.code).toBe('kicked');
    const pardon = async () => (await change(`/rooms/${code}/pardon`, { account })).body;
    expect(await pardon()).toEqual({ ok: true, wasKicked: true, logged });
    expect(await newest()).toMatchObject([{ action: 'rooms pardon', outcome: { word: 'done', wasKicked: 'yes' } }]);
    expect((await join(code, guest)).you).toMatchObject({ playerId: 'p3' });
    expect((await pardon()).wasKicked).toBe(false);
  });

  test('may be the host, whose role passes to another player', async () => {
    const { code, host } = await room();
    await kick(code, 'p1');
    expect(await shown(code)).toMatchObject({ hostId: 'p2', players: [{ id: 'p2' }] });
    expect((await join(code, host)).error.code).toBe('kicked');
    await kick(code, 'p2');
    expect((await shown(code)).phase).toBe('ended');
    expect((await kick(code, 'p2')).error.code).toBe('room_ended');
  });

  test('needs a seat in the room', async () => {
    const { code } = await room();
    for (const player of ['p3', 'host', 'p0', 'p1:account'])
      expect((await kick(code, player)).error).toMatchObject({ code: 'invalid_request', field: 'player' });
  });

  test('is removed once if ten operators kick at once', async () => {
    const { code } = await room();
    const replies = await Promise.all(Array.from({ length: 10 }, () => kick(code, 'p2')));
    expect(replies.filter(({ ok }) => ok)).toHaveLength(1);
  });
});
