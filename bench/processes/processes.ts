import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { diesWithParent } from '../../src/process/redis-server.ts';
import { auditData } from '../data-audit.ts';
import { Api } from '../load/api.ts';
import { everyRequest } from '../load/every-request.ts';
import { newKeyPrefix, type AroundLoad, type LoadNews, type LoadOrder, type LoadOutcome } from '../load/order.ts';
import { isWrkInstalled, loadByWrk, type WrkOutcome } from '../load/wrk.ts';
import { measuredAtUrl, measuredProcess, type Measured } from '../measure/measured.ts';
import type { Bench, OwnRedis, PeerOptions, RunSettings, ServiceNeeds } from '../scenario.ts';
import { startEngine, type RunningEngine } from './engines.ts';
import { familyOf } from './family.ts';
import { startChild, stopProcess, type Child, type ChildOptions } from './child.ts';

/** The checkout that contains this file. */
const OWN_CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));

/** Requests of each kind that a server gets before it is measured. */
const REQUESTS_OF_EACH_KIND = 1000;
const QUICK_REQUESTS_OF_EACH_KIND = 5;

const silent = pino({ level: 'silent' });

export interface ServiceOptions {
  readonly checkout?: string;
  /** Prefix of the service's command. */
  readonly commandPrefix?: readonly string[];
  readonly settings?: Record<string, string>;
  /** Takes the place of the private Redis. */
  readonly engine?: RunningEngine;
}

export interface ProcessListeners {
  doing(what: string): void;
  /** Called once a second during a watched load. */
  news?(news: LoadNews): void;
}

/** Starts all processes of a run. `close` ends them and removes their data. */
export class Processes implements Bench {
  readonly settings: RunSettings;
  readonly signal: AbortSignal;
  readonly hasWrk: boolean;
  readonly #listeners: ProcessListeners;
  readonly #folder = mkdtempSync(join(tmpdir(), 'coinop-bench-'));
  readonly #endings: (() => Promise<void>)[] = [];
  readonly #shared = new Map<string, Promise<Measured>>();
  /** Data folders of the own services that run. */
  readonly #dataDirs = new Set<string>();
  #loader: Promise<Child> | undefined;
  #folders = 0;
  #closed = false;

  constructor(settings: RunSettings, signal: AbortSignal, listeners: ProcessListeners) {
    this.settings = settings;
    this.signal = signal;
    this.hasWrk = settings.url === undefined && isWrkInstalled();
    this.#listeners = listeners;
  }

  doing(what: string): void {
    this.#listeners.doing(what);
  }

  service({ fresh = false, settings = {}, engine }: ServiceNeeds = {}): Promise<Measured> {
    const { url } = this.settings;
    if (url !== undefined) return Promise.resolve(measuredAtUrl(url));
    if (engine !== undefined) {
      const start = (): Promise<Measured> => this.#startOn(engine, settings);
      return fresh ? start() : this.#once(JSON.stringify({ engine, settings }), async () => this.warmedUp(await start()));
    }
    if (fresh || Object.keys(settings).length > 0) return this.startService({ settings });
    return this.#once('coinop', async () => this.warmedUp(await this.startService()));
  }

  peer(module: URL, { redis = false, fresh = false, hasRoutes = false, settings = {} }: PeerOptions = {}): Promise<Measured> {
    const started = async (): Promise<Measured> => {
      const peer = await this.#startPeer(module, redis, settings);
      return hasRoutes ? this.warmedUp(peer) : peer;
    };
    return fresh ? started() : this.#once(`${module.href} ${JSON.stringify(settings)}`, started);
  }

  async child(module: URL, options?: ChildOptions): Promise<Child> {
    this.#mayStart();
    const child = await startChild(module, options);
    const stop = this.#ending(() => child.stop());
    // `close` ran while the child was starting, so it did not end this child.
    if (this.#closed) await stop();
    return { ...child, stop };
  }

  async load(order: LoadOrder, around?: AroundLoad): Promise<LoadOutcome> {
    this.signal.throwIfAborted();
    const onNews = (news: unknown): void => this.#listeners.news?.(news as LoadNews);
    this.#loader ??= this.child(new URL('../load/http-load.ts', import.meta.url), { onNews });
    const loader = await this.#loader;
    await loader.ask('open', order);
    await around?.begin();
    const outcome = await loader.ask<LoadOutcome>('run');
    await around?.end();
    await loader.ask('close');
    return outcome;
  }

  wrk(order: LoadOrder): Promise<WrkOutcome> {
    this.signal.throwIfAborted();
    return loadByWrk(order, this.signal);
  }

  /** Sends a server every kind of request (see every-request.ts), so that it is measured with code compiled for all of them. */
  async warmedUp(server: Measured): Promise<Measured> {
    const { quick, connections } = this.settings;
    const api = new Api(server.url);
    try {
      const run = crypto.randomUUID();
      const installIds = Array.from({ length: 64 }, (_, index) => `bench-first-${run}-${index}`);
      const callers = await api.signIn(installIds).catch(() => installIds.map((installId) => ({ installId, cookie: 'none=none' })));
      const each = quick ? QUICK_REQUESTS_OF_EACH_KIND : REQUESTS_OF_EACH_KIND;
      await this.load(everyRequest({ url: server.url, connections, keyPrefix: newKeyPrefix(), callers, each }));
      return server;
    } finally {
      api.close();
    }
  }

  /**
   * Audits all data of the services that still run.
   * @returns the drift, a sentence for each finding
   */
  async auditData(): Promise<string[]> {
    const findings: string[] = [];
    for (const dataDir of this.#dataDirs) findings.push(...(await auditData(dataDir, this.signal)));
    return findings;
  }

  async close(): Promise<void> {
    this.#closed = true;
    // Waits for servers that are still starting, because they add their endings to the list only then.
    await Promise.allSettled(this.#shared.values());
    await Promise.all(this.#endings.map((end) => end().catch((error: Error) => console.error(`bench: ${error.message}`))));
    // Redis may write a file while the folder is removed, when the run was interrupted.
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  #mayStart(): void {
    if (this.#closed || this.signal.aborted) throw new Error('the run is ending');
  }

  #once(name: string, start: () => Promise<Measured>): Promise<Measured> {
    let started = this.#shared.get(name);
    if (started === undefined) this.#shared.set(name, (started = start()));
    return started;
  }

  /** Adds an ending to the list of `close`. The returned function and `close` together run it only once. */
  #ending(end: () => Promise<void>): () => Promise<void> {
    let ended: Promise<void> | undefined;
    const once = (): Promise<void> => (ended ??= end());
    this.#endings.push(once);
    return once;
  }

  async #startOn(wanted: NonNullable<ServiceNeeds['engine']>, settings: Record<string, string>): Promise<Measured> {
    this.#mayStart();
    const engine = await startEngine(wanted, this.#newFolder());
    let service: Measured | undefined;
    const stop = this.#ending(async () => {
      // First the service, which drains.
      await service?.stop();
      await engine.stop();
    });
    if (wanted.replicas > 0) settings = { REDIS_WAIT_REPLICAS: '1', ...settings };
    service = await this.startService({ engine, settings });
    return { ...service, stop };
  }

  /**
   * Starts the service as its users do, with a private Redis. The service of another `checkout` has no `redis` connection,
   * because the bench does not know the path of its socket.
   */
  async startService({ checkout, commandPrefix = [], settings = {}, engine }: ServiceOptions = {}): Promise<Measured> {
    this.#mayStart();
    const dataDir = this.#newFolder();
    const { PATH = '' } = process.env;
    const command = [...commandPrefix, ...diesWithParent(), process.execPath, join(checkout ?? OWN_CHECKOUT, 'src/main.ts')];
    const child = spawn(command[0]!, command.slice(1), {
      env: {
        PATH,
        PORT: '0',
        RATE_LIMIT: 'off',
        LOG_LEVEL: 'warn',
        SOCKETS_PER_ADDRESS: '100000',
        WATCHERS_PER_ROOM: '100000',
        CHANNELS_PER_SECOND: '100000',
        DATA_DIR: dataDir,
        ...(engine === undefined ? {} : { REDIS_URL: engine.url }),
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // In its own process group, so that a Ctrl-C reaches the bench alone.
      detached: true,
    });
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const endProcess = this.#ending(() => stopProcess(child, exited));
    let output = '';
    const url = await new Promise<string>((resolve, reject) => {
      for (const stream of [child.stdout!, child.stderr!]) {
        stream.on('data', (text: Buffer) => {
          output = (output + text.toString()).slice(-10_000);
          // A checkout of an older version has nothing after the address.
          const line = /^coinop listening on (\S+)(?: .*)?$/m.exec(output);
          if (line !== null) resolve(line[1]!);
        });
      }
      void exited.then(() => reject(new Error(`the service did not start: ${output}`)));
    });
    const isPrivate = checkout === undefined && engine === undefined;
    const redis = isPrivate ? this.#connect(new PrivateRedis(dataDir, silent).socketPath) : engine?.redis;
    const workers = Number(settings['WORKERS'] ?? 1) > 1 ? familyOf(child.pid!).slice(1) : [];
    if (isPrivate) this.#dataDirs.add(dataDir);
    const stop = async (): Promise<void> => {
      this.#dataDirs.delete(dataDir);
      redis?.disconnect();
      await endProcess();
    };
    return measuredProcess(url, [child.pid!, ...workers], redis, stop, engine && { ...engine, countsBatches: true });
  }

  async #startPeer(module: URL, withRedis: boolean, settings: Record<string, string>): Promise<Measured> {
    this.#mayStart();
    const ownRedis = withRedis ? await this.redis() : undefined;
    const child = await this.child(module, {
      env: { ...settings, ...(ownRedis === undefined ? {} : { REDIS_SOCKET: ownRedis.socketPath }) },
    });
    return measuredProcess(`http://127.0.0.1:${Number(child.ready['port'])}`, [child.pid], ownRedis?.redis, async () => {
      await child.stop();
      await ownRedis?.stop();
    });
  }

  /** Starts a Redis with the code that starts the service's private Redis, so that both have the same settings. */
  async redis(): Promise<OwnRedis> {
    this.#mayStart();
    const server = new PrivateRedis(this.#newFolder(), silent);
    const endServer = this.#ending(() => server.stop());
    await server.start();
    const redis = this.#connect(server.socketPath);
    return {
      redis,
      socketPath: server.socketPath,
      stop: async () => {
        redis.disconnect();
        await endServer();
      },
    };
  }

  #connect(socketPath: string): Redis {
    const redis = new Redis({ path: socketPath });
    redis.on('error', () => {});
    this.#ending(async () => redis.disconnect());
    return redis;
  }

  #newFolder(): string {
    return join(this.#folder, String(++this.#folders));
  }
}
