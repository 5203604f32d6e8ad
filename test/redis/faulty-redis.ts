import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeCommand, ReplyReader } from '../../src/redis/resp.ts';

/** What happens to a command: Redis answers with this error, the connection closes, or nothing comes back any more. */
export interface Fault {
  readonly command: string;
  readonly effect: 'close' | 'hang' | { readonly error: string };
}

/** A proxy in front of a Redis, in which one command fails on every connection. */
export class FaultyRedis implements AsyncDisposable {
  readonly socketPath: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'coinop-faulty-'));
  readonly #target: string;
  readonly #clients = new Set<Socket>();
  readonly #server: Server;
  #fault: Fault | undefined;

  static async open(target: string): Promise<FaultyRedis> {
    const faulty = new FaultyRedis(target);
    await new Promise<void>((resolve) => faulty.#server.listen(faulty.socketPath, resolve));
    return faulty;
  }

  private constructor(target: string) {
    this.#target = target;
    this.socketPath = join(this.#folder, 'redis.sock');
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Closes all connections. The next ones meet the fault. */
  fail(fault: Fault): void {
    this.#fault = fault;
    for (const client of this.#clients) client.destroy();
  }

  heal(): void {
    this.#fault = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #accept(client: Socket): void {
    const server = connect(this.#target);
    const commands = new ReplyReader();
    this.#clients.add(client);
    let hangs = false;
    client.on('data', (piece) => {
      for (const command of commands.read(piece)) {
        const [name = '', ...words] = command as string[];
        const { effect } = this.#fault?.command === name.toUpperCase() ? this.#fault : {};
        if (effect === 'close') return void client.destroy();
        if (effect === 'hang') hangs = true;
        if (hangs) return;
        // Redis itself gives the error, so that the replies keep their order.
        const sent = typeof effect === 'object' ? encodeCommand('EVAL', [`return redis.error_reply('${effect.error}')`, 0]) : undefined;
        server.write(sent ?? encodeCommand(name, words));
      }
    });
    server.pipe(client);
    for (const socket of [client, server])
      socket
        .on('error', () => {})
        .on('close', () => {
          this.#clients.delete(client);
          client.destroy();
          server.destroy();
        });
  }
}
