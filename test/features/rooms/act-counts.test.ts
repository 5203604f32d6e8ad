import { expect, test } from 'vitest';
import { freshId, start, type TestService } from '../../harness.ts';
import { watchRoom, type Watcher } from '../../realtime/watcher.ts';
import { open, seated } from './room.ts';

const figures = async ({ service }: TestService, pattern: RegExp): Promise<string[]> =>
  (await service.metrics.registry.metrics())
    .split('\n')
    .filter((line) => pattern.test(line) && !line.startsWith('#') && !line.endsWith(' 0'));

test('acts are counted by action, path and outcome', async () => {
  await using service = await start();
  expect(await figures(service, /^coinop_room_acts/)).toEqual([]);
  expect(
    (await service.service.metrics.registry.metrics()).match(/^coinop_room_acts_total\{action="message",via="channel"/gm),
  ).toHaveLength(4);
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

test('messages, those that sockets missed, private notices and unread acts count once for each socket', async () => {
  await using service = await start({ settings: { ROOM_BYTES_PER_SECOND: '65536', RATE_LIMIT: 'on', RATE_LIMIT_ACTS_PER_SECOND: '20' } });
  const room = await open(service);
  const host = await seated(service, room, room.host);
  const others: Watcher[] = [];
  for (let count = 0; count < 7; count++) others.push(await watchRoom(service, room.code));
  await service.post(`/v1/rooms/${room.code}/private`, { installId: room.host, seats: { p1: 'hand' } });
  await host.until(({ type }) => type === 'you');
  // Forty messages of a kilobyte for eight sockets: five times the bytes that the room may push at once.
  const message = () => service.post(`/v1/rooms/${room.code}/message`, { installId: room.host, data: 'x'.repeat(1000) });
  const replies = await Promise.all(Array.from({ length: 40 }, message));
  const sent = replies.filter(({ status }) => status === 200).length;
  // Each number arrives or is reported as missed, once and in order.
  const told = (): number[] =>
    host.messages.flatMap(({ type, n, from, to }) =>
      type === 'message' ? [n] : type === 'missed' ? Array.from({ length: to - from + 1 }, (_, index) => from + index) : [],
    );
  await host.until(() => told().length >= 40);
  const got = host.messages.filter(({ type }) => type === 'message').length;
  expect([sent, told()]).toEqual([40, Array.from({ length: 40 }, (_, index) => index + 1)]);
  expect(got).toBeLessThan(40);
  // Twice the acts that the address may send at once.
  for (let order = 1; order <= 200; order++) host.send({ type: 'act', order, action: 'unready' });
  await host.until(({ type, error }) => type === 'acted' && error?.code === 'rate_limited');
  await Promise.all([host, ...others].map((watcher) => watcher.close()));
  const text = (await figures(service, /^coinop_live_(messages|private|acts)/)).join('\n');
  expect(text).toMatch(/^coinop_live_messages_total 320$/m);
  expect(text).toContain(`coinop_live_messages_missed_total ${8 * (40 - got)}`);
  expect(text).toMatch(/^coinop_live_private_notices_total 1$/m);
  expect(text).toMatch(/^coinop_live_acts_unread_total [1-9]/m);
});
