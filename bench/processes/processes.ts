import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { diesWithParent, PrivateRedis } from '../../src/process/private-redis.ts';
import { Api } from '../load/api.ts';
import { everyRequest } from '../load/every-request.ts';
import { newKeyPrefix, type AroundLoad, type LoadNews, type LoadOrder, type LoadOutcome } from '../load/order.ts';
import { isWrkInstalled, loadByWrk, type WrkOutcome } from '../load/wrk.ts';
import { measuredElsewhere, measuredProcess, type Measured } from '../measure/measured.ts';
import type { Bench, OwnRedis, PeerOptions, RunSettings } from '../scenario.ts';
import { startChild, stopProcess, type Child, type ChildOptions } from './child.ts';

/** The checkout that this is a file of. */
const OWN_CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));

/** How often a server is sent every request before it is measured. */
const REQUESTS_OF_EACH_KIND = 1000;
const QUICK_REQUESTS_OF_EACH_KIND = 5;

const silent = pino({ level: 'silent' });

export interface ServiceOptions {
  readonly checkout?: string;
  /** Put before its command. */
  readonly before?: readonly string[];
  readonly settings?: Record<string, string>;
}

export interface ProcessesTold {
  doing(what: string): void;
  /** Once a second of a load that is watched. */
  news?(news: LoadNews): void;
}

/** All processes of a run. Whatever was started here is ended by `close`, and its folder removed. */
export class Processes implements Bench {
  readonly settings: RunSettings;
  readonly signal: AbortSignal;
  readonly hasWrk: boolean;
  readonly #told: ProcessesTold;
  readonly #folder = mkdtempSync(join(tmpdir(), 'coinop-bench-'));
  readonly #endings: (() => Promise<void>)[] = [];
  readonly #shared = new Map<string, Promise<Measured>>();
  #loader: Promise<Child> | undefined;
  #folders = 0;
  #closed = false;

  constructor(settings: RunSettings, signal: AbortSignal, told: ProcessesTold) {
    this.settings = settings;
    this.signal = signal;
    this.hasWrk = settings.url === undefined && isWrkInstalled();
    this.#told = told;
  }

  doing(what: string): void {
    this.#told.doing(what);
  }

  service({ fresh = false, settings = {} }: { fresh?: boolean; settings?: Record<string, string> } = {}): Promise<Measured> {
    const { url } = this.settings;
    if (url !== undefined) return Promise.resolve(measuredElsewhere(url));
    if (fresh || Object.keys(settings).length > 0) return this.startService({ settings });
    return this.#once('coinop', async () => this.seasoned(await this.startService()));
  }

  peer(module: URL, { redis = false, fresh = false, hasRoutes = false, settings = {} }: PeerOptions = {}): Promise<Measured> {
    const started = async (): Promise<Measured> => {
      const peer = await this.#startPeer(module, redis, settings);
      return hasRoutes ? this.seasoned(peer) : peer;
    };
    return fresh ? started() : this.#once(`${module.href} ${JSON.stringify(settings)}`, started);
  }

  async child(module: URL, options?: ChildOptions): Promise<Child> {
    this.#mayStart();
    const child = await startChild(module, options);
    const stop = this.#ending(() => child.stop());
    // The run ended meanwhile, and whoever ends it has been through the list.
    if (this.#closed) await stop();
    return { ...child, stop };
  }

  async load(order: LoadOrder, around?: AroundLoad): Promise<LoadOutcome> {
    this.signal.throwIfAborted();
    const onNews = (news: unknown): void => this.#told.news?.(news as LoadNews);
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

  /** Has a server serve some of every request, so that it is measured as one in use and not as one that knows nothing else. */
  async seasoned(server: Measured): Promise<Measured> {
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

  async close(): Promise<void> {
    this.#closed = true;
    // What is being started at this moment is waited for: it is on the list once it runs.
    await Promise.allSettled(this.#shared.values());
    await Promise.all(this.#endings.map((end) => end().catch((error: Error) => console.error(`bench: ${error.message}`))));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #mayStart(): void {
    if (this.#closed || this.signal.aborted) throw new Error('the run is ending');
  }

  #once(name: string, start: () => Promise<Measured>): Promise<Measured> {
    let started = this.#shared.get(name);
    if (started === undefined) this.#shared.set(name, (started = start()));
    return started;
  }

  /** Puts an ending on the list. It happens once, whoever asks for it. */
  #ending(end: () => Promise<void>): () => Promise<void> {
    let ended: Promise<void> | undefined;
    const once = (): Promise<void> => (ended ??= end());
    this.#endings.push(once);
    return once;
  }

  /** The real one, as its users start it, with a Redis that it starts itself; of a checkout if told so, without a look into its Redis. */
  async startService({ checkout, before = [], settings = {} }: ServiceOptions = {}): Promise<Measured> {
    this.#mayStart();
    const dataDir = this.#newFolder();
    const { PATH = '' } = process.env;
    const command = [...before, ...diesWithParent(), process.execPath, join(checkout ?? OWN_CHECKOUT, 'src/main.ts')];
    const child = spawn(command[0]!, command.slice(1), {
      env: {
        PATH,
        PORT: '0',
        RATE_LIMIT: 'off',
        LOG_LEVEL: 'warn',
        SOCKETS_PER_ADDRESS: '100000',
        WATCHERS_PER_ROOM: '100000',
        DATA_DIR: dataDir,
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // In a group of its own: a Ctrl-C is the bench's to deal with.
      detached: true,
    });
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const endProcess = this.#ending(() => stopProcess(child, exited));
    let output = '';
    const url = await new Promise<string>((resolve, reject) => {
      for (const stream of [child.stdout!, child.stderr!]) {
        stream.on('data', (text: Buffer) => {
          output = (output + text.toString()).slice(-10_000);
          const line = /^coinop listening on (\S+)$/m.exec(output);
          if (line !== null) resolve(line[1]!);
        });
      }
      void exited.then(() => reject(new Error(`the service did not start: ${output}`)));
    });
    // Where another checkout keeps its Redis's socket is its own affair.
    const redis = checkout === undefined ? this.#connect(new PrivateRedis(dataDir, silent).socketPath) : undefined;
    return measuredProcess(url, child.pid!, redis, async () => {
      redis?.disconnect();
      await endProcess();
    });
  }

  async #startPeer(module: URL, withRedis: boolean, settings: Record<string, string>): Promise<Measured> {
    this.#mayStart();
    const ownRedis = withRedis ? await this.redis() : undefined;
    const child = await this.child(module, {
      env: { ...settings, ...(ownRedis === undefined ? {} : { REDIS_SOCKET: ownRedis.socketPath }) },
    });
    return measuredProcess(`http://127.0.0.1:${Number(child.ready['port'])}`, child.pid, ownRedis?.redis, async () => {
      await child.stop();
      await ownRedis?.stop();
    });
  }

  /** Started by the code that starts the service's, so with its settings. */
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
