import { spawn } from 'node:child_process';
import { once } from 'node:events';
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
import type { Answer, Client } from '../proofs/client.ts';
import type { Figures } from '../proofs/figures.ts';

/** Work that is no flood of bytes, and that must not slow down others either: many webhooks, and costly requests of one server key. */
export interface Burden {
  readonly name: string;
  /** Resolves when the burden works. The result ends it. */
  begin(burdened: Burdened): Promise<() => Promise<void>>;
  /** What it did in all phases. */
  report?(figures: Figures): void;
}

export interface Burdened {
  readonly redis: Redis;
  readonly client: Client;
  /** Server keys of a viewer, of an economist, and of the scope `events`. */
  readonly keys: Readonly<Record<'viewer' | 'economist' | 'reader', string>>;
}

const HOOKS = 49;
const LEAST_GRANTS_PER_SECOND = 500;

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
    const [port] = (await once(receiver.stdout, 'data')) as [Buffer];
    const all = new Hooks({ scripts: new ScriptRunner(redis, { now: Date.now }), config: { WEBHOOKS_PRIVATE: 'on' }, now: Date.now });
    for (let hook = 0; hook < HOOKS; hook++)
      await all.add({ url: `http://127.0.0.1:${port.toString().trim()}/${afterMs}/${hook}` }, undefined);
    return async () => {
      for (const { id } of await all.list()) await all.remove(id);
      receiver.kill();
    };
  },
});

/** Requests without pause, some at a time. A refused one is sent again after a pause, so that refusals are no flood. */
function requests(
  name: string,
  key: keyof Burdened['keys'],
  path: string,
  {
    body,
    atOnce = 10,
    answered = () => {},
  }: { body?: () => object; atOnce?: number; answered?: (answer: Answer, ms: number) => void } = {},
): Burden {
  return {
    name,
    async begin({ client, keys }) {
      let isOver = false;
      const send = async (): Promise<void> => {
        while (!isOver) {
          const startedAt = performance.now();
          const sent = body === undefined ? {} : { method: 'POST', body: body() };
          const answer = await client.ask(path, { bearer: keys[key], ...sent });
          if (answer.status === 429) await pause(1000 * Number(answer.headers['retry-after']));
          else if (answer.status === 200 || answer.status === 404) answered(answer, performance.now() - startedAt);
          else throw new Error(`${path}: ${answer.status}`);
        }
      };
      const sending = Promise.all(Array.from({ length: atOnce }, send));
      return async () => {
        isOver = true;
        await sending;
      };
    },
  };
}

export const burdens: readonly Burden[] = [
  hooks('49 webhooks that hang', -1),
  hooks('49 webhooks that answer after half a second', 500),
  hooks('49 webhooks that answer at once', 0),
  requests('ten searches for a name at once', 'viewer', '/v1/admin/find', { body: () => ({ who: 'name:nobody has this name' }) }),
  requests('ten lists of accounts at once', 'viewer', '/v1/admin/accounts?debt=true'),
  requests('ten exports of the log at once', 'viewer', '/v1/admin/log/export'),
  requests('ten searches of the log at once', 'viewer', '/v1/admin/log?action=nothing'),
  requests('ten reads of 1,000 events at once', 'reader', '/v1/events?limit=1000'),
];

/** Bulk grants one after the other. Each call has a new key, so it grants coins to every account. */
export function bulkGrants(accounts: readonly string[]): Burden {
  const entries = accounts.map((account) => ({ account, coins: 1 }));
  let [granted, calls, took] = [0, 0, 0];
  const answered = ({ body }: Answer, ms: number): void => {
    granted += (body.results as { outcome: string }[]).filter(({ outcome }) => outcome === 'granted').length;
    took += ms;
  };
  const body = () => ({ entries, key: `bulk-${calls++}`, reason: 'proof' });
  return {
    ...requests('a bulk grant', 'economist', '/v1/admin/coins/grant-many', { body, atOnce: 1, answered }),
    report(figures) {
      figures.time('grants a second', (granted * 1000) / took, [LEAST_GRANTS_PER_SECOND, Infinity]);
      figures.exactly('accounts that a call did not grant to', calls * accounts.length - granted, 0);
    },
  };
}

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

export async function burdenedKeys(redis: Redis): Promise<Burdened['keys']> {
  const changes = new ServerKeyChanges(new ScriptRunner(redis, { now: Date.now }), Date.now);
  const [viewer, economist, reader] = [
    await changes.create({ name: 'viewer', scopes: ['admin'], role: 'viewer' }),
    await changes.create({ name: 'economist', scopes: ['admin'], role: 'economist' }),
    await changes.create({ name: 'reader', scopes: ['events'] }),
  ];
  return { viewer: viewer.token, economist: economist.token, reader: reader.token };
}
