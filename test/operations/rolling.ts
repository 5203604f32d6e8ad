import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Client } from '../proofs/client.ts';
import { Credits, type Served } from '../proofs/credits.ts';
import { within } from '../proofs/history.ts';
import type { Stand } from '../proofs/proof.ts';
import { WatchedRooms } from '../proofs/watched-rooms.ts';
import { startChild, type Child } from '../realtime/child.ts';
import type { Proxy } from './proxy.ts';

const RESTARTS_OF_EACH = 2;
const WATCHERS = 40;

/** A service process that can be restarted on its port, as a supervisor does. */
export class Instance {
  readonly url: string;
  readonly #settings: Record<string, string>;
  #child: Child | undefined;

  constructor(port: string, settings: Record<string, string>) {
    [this.url, this.#settings] = [`http://127.0.0.1:${port}`, { ...settings, PORT: port }];
  }

  async start(): Promise<void> {
    this.#child = await startChild(this.#settings);
    const isReady = (): Promise<boolean> => fetch(`${this.url}/ready`).then(({ ok }) => ok);
    await within(60_000, () => isReady().catch(() => false));
  }

  /** @returns the exit code */
  async stop(): Promise<number | null> {
    return this.#child!.stop();
  }
}

/** Restarts both services, one after the other, while clients work through the proxy. @param redisSocket of their Redis */
export async function proveRolling(proxy: Proxy, instances: readonly Instance[], redisSocket: string, stand: Stand): Promise<void> {
  const { figures, closing } = stand;
  const [client, redis] = [new Client(() => proxy.url), new Redis({ path: redisSocket })];
  closing.push(() => [client.close(), redis.disconnect()]);
  const served: Served = { client, command: (name, key, ...words) => redis.call(name, key, ...words) };
  const rooms = await WatchedRooms.open({ urls: () => [proxy.url], rooms: 1, watchersPerRoom: WATCHERS, perSecond: 10 });
  const credits = new Credits(stand, served, { accounts: 64, perSecond: 1000, mostWaiting: 64 });
  let isOver = false;
  const working = Promise.all([credits.run(() => isOver), rooms.run(() => isOver)]);
  await pause(2000);
  const startedAt = performance.now();
  for (let restart = 0; restart < RESTARTS_OF_EACH * instances.length; restart++) {
    const instance = instances[restart % instances.length]!;
    figures.exactly('exit code of a restarted service', await instance.stop(), 0);
    await instance.start();
    // The proxy has to find the new process before the other one stops.
    await pause(3000);
  }
  isOver = true;
  await working;
  figures.report('seconds that the restarts took', (performance.now() - startedAt) / 1000);
  const differences = await credits.compare();
  figures.needs('coin operations', credits.done, 2000);
  figures.none(differences);
  figures.none({ 'watchers without the latest state': await rooms.behind('after the restarts', 60_000) });
  const { 'states repeated or older': older } = await rooms.compare();
  figures.exactly('states repeated or older', older!, 0);
}
