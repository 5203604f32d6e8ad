import { expect, test } from 'vitest';
import { freshId, start, type TestService } from '../../harness.ts';
import { open, seated, watched } from './room.ts';

const figures = async ({ service }: TestService, pattern: RegExp): Promise<string[]> =>
  (await service.metrics.registry.metrics())
    .split('\n')
    .filter((line) => pattern.test(line) && !line.startsWith('#') && !line.endsWith(' 0'));

test('acts are counted by action, path and outcome', async () => {
  await using service = await start();
  const room = await open(service);
  const guest = await room.join();
  const path = `/v1/rooms/${room.code}`;
  for (const data of [1, 2]) await service.post(`${path}/data`, { installId: guest, data, order: 5 });
  await service.post(`${path}/state`, { installId: guest, state: 1 });
  await service.post(`${path}/ready`, { installId: freshId() });
  await service.post(`${path}/dance`, { installId: guest });
  const watcher = await seated(service, room, guest);
  for (const order of [1, 1]) watcher.send({ type: 'act', order, action: 'ready' });
  watcher.send({ type: 'act', order: 2, action: 'start' });
  watcher.send({ type: 'act', order: 3, action: 'dance' });
  await watcher.until(({ type, order }) => type === 'acted' && order === 3);
  await watcher.close();
  expect(await figures(service, /^coinop_room_acts/)).toEqual([
    'coinop_room_acts_total{action="join",via="http",outcome="done"} 1',
    'coinop_room_acts_total{action="ready",via="http",outcome="refused"} 1',
    'coinop_room_acts_total{action="ready",via="channel",outcome="done"} 1',
    'coinop_room_acts_total{action="ready",via="channel",outcome="replayed"} 1',
    'coinop_room_acts_total{action="start",via="channel",outcome="refused"} 1',
    'coinop_room_acts_total{action="state",via="http",outcome="refused"} 1',
    'coinop_room_acts_total{action="data",via="http",outcome="done"} 1',
    'coinop_room_acts_total{action="data",via="http",outcome="replayed"} 1',
  ]);
});

test('messages and private notices count once for each socket', async () => {
  await using service = await start();
  const room = await open(service);
  const host = await seated(service, room, room.host);
  const others = [await watched(service, room.code), await watched(service, room.code)];
  await room.act('private', room.host, { seats: { p1: 'hand' } });
  await host.until(({ type }) => type === 'you');
  for (const data of [1, 2]) await room.act('message', room.host, { data });
  for (const watcher of [host, ...others]) await watcher.until(({ type, n }) => type === 'message' && n === 2);
  expect(await figures(service, /^coinop_live_(messages|private)/)).toEqual([
    'coinop_live_messages_total 6',
    'coinop_live_private_notices_total 1',
  ]);
});
