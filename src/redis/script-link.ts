import type { Redis } from 'ioredis';
import { Link } from './link.ts';
import type { Reply } from './resp.ts';

/** Taking them out one by one would move all the others each time. */
const MANY = 1024;

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/** The connection that scripts run on. */
export class ScriptLink extends Link {
  /** Who waits for a reply, in the order of the commands; those before `#answered` have theirs. */
  #waiting: Waiting[] = [];
  #answered = 0;

  /** @param redis where, and with which options */
  constructor(redis: Redis) {
    super(redis, { connectionName: 'coinop-scripts' });
  }

  /** As ioredis's own. @throws Error Redis's own, or that the connection is away or lost */
  call(command: string, words: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.send(command, words);
      this.#waiting.push({ resolve, reject });
    });
  }

  protected override get isWaiting(): boolean {
    return this.#waiting.length > this.#answered;
  }

  protected override received(reply: Reply): void {
    const { resolve, reject } = this.#waiting[this.#answered++]!;
    if (!(reply instanceof Error)) return resolve(reply);
    reject(reply);
    // A replica that was a primary a moment ago: the next connection finds the new primary.
    if (reply.message.startsWith('READONLY')) this.break();
  }

  protected override pieceEnded(): void {
    // Under a load that never pauses somebody is always waiting: those who are done must go all the same.
    if (this.#answered < this.#waiting.length && this.#answered < MANY) return;
    this.#waiting = this.#waiting.slice(this.#answered);
    this.#answered = 0;
  }

  protected override lost(): void {
    const lost = this.#waiting.slice(this.#answered);
    this.#waiting = [];
    this.#answered = 0;
    for (const { reject } of lost) reject(new Error('Connection is closed.'));
  }
}
