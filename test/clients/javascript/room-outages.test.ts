import { expect, test } from 'vitest';
import { forFile, sleep, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { RedisLink } from '../../realtime/redis-link.ts';
import { twoPlayers } from './played.ts';

const redis = await forFile(startRedis());
const link = await forFile(RedisLink.open((redis.location as { socketPath: string }).socketPath));
const service = await forFile(start({ redis: link.location }));

test('acts run once and in order although answers of Redis are lost, and own data has its last value', async () => {
  using table = await twoPlayers(service, { writers: 'players' });
  const { ada, bob, code } = table;
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
