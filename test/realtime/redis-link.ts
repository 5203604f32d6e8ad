import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Which = 'subscriber' | 'commands';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  which: Which;
}

/** A proxy between a service and its Redis, whose connections the test can cut, keep cut, or stop carrying. */
export class RedisLink implements AsyncDisposable {
  readonly location: { socketPath: string };
  readonly #folder = mkdtempSync(join(tmpdir(), 'coinop-link-'));
  readonly #target: string;
  readonly #pairs = new Set<Pair>();
  readonly #down = new Set<Which>();
  readonly #mute = new Set<Which>();
  readonly #server: Server;

  static async open(target: string): Promise<RedisLink> {
    const link = new RedisLink(target);
    await new Promise<void>((resolve) => link.#server.listen(link.location.socketPath, resolve));
    return link;
  }

  private constructor(target: string) {
    this.#target = target;
    this.location = { socketPath: join(this.#folder, 'redis.sock') };
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Breaks these connections, and every new connection until `restore`. */
  cut(...which: Which[]): void {
    for (const one of which) this.#down.add(one);
    for (const pair of this.#pairs) if (this.#down.has(pair.which)) pair.client.destroy();
  }

  /** These connections stay open but carry nothing, as after the failure of a machine in between. New connections work. */
  silence(...which: Which[]): void {
    for (const pair of this.#pairs) {
      if (!which.includes(pair.which)) continue;
      pair.client.unpipe(pair.server);
      pair.server.unpipe(pair.client);
      pair.client.resume();
      pair.server.resume();
    }
  }

  /** New connections carry their first bytes and nothing after, until `restore`. */
  mute(...which: Which[]): void {
    for (const one of which) this.#mute.add(one);
  }

  restore(): void {
    this.#down.clear();
    this.#mute.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { client } of this.#pairs) client.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The first bytes of a connection hold its name (CLIENT SETNAME). */
  #accept(client: Socket): void {
    client.on('error', () => {});
    client.once('data', (first) => {
      const which = first.includes('coinop-subscriber') ? 'subscriber' : 'commands';
      if (this.#down.has(which)) return client.destroy();
      const server = connect(this.#target);
      const pair = { client, server, which } as const;
      this.#pairs.add(pair);
      server.on('error', () => {});
      server.write(first);
      if (this.#mute.has(which)) return client.on('close', () => server.destroy());
      client.pipe(server);
      server.pipe(client);
      client.on('close', () => {
        this.#pairs.delete(pair);
        server.destroy();
      });
      server.on('close', () => client.destroy());
    });
  }
}
