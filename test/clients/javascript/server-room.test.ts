import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { playRoom } from '../../../src/clients/javascript/rooms.ts';
import { coinopServer } from '../../../src/clients/javascript/server.ts';
import { forFile, start } from '../../harness.ts';
import { keyChangesOf, makeServerKey } from '../../server-keys.ts';
import { done, player } from './player.ts';
import { seat } from './played.ts';

const service = await forFile(start());

async function served() {
  const { token, id } = await makeServerKey(service, ['rooms'], { game: 'chess' });
  const coinop = coinopServer({ url: service.url, key: token });
  const { code } = (await done(coinop.createRoom({ game: 'chess', writers: 'server' }))).room;
  const room = coinop.playRoom<{ state: { turn?: string; move?: unknown }; private: string; message: unknown }>(code);
  const clients = [player(service.url), player(service.url)] as const;
  for (const [place, client] of clients.entries()) await seat(client, code, `Player ${place + 1}`);
  const [ada, bob] = clients.map((client) => playRoom(client, code)) as [ReturnType<typeof playRoom>, ReturnType<typeof playRoom>];
  return {
    room,
    code,
    ada,
    bob,
    token,
    keyId: id,
    coinop,
    [Symbol.dispose](): void {
      room.close();
      for (const client of clients) client.close();
    },
  };
}

describe("a server's room", () => {
  test('has a server that receives messages, deals, and writes the state', async () => {
    using table = await served();
    const { room, ada, bob } = table;
    room.on('message', ({ from, data }) => void room.mergeState({ turn: from, move: data }));
    await expect.poll(() => [ada.me?.id, bob.me?.id, room.room?.players.length]).toEqual(['p1', 'p2', 2]);
    expect(await room.deal({ p1: 'king', p2: 'ace' }, { merge: { turn: 'p1' } })).toMatchObject({ ok: true });
    await expect.poll(() => [ada.me?.private, bob.me?.private, bob.state]).toEqual(['king', 'ace', { turn: 'p1' }]);
    const others: unknown[] = [];
    bob.on('message', (message) => others.push(message.data));
    expect(await ada.send({ to: 'e4' }, ['server'])).toMatchObject({ ok: true });
    await expect.poll(() => bob.state).toEqual({ turn: 'p1', move: { to: 'e4' } });
    expect(await ada.setState({ turn: 'mine' })).toMatchObject({ ok: false, error: { code: 'not_writer' } });
    expect(await room.send('check', ['p2'])).toMatchObject({ ok: true });
    await expect.poll(() => others).toEqual(['check']);
    expect(await room.act('end')).toMatchObject({ ok: true });
    expect(await ada.ended).toEqual({ code: 'finished' });
  });

  test('accepts two hundred messages of its server in their order', async () => {
    using table = await served();
    const { room, ada } = table;
    const heard: unknown[] = [];
    ada.on('message', ({ data }) => heard.push(data));
    await expect.poll(() => ada.me?.id).toBe('p1');
    const numbers = Array.from({ length: 200 }, (_, n) => n);
    expect((await Promise.all(numbers.map((n) => room.send(n)))).filter(({ ok }) => !ok)).toEqual([]);
    await expect.poll(() => heard).toEqual(numbers);
  });

  test('refuses a key that was revoked, and shows the key nowhere', async () => {
    using table = await served();
    const { room } = table;
    const errors: string[] = [];
    room.on('error', ({ code }) => errors.push(code));
    expect(await room.setState({ turn: 'p1' })).toMatchObject({ ok: true });
    await keyChangesOf(service).revoke(table.keyId);
    await expect.poll(() => errors).toEqual(['bad_key']);
    const refused = await room.setState({ turn: 'p2' });
    expect(refused).toMatchObject({ ok: false, error: { code: 'bad_key' } });
    expect(inspect([room, refused, table.coinop], { depth: 9 })).not.toContain(table.token.split('_')[3]);
  });
});
