import { setTimeout as delay } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { CHUNK_LENGTH, eventKeys } from '../../src/features/events/model.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { ServerKeyChanges } from '../../src/server/identity/server-key-changes.ts';
import { Api } from '../load/api.ts';
import { Stream } from '../load/fill.ts';
import { newKeyPrefix, type RequestPlan } from '../load/order.ts';
import type { Measured } from '../measure/measured.ts';
import { Meter } from '../measure/meter.ts';
import type { Bench, Contestant, Scenario } from '../scenario.ts';
import { eventService } from './events.ts';

/** One reader that goes from cursor to cursor through a long log, over HTTP. */

const EVENTS = 1_000_000;
const QUICK_EVENTS = 20_000;
const PAGE = 1000;
const CHUNKS_AT_ONCE = 20;
const ACCOUNTS = 5000;

/** 50,000 events a second leave 20 µs for each, even if server and Redis share one core. */
const MOST_MICROSECONDS = 20;

export const eventsRead: Scenario = {
  name: 'events-read',
  family: 'events',
  title: 'Events: reading from a cursor',
  summary: `GET of ${PAGE} events after a cursor, by one reader that asks for the next page once it has one, through a log of ${EVENTS.toLocaleString('en')} events.`,
  operation: 'event',
  sides: [{ id: 'coinop', name: 'coinop', kind: 'service', open }],
  targets: [{ what: 'CPU of server and Redis for an event, µs', figure: 'cpu', side: 'coinop', most: MOST_MICROSECONDS }],
  anywhere: false,
  apart: { minutes: 1 },
};

async function open(bench: Bench): Promise<Contestant> {
  const count = bench.settings.quick ? QUICK_EVENTS : EVENTS;
  const service = await eventService(bench, { EVENTS: 'on' }, 'always');
  await fillLog(service, count, bench.signal);
  const headers = { authorization: `Bearer ${await readerKey(service)}` };
  // Positions of the log are cursors.
  const requests = Array.from({ length: count / PAGE }, (_, page): RequestPlan => {
    const after = page === 0 ? '' : `&after=${(page * PAGE).toString(36)}`;
    return { method: 'GET', path: `/v1/events?limit=${PAGE}${after}`, headers };
  });
  let from = 0;
  return {
    async round(seconds) {
      const meter = new Meter(service);
      const order = { url: service.url, connections: 1, requests, callers: [], keyPrefix: newKeyPrefix(), from, seconds };
      const { done, seconds: took, next, failures } = await bench.load(order, meter);
      from = next;
      if (Object.keys(failures).length > 0) throw new Error(`the service answered with ${Object.keys(failures).join(', ')}`);
      const { serverCpu, redisCpu } = meter.each(done * PAGE);
      return { serverCpu, redisCpu, cpu: serverCpu + redisCpu, perSecond: (done * PAGE) / took };
    },
    async audit() {
      const api = new Api(service.url);
      let [cursor, read] = ['', 0];
      for (let events = PAGE; events > 0; read += events) {
        const { body } = await api.expectOk(api.get(`/v1/events?limit=${PAGE}${cursor}`, headers));
        events = (body['events'] as unknown[]).length;
        cursor = `&after=${body['cursor'] as string}`;
      }
      api.close();
      return read === count ? [] : [`a reader saw ${read} of ${count} events`];
    },
    close: () => service.stop(),
  };
}

/** Fills the log as the relay does, with changes of coins. */
async function fillLog({ redis }: Measured, count: number, signal: AbortSignal): Promise<void> {
  const accounts = Array.from({ length: ACCOUNTS }, (_, number) => accountIdOf(`bench-reader-${number}`));
  const since = Date.now() * 1000 - count * 100;
  const stream = await Stream.open(redis!, signal);
  for (let chunk = 0; chunk < count / CHUNK_LENGTH; chunk++) {
    const entries = Array.from({ length: CHUNK_LENGTH }, (_, index) => {
      const position = chunk * CHUNK_LENGTH + index;
      const seq = Math.floor(position / ACCOUNTS) + 1;
      return `c ${(since + position * 100).toString(36)}-0-0 ${accounts[position % ACCOUNTS]} ${seq + 1} ${seq}:${seq * 5} c5`;
    });
    void stream.call('RPUSH', [eventKeys.chunk(chunk), ...entries]);
    void stream.call('ZADD', [eventKeys.chunks, chunk, chunk]);
    if (chunk % CHUNKS_AT_ONCE === 0) await stream.flush(0);
  }
  void stream.call('HSET', [eventKeys.state, 'next', count, 'readable', count]);
  await stream.end();
}

/** @returns the token of a key that every process of the service knows */
async function readerKey({ redis, url }: Measured): Promise<string> {
  const changes = new ServerKeyChanges(new ScriptRunner(redis!, { now: Date.now }), Date.now);
  const { token } = await changes.create({ name: 'bench', scopes: ['events'] });
  const api = new Api(url);
  for (let reads = 0; reads < 100; reads++) {
    const { status } = await api.get('/v1/events?limit=1', { authorization: `Bearer ${token}` });
    if (status === 200) break;
    await delay(50);
  }
  api.close();
  return token;
}
