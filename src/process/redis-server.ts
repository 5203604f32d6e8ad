import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { SettingError } from '../config.ts';

export interface RedisServerOptions {
  /** The folder of the data. It is created if it does not exist. */
  readonly folder: string;
  /** The path of the Unix socket on which Redis listens. It also listens on the ports that `settings` name. */
  readonly socketPath: string;
  /** Arguments for redis-server's command line, such as `'--port', '0'`. If an option comes twice, the last value applies. */
  readonly settings: readonly string[];
  /** The password that `settings` set. Undefined: none. */
  readonly password?: string | undefined;
  /** Called with the text that Redis writes to stderr. */
  readonly complained: (text: string) => void;
  /** Called with the text that Redis writes to stdout, which is its log if `settings` name no file. Left out: the log is dropped. */
  readonly said?: (text: string) => void;
  /**
   * The message for the operator if the redis-server at the path `server` does not start.
   * @param isRunning true if it runs but does not answer
   */
  readonly adviceFor: (server: string, isRunning: boolean) => string;
}

/**
 * A redis-server that belongs to this process. It listens on a Unix socket that only this user can open. It ends with this process, even
 * after SIGKILL, on machines with setpriv of util-linux.
 */
export class RedisServer {
  readonly socketPath: string;
  readonly #options: RedisServerOptions;
  #child: ChildProcess | undefined;
  #isStopping = false;

  constructor(options: RedisServerOptions) {
    this.#options = options;
    this.socketPath = options.socketPath;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Resolves once redis-server answers PING.
   * @param ended called when redis-server ends, unless `stop` ended it
   * @throws SettingError without Redis 7.0 or newer on this machine, or when redis-server does not answer within 60 s
   */
  async start(ended: (code: number | null, signal: NodeJS.Signals | null) => void = () => {}): Promise<void> {
    const { folder, settings, complained, said, adviceFor } = this.#options;
    const server = redisServerPath();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const place = ['--unixsocket', this.socketPath, '--unixsocketperm', '700', '--dir', folder, '--daemonize', 'no'];
    const command = [...diesWithParent(), server, ...place, ...settings];
    // detached: Redis gets its own process group, so that Ctrl-C signals only this process. This process drains before it stops Redis.
    const child = spawn(command[0]!, command.slice(1), {
      stdio: ['ignore', said === undefined ? 'ignore' : 'pipe', 'pipe'],
      detached: true,
    });
    this.#isStopping = false;
    this.#child = child;
    child.stderr!.on('data', (text: Buffer) => complained(text.toString().trim()));
    if (said !== undefined) child.stdout!.on('data', (text: Buffer) => said(text.toString()));
    child.once('error', (error) => complained(error.message));
    const isClosed = new Promise((resolve) => child.once('close', resolve));
    /**
     * Resolves when all output of Redis was read, which may be after its exit. Also resolves after LAST_WORDS_MS, because a fork of Redis
     * may keep the pipe open.
     */
    const isRead = (): Promise<unknown> => Promise.race([isClosed, pause(LAST_WORDS_MS)]);
    child.once('exit', (code, signal) => {
      if (!this.#isStopping) void isRead().then(() => ended(code, signal));
    });
    if (await this.#isReady()) return;
    if (!this.isRunning) await isRead();
    throw new SettingError(adviceFor(server, this.isRunning));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  }

  /** Sends a signal to Redis. After SIGKILL resolves when Redis has ended, after other signals at once. */
  async signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill(name);
    if (name === 'SIGKILL') await exited;
  }

  /**
   * Stops a Redis that an earlier run has left listening on the socket. A process that was killed with SIGKILL may leave its Redis running,
   * and two Redis servers must not write to one data folder.
   * @returns whether a Redis was running
   */
  async stopOrphan(): Promise<boolean> {
    if (!existsSync(this.socketPath) || !(await this.#ask('SHUTDOWN'))) return false;
    while (await this.#ask('PING')) await new Promise((resolve) => setTimeout(resolve, 15));
    return true;
  }

  /** Makes a connection to the socket. Commands on it fail at once if Redis does not answer. */
  connection(): Redis {
    const redis = new Redis({
      path: this.socketPath,
      password: this.#options.password,
      lazyConnect: true,
      retryStrategy: null,
      maxRetriesPerRequest: 0,
      connectTimeout: 1000,
      commandTimeout: 5000,
    });
    redis.on('error', () => {});
    return redis;
  }

  /** Waits until Redis answers. @returns false if Redis ends first, or does not answer in time */
  async #isReady(): Promise<boolean> {
    const giveUpAt = performance.now() + START_TIMEOUT_MS;
    while (performance.now() < giveUpAt) {
      if (await this.#ask('PING')) return true;
      if (this.#isStopping || !this.isRunning) break;
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    return false;
  }

  /** Sends a command on a new connection. @returns whether a Redis answered */
  async #ask(command: 'PING' | 'SHUTDOWN'): Promise<boolean> {
    const redis = this.connection();
    try {
      await redis.connect();
      await redis.call(command).catch((error: unknown) => {
        // Redis closes the connection as its answer to SHUTDOWN, so the closing is not a failure.
        if (command !== 'SHUTDOWN') throw error;
      });
      return true;
    } catch {
      return false;
    } finally {
      redis.disconnect();
    }
  }
}

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 8000;
const LAST_WORDS_MS = 200;

/**
 * The path of the Unix socket for the Redis of a folder: `redis.sock` in the folder. Linux limits the path to 107 bytes. If that path would
 * be too long, the socket is in the system's temporary folder.
 */
export function socketPathFor(folder: string): string {
  const inside = join(folder, 'redis.sock');
  if (Buffer.byteLength(inside) <= 100) return inside;
  const elsewhere = join(tmpdir(), `coinop-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`);
  mkdirSync(elsewhere, { recursive: true, mode: 0o700 });
  return join(elsewhere, 'redis.sock');
}

/** The path of the Redis that `scripts/redis.mjs` unpacks from Debian's package on a machine without Redis. */
const UNPACKED = fileURLToPath(new URL('../../.cache/redis/redis-server', import.meta.url));

/** The path of the Redis that was found for each value of PATH. So a process that starts several servers asks for the version only once. */
const found = new Map<string, string>();

/** The path of a redis-server. @throws SettingError that names the package to install, if no Redis 7.0 or newer is found */
export function redisServerPath(): string {
  const searched = process.env['PATH'] ?? '';
  const known = found.get(searched) ?? findRedis();
  found.set(searched, known);
  return known;
}

function findRedis(): string {
  const complaints: string[] = [];
  for (const place of [onPath('redis-server'), onPath('valkey-server'), existsSync(UNPACKED) ? UNPACKED : undefined]) {
    if (place === undefined) continue;
    const { stdout, stderr, error } = spawnSync(place, ['--version'], { encoding: 'utf8' });
    const version = /\bv=(\d+)\S*/.exec(stdout ?? '');
    if (Number(version?.[1]) >= 7) return place;
    // If the program does not run, the loader writes the reason to stderr: a library is missing or too old.
    complaints.push(` ${place}: ${version?.[0] ?? error?.message ?? stderr.trim().split('\n')[0]}.`);
  }
  throw new SettingError(`coinop needs Redis 7.0 or newer: apt-get install redis-server, or set REDIS_URL.${complaints.join('')}`);
}

/**
 * The path of redis-check-aof of this machine, or of the unpacked Redis together with the variable that names the folders of its libraries.
 * Undefined: there is none.
 */
export function aofChecker(): { readonly path: string; readonly env: Readonly<Record<string, string>> } | undefined {
  const installed = onPath('redis-check-aof') ?? onPath('valkey-check-aof');
  if (installed !== undefined) return { path: installed, env: {} };
  const root = join(dirname(UNPACKED), 'root');
  const path = join(root, 'usr/bin/redis-check-aof');
  const libraries = ['usr/lib/x86_64-linux-gnu', 'lib/x86_64-linux-gnu'].map((folder) => join(root, folder));
  return isExecutable(path) ? { path, env: { LD_LIBRARY_PATH: libraries.join(':') } } : undefined;
}

/**
 * The beginning of a command line that makes the kernel send SIGTERM to Redis when this process dies, even after SIGKILL. It uses setpriv
 * of util-linux.
 */
export function diesWithParent(): string[] {
  const setpriv = onPath('setpriv');
  return setpriv === undefined ? [] : [setpriv, '--pdeathsig', 'TERM'];
}

function onPath(program: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
