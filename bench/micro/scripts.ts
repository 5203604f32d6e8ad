import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import type { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { Refusal } from '../../src/errors.ts';
import { resolve } from '../../src/features/sign-in/resolve.ts';
import { balance } from '../../src/features/coins/balance.ts';
import { Bookings } from '../../src/features/coins/bookings.ts';
import { credit } from '../../src/features/coins/credit.ts';
import { debit } from '../../src/features/coins/debit.ts';
import { history } from '../../src/features/coins/history.ts';
import { entitlement } from '../../src/features/entitlement/entitlement.ts';
import { firstRun } from '../../src/features/entitlement/first-run.ts';
import { submitScore } from '../../src/features/highscores/submit.ts';
import { topScores } from '../../src/features/highscores/top.ts';
import { claimPairing } from '../../src/features/pairing/claim.ts';
import { newPairing } from '../../src/features/pairing/new.ts';
import { pairingStatus } from '../../src/features/pairing/status.ts';
import { actInRoom } from '../../src/features/rooms/act.ts';
import { createRoom } from '../../src/features/rooms/create.ts';
import { Presence } from '../../src/features/rooms/presence.ts';
import { readRoom } from '../../src/features/rooms/read.ts';
import { logout } from '../../src/features/sessions/logout.ts';
import { report } from '../../src/features/purchases/subscription/report.ts';
import { linkTrial } from '../../src/features/trial/link.ts';
import { trialStatus } from '../../src/features/trial/status.ts';
import { touchTrial } from '../../src/features/trial/touch.ts';
import type { Caller } from '../../src/server/identity/caller.ts';
import type { Encoded, Endpoint, Reply } from '../../src/server/http/endpoint.ts';
import { MOST_CALLS } from '../../src/redis/script-runner.ts';
import { directCaller, type DirectCaller } from '../load/direct.ts';
import { SEASONAL_GAME, silence, type DirectServices } from '../load/direct-services.ts';
import { fill } from '../load/fill.ts';
import { redisMainThreadCpu } from '../measure/redis.ts';
import { storeCases, type Case } from './store-scripts.ts';

/** Measures each script of the service on a real Redis. Most scripts are called through their handlers. */

export interface ScriptCost {
  readonly what: string;
  /** CPU of Redis's main thread per call, in µs: reading the command, running it and writing it to the append-only file. */
  readonly redisCpu: number;
  /** Wall-clock time of the script per call, in µs. It exceeds the CPU when Redis shares its core. */
  readonly script: number;
}

const CALLS = 5000;

/** The room and the pairing that the cases use. */
interface Fixture {
  readonly code: string;
  readonly token: string;
}

const newRoom = { minPlayers: 1, maxPlayers: 8, state: '{}', writers: 'host', public: false, tags: {} };
const host = 'bench-host-0001';
const player = (number: number): string => `bench-player-${number % 500}`;

/** The calls to measure, by the script's name and the kind of call. */
function casesFor({ code, token }: Fixture): Record<string, Case> {
  const sessionId = 'c2Vzc2lvbi1pZA';
  return {
    'accounts/open (existing)': (call, number) => call(resolve, { installId: player(number) }),
    'accounts/open (new)': (call, number) => call(resolve, { installId: `bench-new-${number}` }),
    'sessions/sign-out': (call, number) => call(logout, { installId: player(number), sessionId: `out-${number}` }),
    // Each call has its own account, because it ends all sessions of the account.
    'sessions/sign-out-everywhere': (call, number) =>
      call(logout, { installId: `bench-everywhere-${number}`, sessionId, body: { everywhere: true } }),
    'coins/apply (credit)': (call, number) => call(credit, coins(number, `credit-${number}`)),
    'coins/apply (credit by session)': (call, number) => call(credit, { ...coins(number, `by-session-${number}`), sessionId }),
    'coins/apply (replayed)': (call, number) => call(credit, coins(number, `credit-${number}`)),
    'coins/apply (debit)': (call, number) => call(debit, coins(number, `debit-${number}`)),
    'coins/apply (credit by server key)': (call, number) =>
      call(credit, {
        ...coins(number, `by-key-${number}`),
        key: { id: 'bench001', name: 'bench', scopes: ['coins'], role: undefined, game: undefined },
      }),
    'coins/book': (call, number) => call(bookTopup(number), { installId: player(number) }),
    'coins/balance': (call, number) => call(balance, { installId: player(number) }),
    'coins/history (10 entries)': (call, number) => call(history, { installId: player(number), sessionId, query: { limit: '10' } }),
    'highscores/submit (board of 500)': (call, number) =>
      call(submitScore, {
        installId: player(number),
        params: { game: 'bench' },
        body: { score: (number * 7919) % 1_000_003, name: 'Ada' },
      }),
    'highscores/submit (season, board of 500)': (call, number) =>
      call(submitScore, {
        installId: player(number),
        params: { game: SEASONAL_GAME },
        body: { score: (number * 7919) % 1_000_003, name: 'Ada' },
      }),
    'highscores/submit (top ten unchanged and known)': (call, number) =>
      call(submitScore, { installId: player(number), params: { game: 'bench' }, body: { score: 0, name: 'Ada' } }),
    'highscores/top': (call) => call(topScores, { installId: host, params: { game: 'bench' } }),
    'rooms/create': (call) => call(createRoom, { installId: host, body: newRoom }),
    'rooms/write (state)': (call, number) =>
      call(actInRoom, { installId: host, params: { code, action: 'state' }, body: { state: `{"turn":${number}}` } }),
    'rooms/write (data)': (call, number) =>
      call(actInRoom, { installId: host, params: { code, action: 'data' }, body: { data: `{"x":${number}}` } }),
    'rooms/write (private)': (call, number) =>
      call(actInRoom, { installId: host, params: { code, action: 'private' }, body: { seats: { p1: `[${number}]` } } }),
    'rooms/message': (call, number) =>
      call(actInRoom, { installId: host, params: { code, action: 'message' }, body: { data: `[${number}]` } }),
    'rooms/act (ready)': (call, number) =>
      call(actInRoom, { installId: host, params: { code, action: number % 2 === 0 ? 'ready' : 'unready' } }),
    'rooms/act (not in the room)': (call, number) =>
      call(actInRoom, { installId: player(number), params: { code, action: 'ready' } }).catch(expectNotInRoom),
    'rooms/read': (call) => call(readRoom, { installId: host, params: { code } }),
    'rooms/presence (hello)': (call, number) => call(hello(code, number), { installId: host }),
    'pairing/new': (call) => call(newPairing, { installId: host, body: { session: 'cookie' } }),
    'pairing/status (pending)': (call) => call(pairingStatus, { installId: host, query: { token } }),
    'pairing/claim (again by the winner)': (call) => call(claimPairing, { installId: host, body: { token } }),
    'trial/touch': (call, number) => call(touchTrial, { installId: host, body: { deviceId: `bench-device-${number}` } }),
    'trial/status': (call, number) => call(trialStatus, { installId: host, query: { deviceId: `bench-device-${number}` } }),
    'trial/link': (call, number) => call(linkTrial, { installId: player(number), meta: { deviceId: `bench-device-${number}` } }),
    'subscription/report': (call, number) => call(report, { installId: player(number), body: { subscribed: true } }),
    'accounts/fields': (call, number) => call(entitlement, { installId: player(number) }),
    'entitlement/first-run': (call, number) => call(firstRun, { installId: player(number) }),
    ...storeCases(),
  };
}

function coins(number: number, key: string): { installId: string; body: object } {
  return { installId: player(number), body: { coins: 1 + (number % 9), key } };
}

function expectNotInRoom(error: unknown): void {
  if (!(error instanceof Refusal) || error.code !== 'not_in_room') throw error;
}

/** Wraps a booking, which is not an endpoint, as a handler. */
function bookTopup(number: number): Pick<Endpoint<DirectServices>, 'handle'> {
  return {
    handle({ caller }, { scripts, keySecret, config }) {
      const { accountId }: Caller = caller;
      const bookings = new Bookings({ scripts, keySecret, config, coinTotals: { applied() {} } });
      return bookings.book(accountId, { type: 'topup', coins: 500, key: ['bench', String(number)], refusesBanned: false });
    },
  };
}

/** Wraps the `hello` of a room's channel, which is not an endpoint, as a handler. */
function hello(code: string, number: number): Pick<Endpoint<DirectServices>, 'handle'> {
  return {
    handle({ caller }, { scripts, config, log, now }) {
      // `fill` gets no replies, so a script that waits for the answer of another one would never be sent. The queue's script
      // therefore answers at once, without Redis: only `rooms/presence` is measured.
      const answering = Object.create(scripts, {
        run: { value: async () => ['queued'] },
        runAs: { value: (...call: Parameters<typeof scripts.runAs>) => scripts.runAs(...call) },
        queueTags: { value: scripts.queueTags },
      }) as CallerScripts;
      const presence = new Presence({ subscriber: silence, scripts: answering, config, log, now, listWriter: { changed() {} } });
      // Stops the timers, which a measurement does not need.
      void presence.close();
      return presence.hello(code, caller, `connection-${number % 50}`, () => {});
    },
  };
}

export interface ScriptCosts {
  readonly costs: readonly ScriptCost[];
  /** Scripts that no case calls. */
  readonly missing: readonly string[];
}

/**
 * @param repetitions calls of each case, several times MOST_CALLS: with fewer, a case that sends only a part of its calls would not be
 * noticed
 */
export async function measureScripts(
  redis: Redis,
  signal: AbortSignal,
  doing: (what: string) => void,
  repetitions = CALLS,
): Promise<ScriptCosts> {
  const costs: ScriptCost[] = [];
  const called = new Set<string>();
  let calls = 0;
  const observe = (script: string): void => {
    called.add(script);
    calls++;
  };
  const call = await directCaller(redis, { observe });
  const measure = async (what: string, one: Case): Promise<ScriptCost> => {
    // One call with an unused number counts the scripts that the case runs. The calls of `fill` cannot, as they get no replies.
    calls = 0;
    await one(call, repetitions);
    calls *= repetitions;
    const [cpuBefore, before] = [await redisMainThreadCpu(redis), await evaluated(redis)];
    await fill({ redis, cluster: undefined, primaries: [redis] }, repetitions, one, signal);
    const [cpuAfter, after] = [await redisMainThreadCpu(redis), await evaluated(redis)];
    if (after.commands - before.commands < calls / MOST_CALLS)
      throw new Error('Redis did not receive all calls: one awaits an answer before its script, and no answers come');
    if (after.errors > before.errors) throw new Error(`${after.errors - before.errors} calls failed`);
    return { what, redisCpu: (cpuAfter - cpuBefore) / calls, script: (after.microseconds - before.microseconds) / calls };
  };
  for (const [what, one] of Object.entries(casesFor(await createFixture(call)))) {
    doing(what);
    try {
      costs.push(await measure(what, one));
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
    }
  }
  const features = fileURLToPath(new URL('../../src/features', import.meta.url));
  const scripts = globSync('*/*.lua', { cwd: features }).map((file) => file.replace(/\.lua$/, ''));
  return { costs, missing: scripts.filter((script) => !called.has(script) && !SHARED.has(script)).toSorted() };
}

/** Lua files that are prepended to scripts and are not scripts themselves. */
const SHARED = new Set(['coins/erase-part', 'coins/ledger', 'rooms/room', 'subscription/purchases']);

async function createFixture(call: DirectCaller): Promise<Fixture> {
  const room = (await call(createRoom, { installId: host, body: { ...newRoom, name: 'Ada' } })) as Encoded;
  const { code } = (JSON.parse(room.text) as { room: { code: string } }).room;
  for (const [index, name] of ['Bob', 'Cleo', 'Dan'].entries()) {
    await call(actInRoom, { installId: `bench-guest-${index}`, params: { code, action: 'join' }, body: { name } });
  }
  // The first score of a season needs its place in a queue, and so two calls.
  await call(submitScore, { installId: host, params: { game: SEASONAL_GAME }, body: { score: 0, name: 'Ada' } });
  const { body } = (await call(newPairing, { installId: host, body: { session: 'cookie' } })) as Reply<{ token: string }>;
  return { code, token: (body as { token: string }).token };
}

/** Redis's own counts of EVALSHA calls, their time and errors. */
async function evaluated(redis: Redis): Promise<{ commands: number; microseconds: number; errors: number }> {
  const [commands, stats] = [await redis.info('commandstats'), await redis.info('stats')];
  const line = /^cmdstat_evalsha:calls=(\d+),usec=(\d+),/m.exec(commands);
  const errors = /^total_error_replies:(\d+)/m.exec(stats);
  return { commands: Number(line?.[1] ?? 0), microseconds: Number(line?.[2] ?? 0), errors: Number(errors?.[1]) };
}
