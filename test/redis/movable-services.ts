import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test, vi, type ExpectStatic } from 'vitest';
import { DataIdFile } from '../../src/process/data-id-file.ts';
import { acceptData, anyIdIn, DATA_ID_KEY, dataIdValue, readId, successorOf } from '../../src/redis/data/data-id.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { freshId, start, type StartOptions, type TestReply, type TestService } from '../harness.ts';
import { MovableRedis } from './movable-redis.ts';
import { PATIENT } from '../patience.ts';

export const credit = (to: TestService, installId: string, key: string): Promise<TestReply> =>
  to.post('/v1/coins/credit', { installId, coins: 1, key });

export const readiness = async (service: TestService): Promise<number> => (await service.get('/ready')).status;

/** Why a service is not ready. */
export const reasonOf = async (service: TestService): Promise<string> => (await service.get('/ready')).body.error?.message ?? '';

export const untilReady = (service: TestService) => untilHolds(async () => expect(await readiness(service)).toBe(200));

/** As `expect.poll`, for functions of tests that run at the same time: only the `expect` of a test's context polls there. */
export const untilHolds = (assertion: () => void | Promise<void>): Promise<void> => vi.waitFor(assertion, PATIENT);

/** The lines of a log that tell of lost data. */
export const fatalIn = (logLines: readonly string[]) =>
  logLines.map((line) => JSON.parse(line) as { level: number; msg: string; acceptData: string }).filter(({ level }) => level === 60);

/** Services on one Redis, whose data a test can replace, and the folder in which the services keep the id of the data. */
export class MovableServices implements AsyncDisposable {
  readonly redis: MovableRedis;
  readonly folder = mkdtempSync(join(tmpdir(), 'coinop-lost-'));
  readonly services: TestService[] = [];
  logLines: string[] = [];

  static async open(): Promise<MovableServices> {
    return new MovableServices(await MovableRedis.start());
  }

  private constructor(redis: MovableRedis) {
    this.redis = redis;
  }

  async serve(options: StartOptions = {}): Promise<TestService> {
    const service = await start({ redis: this.redis.location, logLines: this.logLines, ...options });
    this.services.push(service);
    return service;
  }

  async stop(...services: TestService[]): Promise<void> {
    for (const service of services) {
      this.services.splice(this.services.indexOf(service), 1);
      await service[Symbol.asyncDispose]();
    }
  }

  stopAll(): Promise<void> {
    return this.stop(...this.services);
  }

  /** The memory of a service with this DATA_DIR. */
  memory(name = 'own'): DataIdFile {
    return new DataIdFile(join(this.folder, name), pino({ level: 'silent' }));
  }

  fatal(): ReturnType<typeof fatalIn> {
    return fatalIn(this.logLines);
  }

  async idText(): Promise<string> {
    return (await this.redis.client.get(DATA_ID_KEY))!;
  }

  /** The id and the heartbeat in Redis. */
  async dataId(): Promise<{ id: string; heartbeat: number }> {
    const [id, heartbeat] = (await this.idText()).split(' ');
    return { id: id!, heartbeat: Number(heartbeat) };
  }

  /** As if the data in Redis had been served for longer. */
  async serveLonger(milliseconds: number): Promise<number> {
    const { id, heartbeat } = await this.dataId();
    await this.redis.client.set(DATA_ID_KEY, dataIdValue(id, heartbeat + milliseconds, Date.now(), 0));
    return heartbeat + milliseconds;
  }

  /** Waits until the service has seen the data of now. Each of its beats reads the id of the data, and then advances the heartbeat. */
  async seen(): Promise<void> {
    for (let beat = 0; beat < 2; beat++) {
      const { heartbeat } = await this.dataId();
      await expect.poll(async () => (await this.dataId()).heartbeat).toBeGreaterThan(heartbeat);
    }
  }

  /** Does the same as an operator with `npm run admin -- data accept`. */
  async accept(to?: string): Promise<string> {
    const seen = anyIdIn(await readId(this.redis.client)) ?? '';
    const id = to ?? successorOf(seen === '' ? 'data that nobody names' : seen);
    const scripts = new ScriptRunner(this.redis.client, { now: Date.now });
    expect(await scripts.run(acceptData, { id: DATA_ID_KEY }, { seen, to: id })).toEqual(['accepted']);
    return id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopAll();
    await this.redis[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What a test of `testsOnMovableRedis` has to itself. */
export interface OnMovableRedis {
  readonly place: MovableServices;
  readonly redis: MovableRedis;
  readonly installId: string;
  readonly expect: ExpectStatic;
}

/**
 * Makes tests that each have a Redis of their own. They run at the same time, because they mostly wait for the next check of the data.
 * @param more functions that the tests use
 */
export function testsOnMovableRedis<More>(more: (place: MovableServices, installId: string) => More) {
  return (title: string, body: (at: OnMovableRedis & More) => Promise<void>): void =>
    test.concurrent(title, async ({ expect: own }) => {
      await using place = await MovableServices.open();
      const installId = freshId();
      await body({ ...more(place, installId), place, redis: place.redis, installId, expect: own });
    });
}
