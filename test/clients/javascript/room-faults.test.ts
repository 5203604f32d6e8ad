import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { WebSocket as WsSocket } from 'ws';
import { playRoom } from '../../../src/clients/javascript/rooms.ts';
import { forFile, sleep, start } from '../../harness.ts';
import { seeded } from '../../seeded.ts';
import { isFullSize } from '../../sized.ts';
import { player } from './player.ts';
import { openRoom, seat } from './played.ts';

const service = await forFile(start());
// Reconnect at once.
beforeAll(() => void vi.spyOn(Math, 'random').mockReturnValue(0));
afterAll(() => vi.restoreAllMocks());

/** Sockets that break on one in eight acts. Half of these acts are lost; for the others the answer is lost. */
function dying(seed: number) {
  const random = seeded(seed);
  const cuts = { lost: 0, unanswered: 0 };
  return {
    cuts,
    WebSocket: class extends WsSocket {
      override send(text: string): void {
        const chance = text.includes('"act"') ? random() : 1;
        if (chance < 1 / 16) {
          cuts.lost++;
          return this.terminate();
        }
        super.send(text);
        if (chance >= 1 / 8) return;
        cuts.unanswered++;
        // Data in the socket's buffer still reaches the service, but no answer is read.
        this.onmessage = null;
        setTimeout(() => this.terminate(), 10);
      }
    },
  };
}

/** Bob's seat, on a page with failing sockets. His other connection keeps him connected, so that only his acts raise `seq`. */
async function unlucky(seed: number, settings: object = {}) {
  const ada = player(service.url);
  const { WebSocket, cuts } = dying(seed);
  const bob = player(service.url, { WebSocket: WebSocket as never });
  const code = await openRoom(ada, settings);
  await seat(bob, code);
  const steady = player(service.url, {}, bob.kept);
  const [ofAda, other, room] = [playRoom(ada, code), playRoom(steady, code), playRoom(bob, code)];
  await expect.poll(() => [ofAda.me, other.me, room.me].every(Boolean)).toBe(true);
  await expect.poll(() => ofAda.players.every(({ connected }) => connected)).toBe(true);
  return {
    code,
    ada: ofAda,
    bob: room,
    cuts,
    [Symbol.dispose]: () => [ada, bob, steady].forEach((client) => client.close()),
  };
}

describe('a socket that dies between an act and its answer', () => {
  test.each(isFullSize ? [1, 2, 3] : [1])('loses no act and repeats none (seed %i)', async (seed) => {
    using table = await unlucky(seed);
    const { bob, ada, cuts } = table;
    await ada.act('transfer', { playerId: 'p2' });
    const before = ada.room!.seq + (ada.room!.hostId === 'p2' ? 0 : 1);
    // Each deal changes the room, also a repeated deal. A repeated or misplaced change of readiness might not.
    const results = await Promise.all(
      Array.from({ length: 60 }, (_, n) => (n % 3 === 0 ? bob.deal({ p1: n }) : bob.act(n % 3 === 1 ? 'ready' : 'unready'))),
    );
    expect(results.filter(({ ok }) => !ok)).toEqual([]);
    expect(Math.min(cuts.lost, cuts.unanswered)).toBeGreaterThan(0);
    await expect.poll(() => ada.room!.seq).toBe(before + 60);
    await expect.poll(() => [ada.players[1]!.ready, ada.me?.private]).toEqual([false, 57]);
  });

  test('loses no merge of the state by two players at once', async () => {
    using table = await unlucky(4, { writers: 'players' });
    const { ada, bob } = table;
    const merges = [];
    for (let n = 0; n < 25; n++) {
      merges.push(ada.mergeState({ [`a${n}`]: n }), bob.mergeState({ [`b${n}`]: n }));
      await sleep(20);
    }
    expect((await Promise.all(merges)).filter(({ ok }) => !ok)).toEqual([]);
    await expect.poll(() => Object.keys(ada.state as object).length).toBe(50);
  });

  test('loses no message and delivers none twice', async () => {
    using table = await unlucky(5);
    const { ada, bob, cuts } = table;
    const heard: unknown[] = [];
    ada.on('message', ({ data }) => heard.push(data));
    const results = await Promise.all(Array.from({ length: 30 }, (_, n) => bob.send(n)));
    expect(results.filter(({ ok }) => !ok)).toEqual([]);
    expect(cuts.lost + cuts.unanswered).toBeGreaterThan(2);
    await expect.poll(() => heard).toEqual(Array.from({ length: 30 }, (_, n) => n));
  });
});

test('acts made offline wait in a bounded queue, and run in order when the network returns', async () => {
  using ada = player(service.url);
  const code = await openRoom(ada);
  let isOffline = true;
  class Offline extends WsSocket {
    constructor(url: string) {
      super(isOffline ? 'ws://127.0.0.1:9' : url);
    }
  }
  using page = player(
    service.url,
    { WebSocket: Offline as never, fetch: (...request) => (isOffline ? Promise.reject(new Error('offline')) : fetch(...request)) },
    ada.kept,
  );
  const room = playRoom(page, code);
  const ready = Array.from({ length: 9 }, (_, n) => room.act(n % 2 === 0 ? 'ready' : 'unready'));
  const sets = Array.from({ length: 1000 }, (_, n) => room.set(n));
  const messages = Array.from({ length: 256 }, (_, n) => room.send(n));
  expect(room.unanswered).toBe(256);
  expect(await messages.at(-1)).toMatchObject({ ok: false, error: { code: 'queue_full' } });
  isOffline = false;
  page.wake();
  expect((await Promise.all([...ready, ...sets])).filter(({ ok }) => !ok)).toEqual([]);
  await expect.poll(() => [room.me?.ready, room.me?.data]).toEqual([true, 999]);
});
