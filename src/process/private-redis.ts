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
 * A redis-server of the service's own: on a Unix socket that only this user can open, its data in `dataDir`, every write
 * on disk before it is acknowledged. Started with the service and stopped with it; if it dies it is started again.
 */
export class PrivateRedis {
  readonly socketPath: string;
  readonly #dataDir: string;
  readonly #log: Logger;
  readonly #more: readonly string[];
  #server: string | undefined;
  #child: ChildProcess | undefined;
  #stopping = false;
  #restarts = 0;

  /** @param more settings on top, as redis-server's command line takes them */
  constructor(dataDir: string, log: Logger, more: readonly string[] = []) {
    this.#more = more;
    this.#dataDir = join(dataDir, 'redis');
    this.#log = log;
    this.socketPath = socketPathFor(dataDir);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves once it answers. */
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
      // Answers only once the write is on disk: what was acknowledged survives a crash and a power cut.
      ['appendfsync', 'always'],
      ['no-appendfsync-on-rewrite', 'no'],
      ['save', ''],
      ['maxmemory-policy', 'noeviction'],
      ['daemonize', 'no'],
      ['loglevel', 'warning'],
    ].flatMap(([name, value]) => [`--${name}`, value!]);
    const command = [...diesWithParent(), this.#server!, ...settings, ...this.#more];
    // In a process group of its own: Ctrl-C reaches the service, which drains first and then stops Redis itself.
    const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    this.#child = child;
    child.stderr?.on('data', (text: Buffer) => this.#log.warn({ redis: text.toString().trim() }, 'private redis says'));
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
      `The private redis-server in ${this.#dataDir} does not start: run "${this.#server} --dir ${this.#dataDir}" to see why.`,
    );
  }

  /** A service that was killed hard may have left its Redis behind: it holds the data, so it goes first. */
  async #stopOrphan(): Promise<void> {
    if (!existsSync(this.socketPath) || !(await this.#ask('SHUTDOWN'))) return;
    this.#log.warn('stopped a private redis that an earlier run left behind');
    while (await this.#ask('PING')) await new Promise((resolve) => setTimeout(resolve, 15));
  }

  /** Whether something on the socket answered. */
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
        // SHUTDOWN answers by closing.
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

/** A Unix socket's path is at most 107 bytes; a deeper DATA_DIR gets one under the system's temporary folder. */
function socketPathFor(dataDir: string): string {
  const inside = join(dataDir, 'redis.sock');
  if (Buffer.byteLength(inside) <= 100) return inside;
  const folder = join(tmpdir(), `coinop-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return join(folder, 'redis.sock');
}

/** Where `scripts/redis.mjs` unpacks Debian's package on a machine that has no Redis. */
const UNPACKED = fileURLToPath(new URL('../../.cache/redis/redis-server', import.meta.url));

/** @throws SettingError with what to install, where there is no Redis of version 7.0 or newer */
function redisServerPath(): string {
  const complaints: string[] = [];
  for (const place of [onPath('redis-server'), onPath('valkey-server'), existsSync(UNPACKED) ? UNPACKED : undefined]) {
    if (place === undefined) continue;
    const { stdout, stderr, error } = spawnSync(place, ['--version'], { encoding: 'utf8' });
    const version = /\bv=(\d+)\S*/.exec(stdout ?? '');
    if (Number(version?.[1]) >= 7) return place;
    // Where the program does not run, the loader says why: a library is missing, or too old.
    complaints.push(` ${place}: ${version?.[0] ?? error?.message ?? stderr.trim().split('\n')[0]}.`);
  }
  throw new SettingError(`coinop needs Redis 7.0 or newer: apt-get install redis-server, or set REDIS_URL.${complaints.join('')}`);
}

/** util-linux's setpriv has the kernel end Redis when this process dies, however it dies. */
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
