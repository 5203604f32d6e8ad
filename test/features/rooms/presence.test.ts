import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { roomKeys } from '../../../src/features/rooms/model.ts';
import { Presence } from '../../../src/features/rooms/presence.ts';
import type { ScriptConnection } from '../../../src/redis/script-runner.ts';
import type { Subscriber } from '../../../src/redis/subscriber.ts';
import { callerFrom } from '../../../src/server/identity/caller.ts';
import { audited } from '../../consistency/audited.ts';
import { DyingScripts } from '../../dying-scripts.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { open, type TestRoom } from './room.ts';
import { testConfig } from '../../environment.ts';

const LEASE_MS = 10_000;
/** For tests that wait for a renewal. */
const RENEWAL_MS = 100;

/** The process that stays. */
const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location }));

/** The presence of another process on the same Redis. It renews its leases as often as a service does, or every `renewalMs`. */
function otherProcess(renewalMs?: number) {
  const { redis } = service.service;
  const connection: ScriptConnection = { call: (command, words) => redis.call(command, ...words) };
  const scripts = new DyingScripts(connection, service.now);
  const subscriber = new EventEmitter() as unknown as Subscriber;
  const log = pino({ level: 'silent' });
  const { now } = service;
  const listWriter = { changed: ignore };
  const presence = new Presence({ subscriber, scripts, config: testConfig(), log, now, listWriter, ...(renewalMs && { renewalMs }) });
  return { presence, scripts, subscriber, [Symbol.asyncDispose]: () => presence.close() };
}

type Step = (script: string, event: string | undefined) => unknown;

/** Does something before or after each call of a script. */
function interrupt({ scripts }: ReturnType<typeof otherProcess>, { before, after }: { before?: Step; after?: Step }): void {
  const { run } = scripts;
  scripts.run = async (script, keys, args, prologue) => {
    const { event } = args as { event?: string };
    await before?.(script.name, event);
    const answer = await run.call(scripts, script, keys as never, args as never, prologue);
    await after?.(script.name, event);
    return answer as never;
  };
}

/** Marks an account as moved into another one. */
const move = (installId: string): Promise<unknown> => service.service.redis.set(standingKey(accountIdOf(installId)), '>some-account');

const caller = (installId: string) => callerFrom({ address: '127.0.0.1' }, accountIdOf(installId), undefined, undefined);
const ignore = (): void => {};
const isConnected = async (room: TestRoom): Promise<boolean[]> =>
  (await room.read()).players.map(({ connected }: { connected: boolean }) => connected);
const hasLeases = async (room: TestRoom): Promise<boolean> => (await service.service.redis.exists(roomKeys.leases(room.code))) === 1;

/** The actions of a connection, with the room and the installId of its player. */
const lives: Record<string, (presence: Presence, room: TestRoom) => Promise<unknown>> = {
  'a hello': (presence, { code, host }) => presence.hello(code, caller(host), 'c1', ignore),
  'a hello and a bye': async (presence, { code, host }) => {
    await presence.hello(code, caller(host), 'c1', ignore);
    await presence.bye(code, accountIdOf(host), 'c1');
  },
  'a hello of another player while the host is away': async (presence, room) => {
    const guest = await room.join();
    await presence.hello(room.code, caller(room.host), 'c1', ignore);
    await presence.hello(room.code, caller(guest), 'c2', ignore);
    await presence.bye(room.code, accountIdOf(room.host), 'c1');
    await presence.hello(room.code, caller(guest), 'c3', ignore);
  },
};

test.each(Object.entries(lives))('a process that dies at any step of %s leaves no player connected for ever', async (_, live) => {
  const alive = otherProcess();
  await live(alive.presence, await open(service));
  const { length: steps } = alive.scripts.calls.filter((name) => !name.startsWith('redis/lease'));
  // The renewals of this process would keep the room in the queue.
  await alive.presence.close();
  const rooms: TestRoom[] = [];
  for (let step = 1; step <= steps + 1; step++) {
    for (const losesAnswer of [false, true]) {
      const room = await open(service);
      rooms.push(room);
      await using doomed = otherProcess();
      doomed.scripts.dieBefore(step, losesAnswer);
      await live(doomed.presence, room).catch(ignore);
      // The audit knows which rooms the queue must hold.
      await expect.poll(async () => (await audited(own.location)).findings).toEqual([]);
    }
  }
  service.advance(LEASE_MS);
  for (const room of rooms) {
    await expect.poll(() => hasLeases(room)).toBe(false);
    expect(await isConnected(room)).not.toContain(true);
  }
  service.advance(30_000);
  await expect.poll(() => service.service.redis.exists(roomKeys.due)).toBe(0);
});

test('a check by the queue between the writing ahead and the hello does not lose the room', async () => {
  const room = await open(service);
  await using other = otherProcess();
  const { redis } = service.service;
  // The room is due now because a lease has ended.
  await redis.zadd(roomKeys.due, service.now(), room.code);
  let isLookedAt = false;
  interrupt(other, {
    async before(script) {
      if (script !== 'rooms/presence' || isLookedAt) return;
      await expect.poll(() => redis.zscore(roomKeys.due, room.code)).toBe(null);
      isLookedAt = true;
    },
  });
  await other.presence.hello(room.code, caller(room.host), 'c1', ignore);
  expect(isLookedAt).toBe(true);
  await other.presence.close();
  service.advance(LEASE_MS);
  await expect.poll(() => hasLeases(room)).toBe(false);
  expect(await isConnected(room)).toEqual([false]);
});

test('a renewal after the lease has ended puts the room into the queue again, before it grants a lease', async () => {
  const room = await open(service);
  await using other = otherProcess(RENEWAL_MS);
  let isCutOff = true;
  interrupt(other, {
    before(_, event) {
      if (isCutOff && event === 'renew') throw new Error('cut off');
    },
  });
  await other.presence.hello(room.code, caller(room.host), 'c1', ignore);
  service.advance(LEASE_MS);
  await expect.poll(() => hasLeases(room)).toBe(false);
  service.advance(30_000);
  await expect.poll(() => service.service.redis.exists(roomKeys.due)).toBe(0);
  isCutOff = false;
  await expect.poll(() => hasLeases(room)).toBe(true);
  expect(await isConnected(room)).toEqual([true]);
  await other.presence.close();
  expect((await audited(own.location)).findings).toEqual([]);
  service.advance(LEASE_MS);
  await expect.poll(() => hasLeases(room)).toBe(false);
});

test('a renewal ends the leases of an account that moved, and renews the others', async () => {
  const room = await open(service);
  const guest = await room.join();
  await using other = otherProcess(RENEWAL_MS);
  const lost: string[] = [];
  await other.presence.hello(room.code, caller(room.host), 'c1', () => lost.push('host'));
  await other.presence.hello(room.code, caller(guest), 'c2', () => lost.push('guest'));
  // No message about the move arrives, as while the subscriber is disconnected.
  await move(guest);
  await expect.poll(() => lost).toEqual(['guest']);
  await expect.poll(() => isConnected(room)).toEqual([true, false]);
  expect(await service.service.redis.zrange(roomKeys.leases(room.code), '0', '-1')).toEqual([`${accountIdOf(room.host)}:c1`]);
});

test('a move that is published during a hello refuses the hello', async () => {
  const room = await open(service);
  await using other = otherProcess();
  interrupt(other, {
    async after(_, event) {
      if (event !== 'hello') return;
      await move(room.host);
      other.subscriber.emit('message', 'standings', accountIdOf(room.host));
    },
  });
  await expect(other.presence.hello(room.code, caller(room.host), 'c1', ignore)).rejects.toMatchObject({ code: 'sign_in_required' });
  expect([await hasLeases(room), await isConnected(room)]).toEqual([false, [false]]);
});

test('a connection that ends during a renewal gets no lease again', async () => {
  const room = await open(service);
  await using other = otherProcess(RENEWAL_MS);
  let ended: Promise<void> | undefined;
  interrupt(other, {
    async after(script) {
      if (script === 'accounts/check-caller') await (ended ??= other.presence.bye(room.code, accountIdOf(room.host), 'c1'));
    },
  });
  await other.presence.hello(room.code, caller(room.host), 'c1', ignore);
  await expect.poll(() => ended !== undefined).toBe(true);
  await ended;
  expect(await hasLeases(room)).toBe(false);
  other.subscriber.emit('message', 'standings', accountIdOf(room.host));
  expect(await isConnected(room)).toEqual([false]);
});

test('an account that cannot be read keeps its lease', async () => {
  const room = await open(service);
  await using other = otherProcess(RENEWAL_MS);
  let looks = 0;
  interrupt(other, {
    before(script) {
      if (script === 'accounts/check-caller' && ++looks > 0) throw new Error('its primary is away');
    },
  });
  await other.presence.hello(room.code, caller(room.host), 'c1', ignore);
  const leaseEnd = async (): Promise<number> =>
    Number((await service.service.redis.zrange(roomKeys.leases(room.code), '0', '0', 'WITHSCORES'))[1]);
  const first = await leaseEnd();
  await expect.poll(leaseEnd).toBeGreaterThan(first);
  expect(looks).toBeGreaterThan(0);
});
