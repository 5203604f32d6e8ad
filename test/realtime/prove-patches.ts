import { setTimeout as delay } from 'node:timers/promises';
import { LightSocket } from './light-socket.ts';
import type { Stand } from './prove-acts.ts';
import { post } from './storm.ts';

const WATCHERS = 1000;
const CHANGES_PER_SECOND = 20;
const SECONDS = 5;
const AT_ONCE = 50;

/** A room of 8 KiB changes by 30 bytes 20 times a second before 1,000 watchers, with the default ROOM_BYTES_PER_SECOND. */
export async function provePatches({ child, stopAll, report, exactly }: Stand): Promise<void> {
  const service = await child();
  const installId = 'patch-host-0001';
  const state = { board: 'x'.repeat(7900), turn: '' };
  const { room } = await post(service.url, '/v1/rooms', { installId, state });
  const path = `/v1/rooms/${room.code}`;
  const tallies = Array.from({ length: WATCHERS }, () => ({ pushes: 0, bytes: 0, seq: 0, faults: 0 }));
  const sockets: LightSocket[] = [];
  let wholeBytes = 0;
  const watch = (tally: (typeof tallies)[number]): Promise<LightSocket> =>
    LightSocket.open(service.port, `${path}/live?patch=1`, {
      text(text) {
        const [, type, seq, from] = /^\{"type":"(room|patch)","seq":(\d+)(?:,"from":(\d+))?/.exec(text.toString('latin1', 0, 64)) ?? [];
        if (type === 'patch' && Number(from) !== tally.seq) tally.faults++;
        if (type === 'room') wholeBytes = text.length;
        tally.seq = Number(seq);
        tally.pushes++;
        tally.bytes += text.length;
      },
      closed: () => {},
    });
  while (sockets.length < WATCHERS) {
    const next = tallies.slice(sockets.length, sockets.length + AT_ONCE);
    sockets.push(...(await Promise.all(next.map(watch))));
  }
  await delay(1000);
  for (const tally of tallies) [tally.pushes, tally.bytes] = [0, 0];
  const startedAt = performance.now();
  let last = 0;
  for (let change = 0; change < SECONDS * CHANGES_PER_SECOND; change++) {
    const dueAt = startedAt + (1000 * change) / CHANGES_PER_SECOND;
    await delay(Math.max(0, dueAt - performance.now()));
    const turn = String(change).padStart(28, '0');
    const { room: changed } = await post(service.url, `${path}/state`, { installId, merge: { turn } });
    last = changed.seq as number;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await delay(1000);
  const fewest = Math.min(...tallies.map(({ pushes }) => pushes)) / seconds;
  const most = Math.max(...tallies.map(({ bytes }) => bytes));
  const share = most / (SECONDS * CHANGES_PER_SECOND * wholeBytes);
  report(`${WATCHERS} watchers of a room of 8 KiB, 20 changes a second: changes a second that each got`, fewest, '>= 19', fewest >= 19);
  report('  bytes a watcher, against whole rooms', share, '<= 0.05', share <= 0.05);
  exactly('  patches of another room than the watcher had', tallies.filter(({ faults }) => faults > 0).length, 0);
  exactly('  watchers without the last change', tallies.filter(({ seq }) => seq !== last).length, 0);
  for (const socket of sockets) socket.destroy();
  await stopAll();
}
