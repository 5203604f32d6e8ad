import type { Redis, RedisOptions } from 'ioredis';
import type { Rights } from './user-rights.ts';
import { Link } from './link.ts';
import type { Reply } from './resp.ts';

/**
 * The highest number of answered calls that stay at the head of `#waiting`. They are removed together, because a removal moves all other
 * calls.
 */
const MOST_ANSWERED = 1024;

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

export interface ScriptLinkOptions {
  readonly leavesReplica?: boolean;
  readonly rights?: Rights | undefined;
  readonly name?: string;
}

/** The connection that scripts run on. */
export class ScriptLink extends Link {
  /** Calls in the order of their commands. The first `#answered` calls have their replies. */
  #waiting: Waiting[] = [];
  #answered = 0;

  readonly options: Pick<RedisOptions, 'db'>;
  readonly #leavesReplica: boolean;

  /**
   * @param redis the connection whose address and options the link copies
   * @param leavesReplica whether the link reconnects when Redis turns out to be a replica, because the address may lead to the new primary
   * by then. False for a Cluster: each of its addresses is one node, and the map of slots names the new primary
   * @param rights as of `Link`
   * @param name of the connection, by which Redis lists it
   */
  constructor(redis: Redis, { leavesReplica = true, rights, name = 'coinop-scripts' }: ScriptLinkOptions = {}) {
    super(redis, { connectionName: name }, rights);
    this.options = redis.options;
    this.#leavesReplica = leavesReplica;
  }

  /** Sends a command, like `call` of ioredis. @throws Error with which Redis replied, or because the connection is down or was lost */
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
    // After a failover the old primary is a replica. The next connection finds the new primary.
    if (this.#leavesReplica && reply.message.startsWith('READONLY')) this.break();
  }

  protected override pieceEnded(): void {
    // Under constant load some call always waits, so answered calls must leave the queue even while others wait.
    if (this.#answered < this.#waiting.length && this.#answered < MOST_ANSWERED) return;
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
