import { join } from 'node:path';
import type { Logger } from 'pino';
import { RedisServer, socketPathFor } from './redis-server.ts';

/**
 * A redis-server that belongs to the service. It listens on a Unix socket that only this user can open, keeps its data in
 * `dataDir`, and acknowledges a write once it is on disk. It starts and stops with the service, and is restarted if it dies.
 */
export class PrivateRedis {
  readonly socketPath: string;
  readonly #server: RedisServer;
  readonly #log: Logger;
  #isStopping = false;
  #restarts = 0;

  /** @param moreSettings further arguments of redis-server's command line; they override the service's own settings */
  constructor(dataDir: string, log: Logger, moreSettings: readonly string[] = []) {
    this.#log = log;
    this.socketPath = socketPathFor(dataDir);
    const settings = [
      ['port', '0'],
      ['appendonly', 'yes'],
      // Redis answers a write only after fsync: an acknowledged write survives a crash and a power cut.
      ['appendfsync', 'always'],
      ['no-appendfsync-on-rewrite', 'no'],
      ['save', ''],
      ['maxmemory-policy', 'noeviction'],
      // A backup begins at once. Redis would wait 5 s for further replicas, of which there are none.
      ['repl-diskless-sync', 'yes'],
      ['repl-diskless-sync-delay', '0'],
      ['loglevel', 'warning'],
    ].flatMap(([name, value]) => [`--${name}`, value!]);
    const folder = join(dataDir, 'redis');
    this.#server = new RedisServer({
      folder,
      socketPath: this.socketPath,
      settings: [...settings, ...moreSettings],
      complained: (text) => log.warn({ redis: text }, 'private redis wrote to stderr'),
      adviceFor: (server) => `The private redis-server in ${folder} does not start. To see why, run "${server} --dir ${folder}".`,
    });
  }

  get pid(): number | undefined {
    return this.#server.pid;
  }

  /**
   * Resolves once redis-server answers PING.
   * @throws SettingError without Redis 7.0 or newer on this machine, or when redis-server does not answer within 60 s
   */
  async start(): Promise<void> {
    if (await this.#server.stopOrphan()) this.#log.warn('stopped the private redis of an earlier run');
    await this.#startServer();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#server.stop();
  }

  async #startServer(): Promise<void> {
    await this.#server.start((code, signal) => {
      if (this.#isStopping) return;
      const delayMs = Math.min(50 * 2 ** this.#restarts++, 5000);
      this.#log.error({ code, signal, delayMs }, 'private redis ended, starting it again');
      setTimeout(() => {
        if (this.#isStopping) return;
        this.#startServer().then(
          () => (this.#restarts = 0),
          () => {},
        );
      }, delayMs);
    });
  }
}
