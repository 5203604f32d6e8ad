import { pino } from 'pino';
import { expect, test } from 'vitest';
import { listKeys } from '../../../../src/features/rooms/list/list-model.ts';
import { readPage } from '../../../../src/features/rooms/list/page.ts';
import { ListWriter } from '../../../../src/features/rooms/list/list-writer.ts';
import type { RoomFields } from '../../../../src/features/rooms/record.ts';
import { ScriptRunner } from '../../../../src/redis/script-runner.ts';
import { forFile, freshId, start } from '../../../harness.ts';

const service = await forFile(start());

const RENEWAL_MS = 50;

/** The list of another process, which renews its rooms every RENEWAL_MS. */
function listOfProcess() {
  const scripts = new ScriptRunner(service.service.connections.scripts, { now: service.now });
  const metrics = { count() {}, gauge() {} };
  const list = new ListWriter({ scripts, log: pino({ level: 'silent' }), now: service.now, metrics, renewalMs: RENEWAL_MS });
  const game = freshId('game').toLowerCase();
  /** The summaries of the rooms in the list. */
  const seen = async (): Promise<string[]> => {
    const wanted = { game, limit: 100, from: '', mostRooms: 1000, needles: '' };
    return (await readPage(wanted, scripts)).rooms.map(([, summary]) => summary);
  };
  return { list, game, seen, [Symbol.asyncDispose]: () => list.close() };
}

const room = (game: string, more: Record<string, string> = {}): RoomFields =>
  new Map(
    Object.entries({
      ...{ code: 'BCDFG', game, public: 'true', phase: 'lobby', locked: 'false', players: 'p1', maxPlayers: '4', tags: '{}' },
      ...{ hostId: 'p1', createdAt: String(service.now()), seq: '1', presentUntil: String(service.now() + 15_000), ...more },
    }),
  );

test('an older write changes nothing, in whatever order writes arrive', async () => {
  await using own = listOfProcess();
  const { list, game, seen } = own;
  const createdAt = String(service.now());
  const at = (seq: number, more: Record<string, string> = {}): void => list.changed(room(game, { createdAt, seq: String(seq), ...more }));
  at(3, { players: 'p1 p2' });
  await expect.poll(seen).toEqual([`3 2 4 ${game} {}`]);
  at(2);
  at(5, { locked: 'true' });
  await expect.poll(seen).toEqual([]);
  at(4);
  at(6, { players: 'p1 p2 p3' });
  at(5, { locked: 'true' });
  await expect.poll(seen).toEqual([`6 3 4 ${game} {}`]);
  // A reused code belongs to another room.
  list.changed(room(game, { createdAt: String(service.now() + 7), seq: '1' }));
  await expect.poll(seen).toHaveLength(2);
  // Nobody is present any more, by a newer seq than that of a player who came before. A renewal of an older seq comes too late.
  at(8, { presentUntil: '0' });
  at(7);
  await expect.poll(seen).toHaveLength(1);
  at(9);
  await expect.poll(seen).toHaveLength(2);
});

test('a renewal writes what a process that died did not, and ends with the socket', async () => {
  await using own = listOfProcess();
  const { list, game, seen } = own;
  const createdAt = String(service.now());
  const socket = { id: 'BCDFG', connectionId: 'c1', state: { fields: room(game, { createdAt }) } };
  list.present(socket, 'p1');
  await expect.poll(seen).toEqual([`1 1 4 ${game} {}`]);
  socket.state = { fields: room(game, { createdAt, seq: '2', players: 'p1 p2' }) };
  await expect.poll(seen).toEqual([`2 2 4 ${game} {}`]);
  socket.state = { fields: room(game, { createdAt, seq: '3', phase: 'playing' }) };
  await expect.poll(seen).toEqual([]);
  socket.state = { fields: room(game, { createdAt, seq: '4' }) };
  await expect.poll(seen).toHaveLength(1);
  // The player left, but still watches.
  socket.state = { fields: room(game, { createdAt, seq: '5', players: 'p2 p3', hostId: 'p2' }) };
  await new Promise((resolve) => setTimeout(resolve, 3 * RENEWAL_MS));
  expect(await seen()).toEqual([`4 1 4 ${game} {}`]);
  socket.state = { fields: room(game, { createdAt, seq: '6', players: 'p2 p1', hostId: 'p2' }) };
  await expect.poll(seen).toEqual([`6 2 4 ${game} {}`]);
  const { redis } = service.service;
  const until = async () => Number(await redis.zscore(listKeys(game).untils, `${createdAt}BCDFG`));
  await expect.poll(until).toBeGreaterThan(await until());
  list.absent(socket);
  // A renewal may be under way.
  const isRenewed = async (): Promise<boolean> => {
    const before = await until();
    await new Promise((resolve) => setTimeout(resolve, 3 * RENEWAL_MS));
    return (await until()) !== before;
  };
  await expect.poll(isRenewed).toBe(false);
  // Every key expires by itself.
  for (const key of Object.values(listKeys(game))) expect(await redis.pttl(key), key).toBeGreaterThan(100_000);
});
