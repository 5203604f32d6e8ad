import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { accountKey } from '../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { CHUNK_LENGTH, eventKeys } from '../../src/features/events/model.ts';
import { playerText } from '../../src/features/highscores/entry.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { Hooks } from '../../src/features/webhooks/hooks.ts';
import { OPERATOR_LOG } from '../../src/operator/operator-log.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { ServerKeyChanges } from '../../src/server/identity/server-key-changes.ts';

/** Work that is no flood of bytes, and that must not slow down others either: many webhooks, and costly requests of one server key. */
export interface Burden {
  readonly name: string;
  /** Resolves when the burden works. The result ends it. */
  begin(service: Burdened): Promise<() => Promise<void>>;
}

export interface Burdened {
  readonly url: string;
  readonly redis: Redis;
  /** Server keys of a viewer, and of the scope `events`. */
  readonly viewer: string;
  readonly reader: string;
}

const HOOKS = 49;
const AT_ONCE = 10;

const ENTRIES = 20_000;
const GAME = 'pebble-drop';

/** A process whose endpoints answer after the milliseconds in their path, or never. */
const RECEIVER = `
  require('node:http').createServer((request, response) => {
    request.resume();
    const afterMs = Number(request.url.split('/')[1]);
    if (afterMs >= 0) setTimeout(() => response.writeHead(204).end(), afterMs);
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

/** @param afterMs -1: the endpoints hang */
const hooks = (name: string, afterMs: number): Burden => ({
  name,
  async begin({ redis }) {
    const receiver = spawn(process.execPath, ['--eval', RECEIVER], { stdio: ['ignore', 'pipe', 'inherit'] });
    const port = await new Promise<string>((resolve) => receiver.stdout.once('data', (text: Buffer) => resolve(text.toString().trim())));
    const all = new Hooks({ scripts: new ScriptRunner(redis, { now: Date.now }), config: { WEBHOOKS_PRIVATE: 'on' }, now: Date.now });
    for (let hook = 0; hook < HOOKS; hook++) await all.add({ url: `http://127.0.0.1:${port}/${afterMs}/${hook}` }, undefined);
    return async () => {
      for (const { id } of await all.list()) await all.remove(id);
      await ended(receiver);
    };
  },
});

/** Ten requests at a time. A refused one is sent again after a pause, so that refusals are no flood. */
const requests = (name: string, key: 'viewer' | 'reader', path: string, body?: object): Burden => ({
  name,
  async begin(service) {
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${service[key]}`, 'content-type': 'application/json' };
    const send = async (): Promise<void> => {
      while (!gone.signal.aborted) {
        const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
        const response = await fetch(service.url + path, { headers, signal: gone.signal, ...sent });
        await response.text();
        if (response.status === 429) await pause(1000 * Number(response.headers.get('retry-after')));
        else if (![200, 404].includes(response.status)) throw new Error(`${path}: ${response.status}`);
      }
    };
    const sending = Array.from({ length: AT_ONCE }, () =>
      send().catch((error: Error) => {
        if (!gone.signal.aborted) throw error;
      }),
    );
    return async () => {
      gone.abort();
      await Promise.all(sending);
    };
  },
});

export const burdens: readonly Burden[] = [
  hooks('49 webhooks that hang', -1),
  hooks('49 webhooks that answer after half a second', 500),
  hooks('49 webhooks that answer at once', 0),
  requests('ten searches for a name at once', 'viewer', '/v1/admin/find', { who: 'name:nobody has this name' }),
  requests('ten lists of accounts at once', 'viewer', '/v1/admin/accounts?debt=true'),
  requests('ten exports of the log at once', 'viewer', '/v1/admin/log/export'),
  requests('ten searches of the log at once', 'viewer', '/v1/admin/log?action=nothing'),
  requests('ten reads of 1,000 events at once', 'reader', '/v1/events?limit=1000'),
];

/** Fills what the costly requests read: a board, accounts, the operators' log, and the log of events. */
export async function fillBurdened(redis: Redis): Promise<void> {
  const ids = Array.from({ length: ENTRIES }, (_, index) => accountIdOf(`burdened-account-${index}`));
  const at = Date.now();
  for (let first = 0; first < ENTRIES; first += CHUNK_LENGTH) {
    const part = ids.slice(first, first + CHUNK_LENGTH);
    const pipeline = redis.pipeline();
    pipeline.hset(
      boardKeys.players(GAME),
      ...part.flatMap((id, index) => [`p${first + index}`.padEnd(12, 'x'), playerText(id, '!!!!!!!', `Player ${first + index}`)]),
    );
    for (const id of part) pipeline.hset(accountKey(id), 'createdAt', at);
    const entry = {
      at,
      by: 'key:ab12cd34',
      action: 'accounts ban',
      what: { account: part[0]! },
      why: 'ticket 4711',
      outcome: { word: 'done' },
    };
    pipeline.rpush(OPERATOR_LOG, ...part.map(() => JSON.stringify(entry)));
    const chunk = first / CHUNK_LENGTH;
    pipeline.rpush(eventKeys.chunk(chunk), ...part.map((id, index) => `c ${(at * 1000 + first + index).toString(36)}-0-0 ${id} 1 1:5 c5`));
    pipeline.zadd(eventKeys.chunks, chunk, chunk);
    await pipeline.exec();
  }
  await redis.hset(eventKeys.state, { next: ENTRIES, readable: ENTRIES });
}

/** Makes the keys of a viewer and of a reader of events. */
export async function burdenedKeys(redis: Redis): Promise<Pick<Burdened, 'viewer' | 'reader'>> {
  const changes = new ServerKeyChanges(new ScriptRunner(redis, { now: Date.now }), Date.now);
  const viewer = await changes.create({ name: 'viewer', scopes: ['admin'], role: 'viewer' });
  const reader = await changes.create({ name: 'reader', scopes: ['events'] });
  return { viewer: viewer.token, reader: reader.token };
}

function ended(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.kill();
  return closed;
}
