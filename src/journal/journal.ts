import type { Logger } from 'pino';
import { DueQueue, type DueQueueOptions } from '../redis/due-queue.ts';
import { Queue } from '../redis/queue.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';

export interface JournalOptions {
  /** The name of the journal's queue in Redis. */
  readonly name: string;
  /** The queue takes over unfinished work after this many milliseconds. This is longer than any decision takes. */
  readonly takeOverMs: number;
  readonly scripts: ScriptRunner;
  /** Logs failures of the steps that follow a decision. */
  readonly log?: Logger | undefined;
  /** The time by Redis's clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * A journal runs work on keys of several slots, which a single script cannot do: the deletion of an account, the move of a guest, a
 * purchase.
 *
 * First, one script in one slot decides whether the work is done. The steps that follow may stop at any point and may be repeated, because
 * each step reads in Redis what is left to do. Before the decision, the journal puts an entry into the queue. The entry is due after
 * `takeOverMs`. If this process dies, another process takes the entry and finishes the steps. The comment of `Queue` explains why no entry
 * gets lost.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #queue: Queue;

  constructor(options: JournalOptions) {
    this.#options = options;
    // The queue is durable. On a Cluster a failover could otherwise lose the queue's entry and keep the decision in another slot, and no
    // process would take the later steps.
    this.#queue = new Queue(options.name, options.scripts, true);
  }

  /**
   * Decides, and begins the later steps.
   * @param member the member of the queue that names the work
   * @param decide gets the act's name, for documents that store the name, and the time at which the member was already due, if it was in
   * the queue. If `decide` throws, the outcome is unknown: the entry stays, and the queue's work finds out
   * @param follow takes the later steps. It is called after every decision, even if the decision changed nothing, and resolves with the
   * time at which the member is due again (undefined: never)
   * @returns the decision; `done` resolves when the later steps are done, or left to the queue. `done` never rejects
   */
  async begin<Decision>(
    member: string,
    decide: (act: string, dueAt: number | undefined) => Promise<Decision>,
    follow: (decision: Decision) => Promise<number | undefined>,
  ): Promise<{ readonly decision: Decision; readonly done: Promise<void> }> {
    const { name, takeOverMs, log, now } = this.#options;
    const dueAt = now() + takeOverMs;
    const ahead = await this.#queue.ahead(member, dueAt);
    const decision = await decide(ahead.act, ahead.seenAt === '' ? undefined : Number(ahead.seenAt));
    // This process was held up. Another process may have taken and removed the entry before the decision, when there was nothing to do yet.
    // If the queue cannot be reached, the later steps are still taken here.
    if (now() >= dueAt) await this.#queue.bring(member, now() + takeOverMs).catch(() => {});
    const done = follow(decision).then(
      // If `settle` fails, the queue starts the member's work once more, which does no harm.
      (nextAt) => this.#queue.settle(member, ahead, nextAt).catch(() => {}),
      (error: unknown) =>
        log?.warn({ reason: (error as Error).message, queue: name, member }, 'the steps after a decision failed: the queue tries again'),
    );
    return { decision, done };
  }

  /**
   * Does the same as `begin`, for an `act` that decides and takes all later steps.
   * @param act resolves with the time at which the member is due again; undefined: never
   */
  async run(member: string, act: (name: string, dueAt: number | undefined) => Promise<number | undefined>): Promise<void> {
    const { done } = await this.begin(member, act, async (nextAt) => nextAt);
    await done;
  }

  bring(member: string, dueAt: number): Promise<void> {
    return this.#queue.bring(member, dueAt);
  }

  /**
   * Finishes the work of processes that died, until the returned queue is closed.
   * @param work as in `DueQueueOptions`
   * @param leaseMs milliseconds that the work of a member may take before another process may take over the member
   * @param pace as in `DueQueueOptions`
   */
  takeOver(
    work: (member: string) => Promise<number | undefined>,
    leaseMs: number,
    log: Logger,
    pace: Pick<DueQueueOptions, 'pollIntervalMs' | 'atOnce'> = {},
  ): DueQueue {
    const { name, scripts, now } = this.#options;
    return new DueQueue({ name, scripts, log, now, leaseMs, work, ...pace, isDurable: true });
  }
}
