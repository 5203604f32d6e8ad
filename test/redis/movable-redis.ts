import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { PrivateRedis } from '../../src/process/private-redis.ts';

/** A Redis at one address whose data a test copies, empties and swaps while services use it. */
export class MovableRedis implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'coinop-movable-'));
  readonly #data = join(this.#folder, 'live');
  #server = this.#newServer();
  readonly location = { socketPath: this.#server.socketPath };
  readonly client: Redis;

  static async start(): Promise<MovableRedis> {
    const redis = new MovableRedis();
    await redis.#server.start();
    return redis;
  }

  private constructor() {
    this.client = new Redis({ path: this.location.socketPath, lazyConnect: true, retryStrategy: () => 20 });
    this.client.on('error', () => {});
  }

  #newServer(): PrivateRedis {
    return new PrivateRedis(this.#data, pino({ level: 'silent' }));
  }

  /** Copies the data under a name. */
  async save(name: string): Promise<void> {
    await this.restart(() => cpSync(join(this.#data, 'redis'), join(this.#folder, name), { recursive: true }));
  }

  /** Puts the data of that name in place of the present one. Without a name the Redis is empty, as on a new machine. */
  async load(name?: string): Promise<void> {
    await this.restart(() => {
      rmSync(join(this.#data, 'redis'), { recursive: true });
      if (name !== undefined) cpSync(join(this.#folder, name), join(this.#data, 'redis'), { recursive: true });
    });
  }

  async restart(between: () => void = () => {}): Promise<void> {
    await this.#server.stop();
    between();
    this.#server = this.#newServer();
    await this.#server.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.disconnect();
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
