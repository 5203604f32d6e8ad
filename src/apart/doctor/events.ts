import type { Redis } from 'ioredis';
import type { Config } from '../../config.ts';
import { CHUNK_LENGTH, eventKeys } from '../../features/events/model.ts';
import { parseEvent } from '../../features/events/parse-event.ts';
import { placeOf, urlProblem } from '../../features/webhooks/hook-url.ts';
import { hookKeys, parseHook, type Attempted, type HookRecord } from '../../features/webhooks/model.ts';
import { sizeText } from '../../process/memory.ts';
import { OUTBOX } from '../../redis/outbox.ts';
import { tagOf } from '../../redis/slots.ts';
import type { Diagnosis } from './diagnosis.ts';

/** The connection to the Redis that holds a given key. Undefined: this Redis is down, which is a separate finding. */
export type RedisOf = (key: string) => Redis | undefined;

const DAY_MS = 86_400_000;

/** The bytes of Redis's memory that an event needs (docs/events.md). */
const EVENT_BYTES = 70;

/**
 * If events have waited in an outbox for this many milliseconds, the doctor reports them. The relay takes less than a second, and if its
 * process dies, another process takes over within four.
 */
const WAITING_MS = 60_000;

/** If a webhook is behind by this many milliseconds, the doctor reports it. The alert CoinopWebhookBehind has the same limit. */
const BEHIND_MS = 300_000;

/** The growth of the log is estimated only if the log is at least this old, in milliseconds. */
const LEAST_AGE_MS = 3_600_000;

const OUTBOXES_AT_ONCE = 500;

interface Log {
  readonly events: number;
  readonly readable: number;
  /** When the oldest event of the log happened, in milliseconds since 1970. */
  readonly since: number;
}

/** Examines the events that wait for the relay, the log of events, and the webhooks. */
export async function examineEvents(redisOf: RedisOf, config: Config, diagnosis: Diagnosis, slots?: readonly number[]): Promise<void> {
  const ofLog = redisOf(eventKeys.state);
  if (ofLog === undefined) return;
  const now = Date.now();
  const log = await logOf(ofLog);
  await examineOutboxes(redisOf, ofLog, config, now, diagnosis, slots);
  if (log === undefined) diagnosis.fact('events', `EVENTS=${config.EVENTS}, none in the log`);
  else await examineLog(ofLog, log, config, now, diagnosis);
  const ofHooks = redisOf(hookKeys.hooks);
  if (ofHooks !== undefined) await examineHooks(ofHooks, ofLog, log, config, now, diagnosis);
}

async function logOf(redis: Redis): Promise<Log | undefined> {
  const [next, readable] = await redis.hmget(eventKeys.state, 'next', 'readable');
  const [oldest] = await redis.zrange(eventKeys.chunks, '0', '0');
  const oldestEvent = oldest === undefined ? undefined : await eventAt(redis, Number(oldest) * CHUNK_LENGTH);
  return (
    oldestEvent && { events: Number(next) - Number(oldest) * CHUNK_LENGTH, readable: Number(readable), since: Date.parse(oldestEvent.at) }
  );
}

async function eventAt(redis: Redis, position: number) {
  const entry = await redis.lindex(eventKeys.chunk(Math.floor(position / CHUNK_LENGTH)), String(position % CHUNK_LENGTH));
  try {
    return entry === null ? undefined : parseEvent(entry);
  } catch {
    // The event has a type that only a later version of coinop knows.
    return undefined;
  }
}

/**
 * Reports events that have waited in outboxes for long.
 * @param slots all slots of a Cluster, where each has an outbox; undefined: a single Redis
 */
async function examineOutboxes(
  redisOf: RedisOf,
  ofLog: Redis,
  { EVENTS }: Config,
  now: number,
  diagnosis: Diagnosis,
  slots: readonly number[] | undefined,
): Promise<void> {
  const tags = slots === undefined ? [''] : slots.map(tagOf);
  let [batches, oldest] = [0, Infinity];
  for (let from = 0; from < tags.length; from += OUTBOXES_AT_ONCE) {
    const waits = await Promise.all(tags.slice(from, from + OUTBOXES_AT_ONCE).map((tag) => waitsIn(tag, redisOf, ofLog)));
    for (const wait of waits) [batches, oldest] = [batches + wait.batches, Math.min(oldest, wait.since)];
  }
  const seconds = Math.round((now - oldest) / 1000);
  if (oldest > now - WAITING_MS) return;
  diagnosis.find(EVENTS === 'on' ? 'warning' : 'note', 'events_wait', {
    text: `${batches} batches of events wait to be carried into the log, the oldest since ${seconds} s.`,
    cost: 'Readers and webhooks get no new events. While EVENTS is on anywhere, each change takes more of the memory of Redis.',
    mend:
      EVENTS === 'on'
        ? 'Start the service; while it runs, see docs/operations/runbook.md#coinopeventslate'
        : 'EVENTS=on in all processes; or none, and redis-cli UNLINK outbox (docs/events.md#how-events-travel)',
  });
}

/**
 * The elements of an outbox that are not in the log yet, and the time of the oldest in milliseconds since 1970. An outbox also has elements
 * that the log has already, because the relay drops them some time later.
 */
async function waitsIn(tag: string, redisOf: RedisOf, ofLog: Redis): Promise<{ batches: number; since: number }> {
  const [redis, key] = [redisOf(`${tag}${OUTBOX}`), `${tag}${OUTBOX}`];
  const batches = (await redis?.llen(key)) ?? 0;
  if (batches === 0) return { batches, since: Infinity };
  const [firstElement, lastElement, carried] = [
    await redis!.lindex(key, 0),
    await redis!.lindex(key, -1),
    await ofLog.hget(eventKeys.state, `from:${tag}`),
  ];
  if (carried !== null && carried !== '' && lastElement?.startsWith(carried) === true) return { batches: 0, since: Infinity };
  return { batches, since: Number(/^\d+/.exec(firstElement ?? '')?.[0] ?? Infinity) / 1000 };
}

async function examineLog(redis: Redis, log: Log, { EVENTS, EVENTS_DAYS }: Config, now: number, diagnosis: Diagnosis): Promise<void> {
  const size = log.events * EVENT_BYTES;
  const ageMs = now - log.since;
  const grown = ageMs < LEAST_AGE_MS ? undefined : (size / ageMs) * EVENTS_DAYS * DAY_MS;
  const later = grown === undefined || grown <= size ? '' : `, ${sizeText(grown)} once it has ${EVENTS_DAYS} days`;
  const since = new Date(log.since).toISOString().slice(0, 19);
  diagnosis.fact('events', `EVENTS=${EVENTS}, about ${log.events} since ${since}Z in the log, ${sizeText(size)}${later}`);
  if (EVENTS === 'off')
    return diagnosis.find('note', 'events_left', {
      text: `EVENTS is off, and the log has about ${log.events} events.`,
      cost: `They take ${sizeText(size)} of Redis's memory, and no process drops them.`,
      mend: 'EVENTS=on; or delete the keys outbox and {events}:… (docs/events.md#how-events-travel)',
    });
  const info = await redis.info('memory');
  const bytesOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const left = (bytesOf('maxmemory') || bytesOf('total_system_memory')) - bytesOf('used_memory');
  if (grown === undefined || grown - size < left) return;
  diagnosis.find('warning', 'events_memory', {
    text: `At its current rate the log of events grows from ${sizeText(size)} to ${sizeText(grown)} (EVENTS_DAYS=${EVENTS_DAYS}), and Redis has ${sizeText(Math.max(0, left))} left.`,
    cost: 'When the memory is full, Redis refuses writes, and all coin operations get 503.',
    mend: 'A smaller EVENTS_DAYS, or more memory',
  });
}

async function examineHooks(
  redis: Redis,
  ofLog: Redis,
  log: Log | undefined,
  config: Config,
  now: number,
  diagnosis: Diagnosis,
): Promise<void> {
  const records = Object.entries(await redis.hgetall(hookKeys.hooks));
  if (records.length === 0) return;
  diagnosis.fact('webhooks', `${records.length}`);
  if (config.EVENTS === 'off')
    diagnosis.find('warning', 'hooks_without_events', {
      text: `There are ${records.length} webhooks, and EVENTS is off.`,
      cost: 'They get nothing.',
      mend: 'EVENTS=on; or npm run admin -- webhooks remove ID',
    });
  for (const [id, text] of records) {
    const hook = parseHook(text);
    if (hook === undefined)
      diagnosis.find('warning', 'hook_unreadable', {
        text: `This version cannot read the webhook ${id}.`,
        cost: 'It gets nothing.',
        mend: 'Start the version that wrote it; or npm run admin -- webhooks remove, and add',
      });
    else if (hook.disabled !== undefined) findDisabled(id, hook, hook.disabled, diagnosis);
    else {
      examineUrl(id, hook, config, diagnosis);
      await examineDelivery(id, redis, ofLog, log, config, now, diagnosis);
    }
  }
}

function findDisabled(id: string, { url }: HookRecord, { by, at }: NonNullable<HookRecord['disabled']>, diagnosis: Diagnosis): void {
  const since = new Date(at).toISOString().slice(0, 10);
  diagnosis.find(by === 'gone' ? 'warning' : 'note', 'hook_disabled', {
    text: `The webhook ${id} to ${placeOf(url)} is disabled since ${since}: ${by === 'gone' ? 'its endpoint answered 410' : 'by an operator'}.`,
    cost: 'This webhook gets no events, and permanently misses those that become older than EVENTS_DAYS.',
    mend: `npm run admin -- webhooks enable ${id}; or webhooks remove ${id}`,
  });
}

function examineUrl(id: string, { url }: HookRecord, { WEBHOOKS_PRIVATE }: Config, diagnosis: Diagnosis): void {
  const problem = urlProblem(url, WEBHOOKS_PRIVATE === 'on');
  if (problem === undefined) return;
  diagnosis.find('warning', 'hook_refused', {
    text: `The URL of the webhook ${id}, ${placeOf(url)}, ${problem}.`,
    cost: 'Each delivery fails as private_address.',
    mend: 'WEBHOOKS_PRIVATE=on, if the endpoint is in your own network; or remove the webhook, and add one with a public https: URL',
  });
}

async function examineDelivery(
  id: string,
  redis: Redis,
  ofLog: Redis,
  log: Log | undefined,
  { EVENTS_DAYS }: Config,
  now: number,
  diagnosis: Diagnosis,
): Promise<void> {
  const cursor = Number((await redis.hget(hookKeys.state(id), 'cursor')) || Number.NaN);
  const next = log !== undefined && cursor < log.readable ? await eventAt(ofLog, cursor) : undefined;
  const ageMs = now - Date.parse(next?.at ?? '');
  if (ageMs > BEHIND_MS)
    diagnosis.find('warning', 'hook_behind', {
      text: `The webhook ${id} is behind: the next event that it has to get happened at ${next!.at}.`,
      cost: `Its receiver gets no newer events, and misses those that become older than EVENTS_DAYS (${EVENTS_DAYS}).`,
      mend: `npm run admin -- webhooks deliveries ${id}; docs/operations/runbook.md#coinopwebhookbehind`,
    });
  const [accounts, failed, delivered] = [
    await redis.hlen(hookKeys.waiting(id)),
    attemptedAt(await redis.lindex(hookKeys.failed(id), 0)),
    attemptedAt(await redis.lindex(hookKeys.delivered(id), 0)),
  ];
  if (accounts === 0 && failed <= delivered) return;
  const last = failed > delivered ? 'its last attempt failed' : 'others are delivered';
  diagnosis.find(failed > delivered ? 'warning' : 'note', 'hook_failing', {
    text: `The events of ${accounts} accounts wait for a next attempt of the webhook ${id}, and ${last}.`,
    cost: 'An event that fails for three days is not sent any more.',
    mend: `npm run admin -- webhooks deliveries ${id}`,
  });
}

function attemptedAt(text: string | null): number {
  try {
    return (JSON.parse(text ?? '') as Attempted).at;
  } catch {
    return 0;
  }
}
