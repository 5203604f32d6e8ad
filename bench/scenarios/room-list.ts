import { listKeys } from '../../src/features/rooms/list/list-model.ts';
import { codeOf } from '../../src/features/rooms/model.ts';
import type { Figures } from '../figures.ts';
import { Stream } from '../load/fill.ts';
import { newKeyPrefix } from '../load/order.ts';
import type { Measured } from '../measure/measured.ts';
import { Meter } from '../measure/meter.ts';
import type { Bench, Contestant, Scenario, Side } from '../scenario.ts';

/** The newest page of the list of open rooms, among a thousand and a hundred thousand. */

const SIZES = [1e3, 1e5];
const PAGES = 4000;
const QUICK_PAGES = 200;
const ROOMS_PER_COMMAND = 100;
const CHUNK_LENGTH = 256 * 1024;

/** Somebody is present in all rooms for as long as the scenario runs. */
const PRESENT_MS = 3_600_000;

export const roomList: Scenario = {
  name: 'room-list',
  title: 'The list of open rooms',
  summary: 'The newest 20 public rooms of a game, among a thousand and a hundred thousand open ones.',
  operation: 'page',
  sides: SIZES.map((size): Side => ({
    id: String(size),
    name: `${size.toLocaleString('en')} rooms`,
    kind: 'service',
    at: size,
    open: (bench) => open(bench, bench.settings.quick ? size / 10 : size),
  })),
  targets: [
    { what: 'Redis CPU of a page among 100,000 rooms, µs', figure: 'redisCpu', side: '100000', most: 100 },
    { what: 'Redis CPU among 100,000 rooms against 1,000', figure: 'redisCpu', side: '100000', against: '1000', most: 1.5 },
  ],
  anywhere: false,
  rounds: 6,
};

async function open(bench: Bench, size: number): Promise<Contestant> {
  const service = await bench.service({ fresh: true });
  await fillList(service, gameOf(size), size, bench.signal);
  let from = 0;
  return {
    async round(): Promise<Figures> {
      const { quick, connections } = bench.settings;
      const meter = new Meter(service);
      const outcome = await bench.load(
        {
          connections,
          seconds: 60,
          count: quick ? QUICK_PAGES : PAGES,
          url: service.url,
          requests: [{ method: 'GET', path: pathOf(size) }],
          callers: [],
          keyPrefix: newKeyPrefix(),
          from,
        },
        meter,
      );
      from = outcome.next;
      const failures = Object.entries(outcome.failures).map(([what, times]) => `${what} (${times} times)`);
      if (failures.length > 0) throw new Error(`the service answered with ${failures.join(', ')}`);
      return { ...meter.each(outcome.done), perSecond: outcome.done / outcome.seconds };
    },
    async audit() {
      const reply = await fetch(new URL(pathOf(size), service.url));
      const { rooms } = (await reply.json()) as { rooms: { code: string }[] };
      const newest = Array.from({ length: 20 }, (_, place) => codeOf(size - 1 - place));
      return rooms.map(({ code }) => code).join() === newest.join() ? [] : ['the page does not hold the newest rooms'];
    },
    close: () => service.stop(),
  };
}

/** Fills a list as the rooms' processes would leave it. The rooms themselves do not exist: a page reads the list alone. */
async function fillList({ redis }: Measured, game: string, size: number, signal: AbortSignal): Promise<void> {
  const { order, untils, rooms, version } = listKeys(game);
  const stream = await Stream.open(redis!, signal);
  const now = Date.now();
  for (let start = 0; start < size; start += ROOMS_PER_COMMAND) {
    const entries = Array.from({ length: Math.min(ROOMS_PER_COMMAND, size - start) }, (_, index) => {
      const number = start + index;
      return `${now - size + number}${codeOf(number)}`;
    });
    void stream.call('ZADD', [order, ...entries.flatMap((entry) => [0, entry])]);
    void stream.call('ZADD', [untils, ...entries.flatMap((entry) => [now + PRESENT_MS, entry])]);
    void stream.call('HSET', [rooms, ...entries.flatMap((entry) => [entry, `1 1 4 ${game} {"mode":"duel","region":"eu"}`])]);
    await stream.flush(CHUNK_LENGTH);
  }
  void stream.call('SET', [version, '1']);
  await stream.end();
}

/** With a cursor ahead of all rooms, because a process caches the page without a cursor, and asks Redis only for its version. */
function pathOf(size: number): string {
  return `/v1/rooms?game=${gameOf(size)}&limit=20&cursor=9999999999999ZZZZZ`;
}

function gameOf(size: number): string {
  return `bench-${size}`;
}
