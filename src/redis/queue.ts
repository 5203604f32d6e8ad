import { hash } from 'node:crypto';
import { defineScript } from './script.ts';
import type { ScriptRunner } from './script-runner.ts';

const leaseDue = defineScript({
  file: new URL('lease-due.lua', import.meta.url),
  keys: ['due'],
  args: ['now', 'leaseMs', 'limit'],
  answers: ['taken'],
});

const queueAhead = defineScript({
  file: new URL('queue-ahead.lua', import.meta.url),
  keys: ['due'],
  args: ['member', 'dueAt'],
  answers: ['queued'],
});

const settleDue = defineScript({
  file: new URL('settle-due.lua', import.meta.url),
  keys: ['due'],
  args: ['member', 'seenAt', 'nextAt'],
  answers: ['settled', 'changed'],
});

/**
 * The sorted sets of a queue. One Redis has one, with the queue's name. A Cluster has one for each of its tags, and the one with
 * the queue's name if the data was imported from one Redis.
 */
export function queueKeys(name: string, tags: number): string[] {
  return tags === 1 ? [name] : [name, ...Array.from({ length: tags }, (_, tag) => taggedKey(name, tag))];
}

/** The sorted set to which a member is written. */
export function queueKeyOf(name: string, member: string, tags: number): string {
  return tags === 1 ? name : taggedKey(name, hash('sha1', member, 'buffer').readUInt32BE() % tags);
}

function taggedKey(name: string, tag: number): string {
  return `{${name}:${tag}}`;
}

/** A member that was taken. */
export interface Taken {
  readonly key: string;
  readonly member: string;
  /** The end of the lease: the member's time, as long as nothing changes it. */
  readonly leaseEnd: number;
}

/**
 * The members of a queue of work in Redis: texts by the time at which they are due, in milliseconds since 1970.
 *
 * A member and the document that its work concerns have different hash tags, so no script writes both. The order of the
 * steps keeps work from being lost: (1) `ahead`, with a time by which the act has ended; (2) the act, on the document; (3) `settle`,
 * with the time that `ahead` gave. After a crash before (3) the work runs once more than needed, and finds out what there is to
 * do. `settle` changes nothing if another act wrote ahead in between. So the work has to be idempotent, and a lost `settle` is harmless.
 */
export class Queue {
  readonly name: string;
  readonly #scripts: ScriptRunner;

  constructor(name: string, scripts: ScriptRunner) {
    this.name = name;
    this.#scripts = scripts;
  }

  /**
   * Makes a member due at a time, or leaves it due earlier.
   * @returns the member's time, for `settle`
   */
  async ahead(member: string, dueAt: number): Promise<number> {
    const [, at] = await this.#scripts.run(queueAhead, { due: this.#keyOf(member) }, { member, dueAt });
    return Number(at);
  }

  /**
   * Sets the next time of a member, or removes it.
   * @param seenAt the member's time as `ahead` gave it
   * @param nextAt undefined: there is no more work
   * @returns false if the member's time is another one by now: then nothing changes
   */
  settle(member: string, seenAt: number, nextAt: number | undefined): Promise<boolean> {
    return this.#settle(this.#keyOf(member), member, seenAt, nextAt);
  }

  /** Settles a member that was taken. */
  async settleTaken({ key, member, leaseEnd }: Taken, nextAt: number | undefined): Promise<boolean> {
    const own = this.#keyOf(member);
    if (key === own) return this.#settle(key, member, leaseEnd, nextAt);
    // A member of imported data goes to the set of its tag.
    if (nextAt !== undefined) await this.ahead(member, nextAt);
    return this.#settle(key, member, leaseEnd, undefined);
  }

  /** The sorted sets of the queue. */
  keys(): string[] {
    return queueKeys(this.name, this.#tags);
  }

  /** Takes members that are due, at most `limit`, from one of the queue's sorted sets. */
  async take(key: string, { now, leaseMs, limit }: { now: number; leaseMs: number; limit: number }): Promise<Taken[]> {
    const [, leaseEnd, ...members] = await this.#scripts.run(leaseDue, { due: key }, { now, leaseMs, limit });
    return members.map((member) => ({ key, member, leaseEnd: Number(leaseEnd) }));
  }

  async #settle(due: string, member: string, seenAt: number, nextAt: number | undefined): Promise<boolean> {
    const [word] = await this.#scripts.run(settleDue, { due }, { member, seenAt, nextAt: nextAt ?? '' });
    return word === 'settled';
  }

  #keyOf(member: string): string {
    return queueKeyOf(this.name, member, this.#tags);
  }

  get #tags(): number {
    return this.#scripts.queueTags;
  }
}
