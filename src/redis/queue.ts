import { hash, randomBytes } from 'node:crypto';
import { defineScript } from './script.ts';
import { redisFailure, type ScriptRunner } from './script-runner.ts';
import { pairsOf } from './pairs.ts';

const leaseDue = defineScript({
  file: new URL('lease-due.lua', import.meta.url),
  keys: ['due'],
  args: ['now', 'leaseMs', 'limit'],
  answers: ['taken'],
});

const aheadOf = (durable: boolean) =>
  defineScript({
    file: new URL('queue-ahead.lua', import.meta.url),
    keys: ['due'],
    args: ['member', 'entry', 'dueAt'],
    answers: ['queued'],
    durable,
  });

const queueAhead = aheadOf(false);
const queueAheadDurably = aheadOf(true);

const settleDue = defineScript({
  file: new URL('settle-due.lua', import.meta.url),
  keys: ['due'],
  args: ['member', 'entry', 'entrySeenAt', 'memberSeenAt', 'nextAt'],
  answers: ['settled'],
});

/** Lists entries of a queue by the time at which they are due. Answers due(entry, time, entry, time …). */
const readDue = defineScript({
  name: 'redis/read-due',
  lua: `return {'due', unpack(redis.call('ZRANGE', due, 0, count - 1, 'WITHSCORES'))}`,
  keys: ['due'],
  args: ['count'],
  answers: ['due'],
  readOnly: true,
});

/** Counts the entries of a queue. Answers size(entries). */
const countDue = defineScript({
  name: 'redis/count-due',
  lua: `return {'size', string.format('%d', redis.call('ZCARD', due))}`,
  keys: ['due'],
  args: [],
  answers: ['size'],
  readOnly: true,
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

/** Separates a member from an act. No member has this character. */
const AHEAD = '#';

/** The entry of a member that is written ahead of an act. */
export function entryOf(member: string, act: string): string {
  return `${member}${AHEAD}${act}`;
}

/** The member of an entry. */
export function memberOf(entry: string): string {
  const at = entry.indexOf(AHEAD);
  return at === -1 ? entry : entry.slice(0, at);
}

/** An entry that was written ahead. */
export interface Ahead {
  readonly act: string;
  /** The sorted set that holds it. */
  readonly key: string;
  readonly entry: string;
  /** The time at which the member itself was due, as text; '' if it was not in the queue. */
  readonly seenAt: string;
}

/** An entry, with its time and its member's time when they were read. */
interface Seen {
  readonly member: string;
  readonly entry: string;
  /** '': any. */
  readonly entrySeenAt: number | '';
  readonly memberSeenAt: string;
}

/** Number of primaries of a Cluster that are tried for an entry. */
const MOST_PRIMARIES = 3;

/** An entry that was taken. */
export interface Taken {
  readonly key: string;
  /** The member, or an entry of it that was written ahead. */
  readonly entry: string;
  readonly member: string;
  /** When the lease ends. Redis keeps this time as the time of the entry. */
  readonly leaseEnd: number;
  /** The member's time, as text; '' if only the entry is in the queue. */
  readonly seenAt: string;
}

/**
 * A queue of work in Redis: members by the time at which they are due, in milliseconds since 1970.
 *
 * A member and the document that its work concerns have different hash tags, so no script writes both. The order of the
 * steps keeps work from being lost:
 * 1. `ahead` puts an entry of its own into the queue, due at a time by which the act has ended.
 * 2. The act changes the document.
 * 3. `settle` takes the entry out, and sets the member's time to the one that the document now needs.
 *
 * After a crash before (3) the entry becomes due, and the work reads from the document what has to be done. Each act needs its own entry: a
 * shared one might be taken between (1) and (2), when there is nothing to do yet, and be removed. Work has to be idempotent, because a lost
 * `settle` makes it run once more. One script removes the entry and sets the next time, so a failover loses both or none.
 */
export class Queue {
  readonly name: string;
  readonly #scripts: ScriptRunner;
  readonly #aheadScript: typeof queueAhead;

  /**
   * @param isDurable for acts that a WAIT acknowledges. With REDIS_WAIT_REPLICAS the replicas have an entry before the act begins, and the
   * next time before an entry in another sorted set is removed
   */
  constructor(name: string, scripts: ScriptRunner, isDurable = false) {
    this.name = name;
    this.#scripts = scripts;
    this.#aheadScript = isDurable ? queueAheadDurably : queueAhead;
  }

  /**
   * Writes an entry of the member ahead of an act. If the primary of the member's sorted set is down, a set on another primary gets the
   * entry, because the act itself may need neither primary. Processes read all sets.
   * @param dueAt a time by which the act has ended, whatever happens to this process
   * @param act the name of the act, by which the entry can be found. No two running acts have the same name. Default: a random name
   */
  async ahead(member: string, dueAt: number, act = randomBytes(6).toString('base64url')): Promise<Ahead> {
    const entry = entryOf(member, act);
    let key = this.#keyOf(member);
    let others: string[] | undefined;
    for (let tries = 1; ; tries++) {
      try {
        const [, seenAt = ''] = await this.#scripts.run(this.#aheadScript, { due: key }, { member, entry, dueAt });
        return { act, key, entry, seenAt };
      } catch (error) {
        const refused = key;
        others = (others ?? this.keys()).filter((other) => !this.#scripts.areTogether(refused, other));
        if (others.length === 0 || tries === MOST_PRIMARIES || redisFailure(error) !== 'not_applied') throw error;
        key = others[Math.floor(Math.random() * others.length)]!;
      }
    }
  }

  /**
   * Removes the entry after the act, and sets the member's time.
   * @param nextAt when the member is due; undefined: never. If another process has set the member's time since `ahead`, the earlier
   * time stays
   */
  async settle(member: string, { key, entry, seenAt }: Ahead, nextAt: number | undefined): Promise<void> {
    await this.#end(key, { member, entry, entrySeenAt: '', memberSeenAt: seenAt }, nextAt);
  }

  /** Makes the member due at a time, unless it is due earlier. For work that is not urgent. */
  async bring(member: string, dueAt: number): Promise<void> {
    await this.#scripts.run(this.#aheadScript, { due: this.#keyOf(member) }, { member, entry: member, dueAt });
  }

  /**
   * Ends the work on an entry that was taken.
   * @param nextAt when the member is due again; undefined: never. If another process has set the member's time since, the earlier
   * time stays
   */
  async settleTaken({ key, entry, member, leaseEnd, seenAt }: Taken, nextAt: number | undefined): Promise<void> {
    await this.#end(key, { member, entry, entrySeenAt: leaseEnd, memberSeenAt: seenAt }, nextAt);
  }

  async #end(key: string, seen: Seen, nextAt: number | undefined): Promise<void> {
    const { member } = seen;
    if (key === this.#keyOf(member)) return this.#settle(key, { ...seen, nextAt: nextAt ?? '' });
    // The entry may be in another set than that of the member's tag: in imported data, or if that set could not be reached. The next time
    // then goes to the right set, maybe on another primary, and must be safe there before the entry is removed.
    if (nextAt !== undefined) await this.bring(member, nextAt);
    await this.#settle(key, { ...seen, nextAt: '' });
  }

  /** Number of entries in the queue, including those of running acts. */
  async size(): Promise<number> {
    const sizes = await Promise.all(this.keys().map((due) => this.#scripts.run(countDue, { due }, {})));
    return sizes.reduce((sum, [, size]) => sum + Number(size), 0);
  }

  /** Whether the sorted set of a new member is full, if a queue may have about this many entries: one command, also on a Cluster. */
  async isFull(member: string, most: number): Promise<boolean> {
    const [, size] = await this.#scripts.run(countDue, { due: this.#keyOf(member) }, {});
    return Number(size) >= most / this.#tags;
  }

  /** Some members with the times at which they are due, earliest first: of each sorted set only its first entries are read. */
  async earliest(most: number): Promise<[member: string, dueAt: number][]> {
    const found = await Promise.all(this.keys().map((due) => this.#scripts.run(readDue, { due }, { count: most })));
    const times = new Map<string, number>();
    for (const [entry, time] of found.flatMap(([, ...words]) => pairsOf(words))) {
      const member = memberOf(entry);
      times.set(member, Math.min(times.get(member) ?? Infinity, Number(time)));
    }
    return [...times].toSorted(([, one], [, other]) => one - other).slice(0, most);
  }

  /** The sorted sets of the queue. */
  keys(): string[] {
    return queueKeys(this.name, this.#tags);
  }

  /** Takes entries that are due, at most `limit`, from one of the queue's sorted sets. */
  async take(key: string, { now, leaseMs, limit }: { now: number; leaseMs: number; limit: number }): Promise<Taken[]> {
    const [, leaseEnd, ...words] = await this.#scripts.run(leaseDue, { due: key }, { now, leaseMs, limit });
    return pairsOf(words).map(([entry, seenAt]) => ({ key, entry, member: memberOf(entry), leaseEnd: Number(leaseEnd), seenAt }));
  }

  async #settle(due: string, args: Seen & { readonly nextAt: number | '' }): Promise<void> {
    await this.#scripts.run(settleDue, { due }, args);
  }

  #keyOf(member: string): string {
    return queueKeyOf(this.name, member, this.#tags);
  }

  get #tags(): number {
    return this.#scripts.queueTags;
  }
}
