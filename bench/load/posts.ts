import { monotonicMs } from '../measure/clock.ts';
import { Connection, type ConnectionUser } from './connection.ts';

/** Single POSTs over connections that are kept: each waits for a free one, and none for an answer before it. */
export class Posts {
  readonly #host: string;
  readonly #idle: Connection[] = [];
  readonly #all: Connection[];
  readonly #waiting: { free: () => void; failed: (error: Error) => void }[] = [];
  readonly #answering = new Map<Connection, { done: () => void; failed: (error: Error) => void }>();
  /** When the last answer came, on the clock of `monotonicMs`. */
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

  /** Resolves with status 200, rejects with any other. */
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
    const asked = this.#answering.get(connection);
    this.#answering.delete(connection);
    this.#free(connection);
    if (status === 200) asked?.done();
    else asked?.failed(new Error(`refused with status ${status}`));
  }

  /** Servers close connections that were idle for some seconds, which here is nothing unusual. */
  #lost(connection: Connection): void {
    this.#answering.get(connection)?.failed(new Error('lost with its connection'));
    this.#answering.delete(connection);
    const place = this.#idle.indexOf(connection);
    if (place >= 0) this.#idle.splice(place, 1);
    connection.open().then(
      () => this.#free(connection),
      () => this.#gone(),
    );
  }

  #free(connection: Connection): void {
    this.#idle.push(connection);
    this.#waiting.shift()?.free();
  }

  #gone(): void {
    for (const { failed } of this.#waiting.splice(0)) failed(new Error('lost: nobody listens any more'));
  }
}
