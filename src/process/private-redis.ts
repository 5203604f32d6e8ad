import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';

/**
 * A redis-server that belongs to the service. It listens on a Unix socket that only this user can open, keeps its data in
 * `dataDir`, and acknowledges a write once it is on disk. It starts and stops with the service, and is restarted if it dies.
 */
export class PrivateRedis {
  readonly socketPath: string;
  readonly #dataDir: string;
  readonly #log: Logger;
  readonly #moreSettings: readonly string[];
  #server: string | undefined;
  #child: ChildProcess | undefined;
  #stopping = false;
  #restarts = 0;

  /** @param moreSettings further arguments of redis-server's command line; they override the service's own settings */
  constructor(dataDir: string, log: Logger, moreSettings: readonly string[] = []) {
    this.#moreSettings = moreSettings;
    this.#dataDir = join(dataDir, 'redis');
    this.#log = log;
    this.socketPath = socketPathFor(dataDir);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Resolves once redis-server answers PING.
   * @throws SettingError without Redis 7.0 or newer on this machine, or when redis-server does not answer within 60 s
   */
  async start(): Promise<void> {
    this.#server = redisServerPath();
    mkdirSync(this.#dataDir, { recursive: true, mode: 0o700 });
    await this.#stopOrphan();
    this.#spawn();
    await this.#untilReady();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  }

  #spawn(): void {
    const settings = [
      ['port', '0'],
      ['unixsocket', this.socketPath],
      ['unixsocketperm', '700'],
      ['dir', this.#dataDir],
      ['appendonly', 'yes'],
      // Redis answers a write only after fsync: an acknowledged write survives a crash and a power cut.
      ['appendfsync', 'always'],
      ['no-appendfsync-on-rewrite', 'no'],
      ['save', ''],
      ['maxmemory-policy', 'noeviction'],
      ['daemonize', 'no'],
      ['loglevel', 'warning'],
    ].flatMap(([name, value]) => [`--${name}`, value!]);
    const command = [...diesWithParent(), this.#server!, ...settings, ...this.#moreSettings];
    // detached: a process group of its own. Ctrl-C then signals the service alone, which drains before it stops Redis.
    const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    this.#child = child;
    child.stderr?.on('data', (text: Buffer) => this.#log.warn({ redis: text.toString().trim() }, 'private redis wrote to stderr'));
    child.once('error', (error) => this.#log.error({ reason: error.message }, 'private redis cannot be started'));
    child.once('exit', (code, signal) => {
      if (this.#stopping) return;
      const delayMs = Math.min(50 * 2 ** this.#restarts++, 5000);
      this.#log.error({ code, signal, delayMs }, 'private redis ended, starting it again');
      setTimeout(() => {
        if (this.#stopping) return;
        this.#spawn();
        this.#untilReady().then(
          () => (this.#restarts = 0),
          () => {},
        );
      }, delayMs);
    });
  }

  async #untilReady(): Promise<void> {
    const giveUpAt = Date.now() + START_TIMEOUT_MS;
    while (Date.now() < giveUpAt) {
      if (await this.#ask('PING')) return;
      if (this.#stopping || (this.#child?.exitCode ?? null) !== null) break;
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    throw new SettingError(
      `The private redis-server in ${this.#dataDir} does not start. To see why, run "${this.#server} --dir ${this.#dataDir}".`,
    );
  }

  /** A service that was killed with SIGKILL may leave its Redis running. Two Redis servers must not write to one data folder. */
  async #stopOrphan(): Promise<void> {
    if (!existsSync(this.socketPath) || !(await this.#ask('SHUTDOWN'))) return;
    this.#log.warn('stopped the private redis of an earlier run');
    while (await this.#ask('PING')) await new Promise((resolve) => setTimeout(resolve, 15));
  }

  /** Whether a Redis on the socket answered. */
  async #ask(command: 'PING' | 'SHUTDOWN'): Promise<boolean> {
    const redis = new Redis({
      path: this.socketPath,
      lazyConnect: true,
      retryStrategy: null,
      maxRetriesPerRequest: 0,
      connectTimeout: 1000,
      commandTimeout: 5000,
    });
    redis.on('error', () => {});
    try {
      await redis.connect();
      await redis.call(command).catch((error: unknown) => {
        // Redis answers SHUTDOWN by closing the connection.
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

/** Linux limits a Unix socket's path to 107 bytes. For a longer DATA_DIR the socket goes into the system's temporary folder. */
function socketPathFor(dataDir: string): string {
  const inside = join(dataDir, 'redis.sock');
  if (Buffer.byteLength(inside) <= 100) return inside;
  const folder = join(tmpdir(), `coinop-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return join(folder, 'redis.sock');
}

/** Path of the Redis that `scripts/redis.mjs` unpacks from Debian's package on a machine without Redis. */
const UNPACKED = fileURLToPath(new URL('../../.cache/redis/redis-server', import.meta.url));

/** @throws SettingError that names the package to install, when no Redis 7.0 or newer is found */
export function redisServerPath(): string {
  const complaints: string[] = [];
  for (const place of [onPath('redis-server'), onPath('valkey-server'), existsSync(UNPACKED) ? UNPACKED : undefined]) {
    if (place === undefined) continue;
    const { stdout, stderr, error } = spawnSync(place, ['--version'], { encoding: 'utf8' });
    const version = /\bv=(\d+)\S*/.exec(stdout ?? '');
    if (Number(version?.[1]) >= 7) return place;
    // A program that does not run prints the loader's reason to stderr: a library is missing or too old.
    complaints.push(` ${place}: ${version?.[0] ?? error?.message ?? stderr.trim().split('\n')[0]}.`);
  }
  throw new SettingError(`coinop needs Redis 7.0 or newer: apt-get install redis-server, or set REDIS_URL.${complaints.join('')}`);
}

/** Command prefix: util-linux's setpriv makes the kernel send SIGTERM to Redis when this process dies, even by SIGKILL. */
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
