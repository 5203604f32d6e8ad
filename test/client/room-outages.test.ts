import { expect, test } from 'vitest';
import { playRoom } from '../../src/client/rooms.ts';
import { forFile, sleep, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { RedisLink } from '../realtime/redis-link.ts';
import { player } from './player.ts';
import { openRoom, seat } from './played.ts';

const redis = await forFile(startRedis());
const link = await forFile(RedisLink.open((redis.location as { socketPath: string }).socketPath));
const service = await forFile(start({ redis: link.location }));

async function table() {
  const [ada, bob] = [player(service.url), player(service.url)];
  const code = await openRoom(ada, { writers: 'players' });
  await seat(bob, code);
  const rooms = [playRoom(ada, code), playRoom(bob, code)] as const;
  await expect.poll(() => rooms.every(({ me }) => me?.connected)).toBe(true);
  return { code, ada: rooms[0], bob: rooms[1], [Symbol.dispose]: () => [ada, bob].forEach((client) => client.close()) };
}

test('acts run once and in order although answers of Redis are lost, and own data has its last value', { timeout: 60_000 }, async () => {
  using at = await table();
  const { ada, bob, code } = at;
  const deals = [];
  const data = [];
  const merges = [];
  for (let n = 1; n <= 40; n++) {
    deals.push(ada.deal({ p2: n }));
    merges.push(bob.mergeState({ [`k${n}`]: n }));
    data.push(bob.merge({ last: n, [`d${n % 5}`]: n }));
    if (n % 10 === 5) {
      link.cut('commands');
      await sleep(150);
      link.restore();
    }
    await sleep(25);
  }
  for (const results of [deals, data, merges]) expect((await Promise.all(results)).filter(({ ok }) => !ok)).toEqual([]);
  await expect.poll(() => bob.me?.private).toBe(40);
  const { room } = (await service.get(`/v1/rooms/${code}`)).body;
  expect(Object.keys(room.state)).toHaveLength(40);
  expect(room.players[1].data).toEqual({ last: 40, d0: 40, d1: 36, d2: 37, d3: 38, d4: 39 });
  await expect.poll(() => [ada.state, ada.players[1]?.data]).toEqual([room.state, room.players[1].data]);
});

test('a room that lost changes in a failover shows the state of the service, and acts continue', { timeout: 60_000 }, async () => {
  using at = await table();
  const { ada, bob, code } = at;
  const key = `{room:${code}}`;
  await ada.setState({ n: 1 });
  await ada.set('kept');
  const kept = await service.service.redis.hgetall(key);
  await ada.setState({ n: 2 });
  await ada.set('lost');
  await expect.poll(() => bob.state).toEqual({ n: 2 });
  // The promoted replica had not received the last changes.
  await service.service.redis.del(key);
  await service.service.redis.hset(key, kept);
  await expect.poll(() => [ada.state, bob.state, ada.me?.data], { timeout: 20_000 }).toEqual([{ n: 1 }, { n: 1 }, 'kept']);
  expect(await bob.mergeState({ m: 3 })).toMatchObject({ ok: true });
  expect(await ada.set('again')).toMatchObject({ ok: true });
  await expect.poll(() => [ada.state, bob.players[0]?.data]).toEqual([{ n: 1, m: 3 }, 'again']);
});
