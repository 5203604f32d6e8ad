import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { issue, signInToStore } from '../../store.ts';
import { open, seated } from './room.ts';

/** All keys of rooms in Redis, as one text. */
async function keptOfRooms({ service: { redis } }: TestService): Promise<string> {
  const texts: string[] = [];
  for (const key of await redis.keys('{room:*')) {
    const read = { hash: () => redis.hgetall(key), zset: () => redis.zrange(key, '0', '-1'), string: () => redis.get(key) };
    texts.push(key, JSON.stringify(await read[(await redis.type(key)) as keyof typeof read]()));
  }
  return texts.join('\n');
}

test('a deleted account, and a guest that moved into it, leave no id in the rooms that they were in', async () => {
  await using service = await start();
  const [other, gone] = [freshId(), freshId()];
  const guest = accountIdOf(gone);
  const four = [open(service), open(service), open(service), open(service)] as const;
  const [seatedIn, kickedFrom, leftRoom, asHost] = await Promise.all(four);
  for (const room of [seatedIn, kickedFrom, leftRoom, asHost]) {
    await room.act('join', gone);
    await room.act('join', other);
    await room.act('data', gone, { data: { mine: 1 }, order: 3, tab: 'tab' });
    await room.act('private', room.host, { seats: { p2: 'hand of the deleted' } });
  }
  await kickedFrom.act('kick', kickedFrom.host, { playerId: 'p2' });
  await kickedFrom.act('kick', kickedFrom.host, { playerId: 'p3' });
  await leftRoom.act('leave', gone);
  await asHost.act('transfer', asHost.host, { playerId: 'p2' });
  const watcher = await seated(service, seatedIn, gone);
  expect((await service.post(`/v1/rooms/${seatedIn.code}/ticket`, { installId: gone })).status).toBe(200);
  const subject = freshId('subject');
  const { body, cookies } = await signInToStore(service, subject, { installId: gone });
  expect(body.moved).toBe(true);
  // A room that the account itself joined, and a room where it has its guest's seat.
  const last = await open(service, { maxPlayers: 3 });
  await service.post(`/v1/rooms/${last.code}/join`, {}, { cookies });
  await service.post(`/v1/rooms/${seatedIn.code}/ready`, {}, { cookies });
  expect(await keptOfRooms(service)).toContain(guest);
  expect(await keptOfRooms(service)).toContain(body.accountId);

  const { token } = await issue(service, { kind: 'id_token', subject });
  const { confirm } = (await service.post('/v1/account/delete', { token })).body;
  expect((await service.post('/v1/account/delete', { token, confirm })).body.deleted).toBe(true);
  await expect
    .poll(async () => {
      const kept = await keptOfRooms(service);
      return [guest, body.accountId, 'hand of the deleted', 'mine'].filter((text) => kept.includes(text));
    })
    .toEqual([]);
  // The other players stay, and kicked players stay kicked.
  expect((await seatedIn.read()).players.map(({ id }: { id: string }) => id)).toEqual(['p1', 'p3']);
  expect((await asHost.read()).hostId).toBe('p1');
  expect((await kickedFrom.act('join', other)).body.error.code).toBe('kicked');
});
