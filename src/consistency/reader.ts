import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { Link } from '../redis/link.ts';
import type { Reply } from '../redis/resp.ts';
import type { Command } from './auditor.ts';

/**
 * The most commands that wait for a reply at the same time if the reader's share is 1. This number of commands is enough to keep both Redis
 * and the audit busy.
 */
const OUTSTANDING_AT_FULL_SPEED = 512;

/**
 * The most commands that are sent together if the reader's share is below 1. Redis runs them in about 0.15 ms, so they delay a request by
 * no more than that.
 */
const BURST = 32;

/**
 * Redis's time for one command of an audit, in milliseconds: 19 s of CPU for the 4 million commands of a million accounts (Redis 7.0). A
 * reply may take far longer, because Redis sends it after the fsync of other clients' writes.
 */
const COMMAND_MS = 0.005;

/**
 * The shortest pause, in milliseconds. Shorter pauses are added up until their sum reaches this length, because timers wait whole
 * milliseconds.
 */
const SHORTEST_PAUSE_MS = 1;

/** Commands that are sent together and resolve with the reply to the last command. In a transaction the last reply has all results. */
interface Unit {
  readonly commands: readonly Command[];
  repliesLeft: number;
  /**
   * The first error among the replies. If Redis refused a transaction, this error has the reason, because the last reply only says that the
   * transaction was refused.
   */
  failure: Error | undefined;
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/**
 * The connection on which an audit reads. It sends commands in bursts. With a share below 1 it waits for the replies to a burst and then
 * pauses: with a share of 0.25 it pauses for three times as long as Redis worked. So an audit slows down when Redis is busy.
 */
export class Reader extends Link {
  readonly #share: number;
  #waiting: Unit[] = [];
  /** The index in `#waiting` of the first unit that is not sent. */
  #next = 0;
  /** The index in `#waiting` of the first unit that is not answered. */
  #answered = 0;
  #outstanding = 0;
  #burstAt = 0;
  #burstLength = 0;
  #owedMs = 0;
  #isPausing = false;
  #isScheduled = false;
  #lost: Error | undefined;

  /**
   * @param redis the connection whose address and options the reader copies
   * @param share the part of the time in which Redis may work for the audit, above 0, at most 1
   */
  constructor(redis: Redis, share: number) {
    // RESP2: `resp.ts` does not read the maps and doubles of RESP3.
    super(redis, { connectionName: 'coinop-audit', protocol: 2, lazyConnect: false });
    this.#share = share;
  }

  /** Whether the connection is lost. A reader whose connection was lost answers no command any more. */
  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** @param prefix commands such as ASKING, which a node of a Cluster must receive directly before `command` */
  ask(command: Command, prefix: readonly Command[] = []): Promise<Reply> {
    return this.#enqueue([...prefix, command]);
  }

  async atomically(commands: readonly Command[], prefix: readonly Command[] = []): Promise<Reply[]> {
    const replies = await this.#enqueue([...prefix, ['MULTI'], ...commands, ['EXEC']]);
    const failed = (replies as Reply[]).find((reply) => reply instanceof Error);
    if (failed !== undefined) throw failed as Error;
    return replies as Reply[];
  }

  protected override get isWaiting(): boolean {
    return this.#outstanding > 0;
  }

  protected override received(reply: Reply): void {
    const unit = this.#waiting[this.#answered]!;
    this.#outstanding--;
    unit.repliesLeft--;
    if (reply instanceof Error) unit.failure ??= reply;
    if (unit.repliesLeft > 0) return;
    this.#answered++;
    if (unit.failure === undefined) unit.resolve(reply);
    else unit.reject(unit.failure);
    if (this.#share < 1 && this.#outstanding === 0) void this.#pause();
  }

  protected override pieceEnded(): void {
    if (this.#answered > 1024 || this.#answered === this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#answered);
      this.#next -= this.#answered;
      this.#answered = 0;
    }
    this.#schedule();
  }

  protected override lost(): void {
    const lost = this.#waiting.slice(this.#answered);
    this.#lost = new Error('Connection is closed.');
    this.#waiting = [];
    this.#next = this.#answered = this.#outstanding = 0;
    for (const { reject } of lost) reject(this.#lost);
  }

  #enqueue(commands: readonly Command[]): Promise<Reply> {
    // An audit that went on after a lost connection would prove nothing, because Redis may have restarted with other data.
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ commands, repliesLeft: commands.length, failure: undefined, resolve, reject });
      this.#schedule();
    });
  }

  /** Sends a burst at the end of this turn, when all commands of the turn are in `#waiting`. */
  #schedule(): void {
    if (this.#isScheduled || this.#isPausing || this.#next === this.#waiting.length) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#sendBurst();
    });
  }

  #sendBurst(): void {
    const isFullSpeed = this.#share === 1;
    if (this.#isPausing || (!isFullSpeed && this.#outstanding > 0)) return;
    if (this.#outstanding === 0) [this.#burstAt, this.#burstLength] = [performance.now(), 0];
    const limit = isFullSpeed ? OUTSTANDING_AT_FULL_SPEED : BURST;
    while (this.#next < this.#waiting.length && this.#outstanding < limit) {
      const { commands } = this.#waiting[this.#next]!;
      try {
        for (const [command, ...words] of commands) this.send(command, words);
      } catch {
        return this.lost();
      }
      this.#next++;
      this.#outstanding += commands.length;
      this.#burstLength += commands.length;
    }
  }

  async #pause(): Promise<void> {
    const workedMs = Math.min(performance.now() - this.#burstAt, this.#burstLength * COMMAND_MS);
    this.#owedMs += workedMs * (1 / this.#share - 1);
    if (this.#owedMs < SHORTEST_PAUSE_MS) return;
    this.#isPausing = true;
    const pausedAt = performance.now();
    await pause(this.#owedMs);
    // A timer may fire late. If the pause was too long, the next pause is shorter.
    this.#owedMs = Math.max(-SHORTEST_PAUSE_MS, this.#owedMs - (performance.now() - pausedAt));
    this.#isPausing = false;
    this.#schedule();
  }
}
