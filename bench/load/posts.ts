import { monotonicMs } from '../measure/clock.ts';
import { Connection, type ConnectionUser } from './connection.ts';

/** Sends single POSTs over a pool of keep-alive connections. A POST waits for a free connection. */
export class Posts {
  readonly #host: string;
  readonly #idle: Connection[] = [];
  readonly #all: Connection[];
  readonly #waiting: { free: () => void; failed: (error: Error) => void }[] = [];
  readonly #answering = new Map<Connection, { done: () => void; failed: (error: Error) => void }>();
  /** When the last response arrived, on the clock of `monotonicMs`. */
  answeredAt = 0;

  static async open(url: string, connections: number): Promise<Posts> {
    const posts = new Posts(new URL(url), connections);
    await Promise.all(posts.#all.map((connection) => connection.open()));
    return posts;
  }

  private constructor(url: URL, connections: number) {
    this.#host = url.host;
    const user: ConnectionUser = {
      answered: (connection, status) => this.#answered(connection, status),
      lost: (connection) => this.#lost(connection),
    };
    this.#all = Array.from({ length: connections }, () => new Connection(url, user));
    this.#idle.push(...this.#all);
  }

  get localPorts(): (number | undefined)[] {
    return this.#all.map(({ localPort }) => localPort);
  }

  /** Resolves on status 200 and rejects on any other. */
  async post(path: string, body: object): Promise<void> {
    while (this.#idle.length === 0) await new Promise<void>((free, failed) => this.#waiting.push({ free, failed }));
    const connection = this.#idle.pop()!;
    const text = JSON.stringify(body);
    await new Promise<void>((done, failed) => {
      this.#answering.set(connection, { done, failed });
      connection.send(
        `POST ${path} HTTP/1.1\r\nhost: ${this.#host}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
      );
    });
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }

  #answered(connection: Connection, status: number): void {
    this.answeredAt = monotonicMs();
    const request = this.#answering.get(connection);
    this.#answering.delete(connection);
    this.#free(connection);
    if (status === 200) request?.done();
    else request?.failed(new Error(`refused with status ${status}`));
  }

  /** Opens the connection again. Servers close connections that were idle for some seconds, so this is normal. */
  #lost(connection: Connection): void {
    this.#answering.get(connection)?.failed(new Error('lost with its connection'));
    this.#answering.delete(connection);
    const place = this.#idle.indexOf(connection);
    if (place >= 0) this.#idle.splice(place, 1);
    connection.open().then(
      () => this.#free(connection),
      () => this.#failWaiting(),
    );
  }

  #free(connection: Connection): void {
    this.#idle.push(connection);
    this.#waiting.shift()?.free();
  }

  #failWaiting(): void {
    for (const { failed } of this.#waiting.splice(0)) failed(new Error('lost: the server accepts no connections'));
  }
}
