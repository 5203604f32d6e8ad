import { hash, randomBytes } from 'node:crypto';
import { defineScript } from './script.ts';
import { redisFailure, type ScriptRunner } from './script-runner.ts';
import { pairsOf } from './reply-pairs.ts';
import { read } from './reads.ts';

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

/**
 * The Redis keys of a queue's sorted sets. On one Redis the queue has one sorted set, with the queue's name. On a Cluster the queue has a
 * sorted set for each of its CLUSTER_QUEUE_TAGS hash tags. The set with the queue's name is for data that was imported from one Redis.
 */
export function queueKeys(name: string, tags: number): string[] {
  return tags === 1 ? [name] : [name, ...Array.from({ length: tags }, (_, tag) => taggedKey(name, tag))];
}

/** The Redis key of the sorted set to which a member is written. */
export function queueKeyOf(name: string, member: string, tags: number): string {
  return tags === 1 ? name : taggedKey(name, hash('sha1', member, 'buffer').readUInt32BE() % tags);
}

function taggedKey(name: string, tag: number): string {
  return `{${name}:${tag}}`;
}

/** Separates the member of a queue and the name of a change (an act) in an entry. No member contains this character. */
const AHEAD = '#';

/** The text of the entry that `Queue.ahead` writes for a member before a change with the name `act`. */
export function entryOf(member: string, act: string): string {
  return `${member}${AHEAD}${act}`;
}

/** The member to which an entry belongs: the text before AHEAD, or the whole entry. */
export function memberOf(entry: string): string {
  const at = entry.indexOf(AHEAD);
  return at === -1 ? entry : entry.slice(0, at);
}

/** An entry that `Queue.ahead` has written before a change (an act). */
export interface Ahead {
  readonly act: string;
  /** The key of the sorted set that has the entry. */
  readonly key: string;
  readonly entry: string;
  /** The time at which the member itself was due, as text; '' if the member was not in the queue. */
  readonly seenAt: string;
}

/** An entry and its member, and the times of both in the sorted set when they were read. */
interface Seen {
  readonly member: string;
  readonly entry: string;
  /** The time of the entry. '': remove the entry whatever its time is. */
  readonly entrySeenAt: number | '';
  readonly memberSeenAt: string;
}

/** The highest number of primaries of a Cluster on which `ahead` tries to write an entry. */
const MOST_PRIMARIES = 3;

/** An entry that this process has taken under a lease. */
export interface Taken {
  readonly key: string;
  /** The member itself, or an entry of the member that `Queue.ahead` has written before a change. */
  readonly entry: string;
  readonly member: string;
  /** When the lease ends, in milliseconds since 1970. Redis keeps this time as the time of the entry. */
  readonly leaseEnd: number;
  /** The member's time, as text; '' if the member itself is not in the queue. */
  readonly seenAt: string;
}

/**
 * A queue of work in Redis: a sorted set of members, each with the time at which it is due, in milliseconds since 1970.
 *
 * A member and the document that its work concerns have different hash tags, so no script can write both. The following order of the steps
 * keeps work from being lost:
 * 1. `ahead` puts an entry into the queue, due at a time by which the act must have ended.
 * 2. The act changes the document.
 * 3. `settle` takes the entry out, and sets the member's time to the time that the document now needs.
 *
 * After a crash before (3) the entry becomes due, and the work reads from the document what has to be done. Each act needs its own entry.
 * Otherwise a process might take and remove a shared entry between (1) and (2), when there is nothing to do yet. Work has to be idempotent,
 * because a lost `settle` makes it run once more. One script removes the entry and sets the member's next time, so a failover loses both
 * changes or neither.
 */
export class Queue {
  readonly name: string;
  readonly #scripts: ScriptRunner;
  readonly #aheadScript: typeof queueAhead;

  /**
   * @param isDurable for changes that wait for the replicas (REDIS_WAIT_REPLICAS). The replicas then have the entry before the change
   * begins, and the member's next time before an entry in another sorted set is removed
   */
  constructor(name: string, scripts: ScriptRunner, isDurable = false) {
    this.name = name;
    this.#scripts = scripts;
    this.#aheadScript = isDurable ? queueAheadDurably : queueAhead;
  }

  /**
   * Writes an entry of the member before an act. If the primary of the member's sorted set is down, the entry goes to a sorted set on
   * another primary, because the act itself may not need the primary that is down. Processes read all sorted sets of the queue.
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
   * Removes the entry after the change, and sets the member's time.
   * @param nextAt when the member is due; undefined: never. If another process has set the member's time since `ahead`, the earlier of the
   * two times stays
   */
  async settle(member: string, { key, entry, seenAt }: Ahead, nextAt: number | undefined): Promise<void> {
    await this.#end(key, { member, entry, entrySeenAt: '', memberSeenAt: seenAt }, nextAt);
  }

  /** Puts a member into the queue, due at `dueAt`. If the member has an earlier time already, that time stays. */
  async bring(member: string, dueAt: number): Promise<void> {
    await this.#scripts.run(this.#aheadScript, { due: this.#keyOf(member) }, { member, entry: member, dueAt });
  }

  /**
   * Ends the work on an entry that this process has taken.
   * @param nextAt when the member is due again; undefined: never. If another process has set the member's time since the entry was taken,
   * the earlier of the two times stays
   */
  async settleTaken({ key, entry, member, leaseEnd, seenAt }: Taken, nextAt: number | undefined): Promise<void> {
    await this.#end(key, { member, entry, entrySeenAt: leaseEnd, memberSeenAt: seenAt }, nextAt);
  }

  async #end(key: string, seen: Seen, nextAt: number | undefined): Promise<void> {
    const { member } = seen;
    if (key === this.#keyOf(member)) return this.#settle(key, { ...seen, nextAt: nextAt ?? '' });
    // The entry may be in another sorted set than the member's own. This happens in data imported from one Redis, or if `ahead` could not
    // reach the member's set. The next time goes into the member's own set, perhaps on another primary. It must be safe there before the
    // entry is removed.
    if (nextAt !== undefined) await this.bring(member, nextAt);
    await this.#settle(key, { ...seen, nextAt: '' });
  }

  /** The number of entries in the queue, including the entries that `ahead` wrote for changes under way. */
  async size(): Promise<number> {
    const sizes = await Promise.all(this.keys().map((key) => read(this.#scripts, 'ZCARD', key)));
    return sizes.reduce((sum, [size]) => sum + Number(size), 0);
  }

  /**
   * Whether the sorted set that a new member would go into has its share of `most` entries of the whole queue. Takes one command, also on a
   * Cluster.
   */
  async isFull(member: string, most: number): Promise<boolean> {
    const [size] = await read(this.#scripts, 'ZCARD', this.#keyOf(member));
    return Number(size) >= most / this.#tags;
  }

  /**
   * At most `most` members with the times at which they are due, earliest first. Reads only the first `most` entries of each sorted set.
   */
  async earliest(most: number): Promise<[member: string, dueAt: number][]> {
    const found = await Promise.all(this.keys().map((key) => read(this.#scripts, 'ZRANGE', key, 0, most - 1, 'WITHSCORES')));
    const times = new Map<string, number>();
    for (const [entry, time] of found.flatMap(pairsOf)) {
      const member = memberOf(entry);
      times.set(member, Math.min(times.get(member) ?? Infinity, Number(time)));
    }
    return [...times].toSorted(([, one], [, other]) => one - other).slice(0, most);
  }

  /** The Redis keys of the queue's sorted sets. */
  keys(): string[] {
    return queueKeys(this.name, this.#tags);
  }

  /** Takes up to `limit` due entries from the sorted set with this key. */
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
