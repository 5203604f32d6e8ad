import type { Logger } from 'pino';
import type { Subscriptions } from '../../redis/subscriber.ts';
import type { TrackedKeys } from '../../redis/tracked.ts';
import { closeCodes } from './close-codes.ts';
import type { Feed, State } from './feed-types.ts';
import type { LiveCounts } from './live-counts.ts';
import { Topic } from './topic.ts';

/**
 * The interval, in milliseconds, at which the positions of all topics are compared with Redis. Messages that Redis publishes while the
 * connection is down are lost.
 */
const COMPARE_INTERVAL_MS = 3000;

const COMPARE_BATCH = 200;
const SUBSCRIBE_BATCH = 1000;

export interface WatchedTopicsOptions {
  /** Sends one message to all sockets subscribed to a topic. */
  readonly publish: (topic: string, message: string) => void;
  /** The most bytes per second that a topic pushes. See `TopicOptions`. */
  readonly bytesPerSecond?: number;
  readonly subscriber: Subscriptions;
  /** Tells which keys of tracked feeds have changed. */
  readonly trackedKeys?: TrackedKeys;
  readonly counts?: LiveCounts;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * The things that this process's sockets and long-polls watch. Each thing has one topic, whose latest state is encoded once
 * for all watchers, and one Redis subscription. Both last as long as the thing has a watcher.
 */
export class WatchedTopics {
  readonly #options: WatchedTopicsOptions;
  readonly #topics = new Map<string, Topic>();
  readonly #timer: NodeJS.Timeout;
  /** The timers of those polled feeds that have topics. */
  readonly #polls = new Map<Feed, NodeJS.Timeout>();
  #isComparing = false;
  /** For each topic a promise that resolves when the topic has its first state. */
  readonly #opening = new WeakMap<Topic, Promise<void>>();
  #draining = false;

  constructor(options: WatchedTopicsOptions) {
    this.#options = options;
    options.subscriber.on('message', (channel, message) => this.#topics.get(channel)?.take(message));
    options.subscriber.on('ready', (isConcerned) => void this.#subscribeAgain(isConcerned));
    options.trackedKeys?.on('changed', (key) => this.#topics.get(hashTagOf(key))?.stale());
    options.trackedKeys?.on('lost', () => void this.#compareAll((channel) => this.#topics.get(channel)?.feed.isTracked === true));
    this.#timer = setInterval(() => {
      // If a connection died without notice, the ping gets no answer, and the connection is then closed.
      options.subscriber.ping().catch(() => {});
      void this.#compareInTurn();
    }, COMPARE_INTERVAL_MS);
  }

  /**
   * Watches a thing until the caller calls `release` on the topic; the caller must do so once.
   * @returns undefined if the thing does not exist
   */
  async watch(feed: Feed, id: string): Promise<Topic | undefined> {
    const channel = feed.channel(id);
    let topic = this.#topics.get(channel);
    const isNew = topic === undefined;
    if (topic === undefined) {
      topic = new Topic(feed, id, {
        publish: this.#options.publish,
        bytesPerSecond: this.#options.bytesPerSecond,
        now: this.#options.now,
        isDraining: () => this.#draining,
        ...(this.#options.counts === undefined ? {} : { counts: this.#options.counts }),
        refresh: (stale) => void this.#compare([stale]),
        closed: (unused) => this.#drop(unused),
      });
      this.#topics.set(channel, topic);
      this.#opening.set(topic, this.#open(topic));
    }
    topic.hold();
    try {
      await this.#opening.get(topic);
      // Without a subscription the topic may have missed changes, so a new watcher gets a state that is read now. A tracked feed is read
      // again for each new watcher, because the read also checks who watches.
      if (feed.isTracked === true ? !isNew : feed.polledEveryMs === undefined && !this.#options.subscriber.hears(channel))
        await this.#fetch([topic]);
    } catch (error) {
      topic.release();
      throw error;
    }
    if (topic.isKnown) return topic;
    topic.release();
    return undefined;
  }

  /**
   * A long-poll: resolves at the first state past `since` (default: the current one), after `waitMs`, or when the client disconnects. Calls
   * `onFound` once it is clear that the thing exists.
   * @returns false if the thing does not exist
   */
  async wait(
    feed: Feed,
    id: string,
    until: { since?: number; waitMs: number; onFound: () => void; onGone: (callback: () => void) => void },
  ): Promise<boolean> {
    const topic = await this.watch(feed, id);
    if (topic === undefined) return false;
    until.onFound();
    try {
      await topic.changed(until.since ?? topic.position, until.waitMs, until.onGone);
    } finally {
      topic.release();
    }
    return true;
  }

  /** Resolves every long-poll at once, even long-polls that begin later. */
  drain(): void {
    this.#draining = true;
    for (const topic of this.#topics.values()) topic.wake();
  }

  /** Ends all topics, because Redis has lost data and the states of the topics no longer hold. All watchers reconnect. */
  endAll(): void {
    for (const topic of [...this.#topics.values()]) topic.end(closeCodes.wentBack, 'went back');
  }

  close(): void {
    clearInterval(this.#timer);
    for (const timer of this.#polls.values()) clearInterval(timer);
    for (const topic of this.#topics.values()) topic.stop();
    this.#topics.clear();
  }

  get topicCount(): number {
    return this.#topics.size;
  }

  /** Subscribes before it reads, so that a change between the two arrives as a message. */
  async #open(topic: Topic): Promise<void> {
    const { feed, channel } = topic;
    try {
      if (isPublished(topic)) await this.#options.subscriber.subscribe(channel);
      else if (feed.polledEveryMs !== undefined && !this.#polls.has(feed)) this.#polls.set(feed, this.#pollEvery(feed, feed.polledEveryMs));
    } catch {
      // The connection to Redis is down. `#subscribeAgain` subscribes once there is a connection again. Until then `#compareAll` finds the
      // changes.
    }
    await this.#fetch([topic]);
  }

  /** Polls a feed. If a poll takes longer than the interval, the next one is skipped. */
  #pollEvery(feed: Feed, intervalMs: number): NodeJS.Timeout {
    let polling: Promise<void> | undefined;
    return setInterval(() => {
      const ofFeed = [...this.#topics.values()].filter((topic) => topic.feed === feed);
      if (ofFeed.length === 0) {
        clearInterval(this.#polls.get(feed));
        this.#polls.delete(feed);
        return;
      }
      const known = ofFeed.filter(({ isKnown }) => isKnown);
      if (known.length > 0) polling ??= this.#compare(known).finally(() => (polling = undefined));
    }, intervalMs);
  }

  #drop(topic: Topic): void {
    if (this.#topics.get(topic.channel) !== topic) return;
    this.#topics.delete(topic.channel);
    if (!isPublished(topic)) return;
    this.#options.subscriber.unsubscribe(topic.channel).catch(() => {
      // The connection is down. The next connection then subscribes only to the topics that are still watched.
    });
  }

  /** Subscribes to all topics, then compares them with Redis, because messages published while the connection was down are lost. */
  async #subscribeAgain(isConcerned: (channel: string) => boolean): Promise<void> {
    const channels = this.#announced
      .filter(isPublished)
      .map(({ channel }) => channel)
      .filter(isConcerned);
    for (let start = 0; start < channels.length; start += SUBSCRIBE_BATCH) {
      try {
        await this.#options.subscriber.subscribe(...channels.slice(start, start + SUBSCRIBE_BATCH));
      } catch (error) {
        // In a Cluster one primary may refuse to subscribe while the others accept the next channels. A later `ready` retries the channels
        // that failed.
        this.#options.log.debug({ reason: (error as Error).message }, 'could not subscribe again to watched channels');
      }
    }
    // These topics lost their last watcher while this method was subscribing.
    const unused = channels.filter((channel) => !this.#topics.has(channel));
    if (unused.length > 0) this.#options.subscriber.unsubscribe(...unused).catch(() => {});
    await this.#compareAll(isConcerned);
  }

  /** Runs one comparison at a time. A comparison takes longer than the interval if Redis is so slow that calls time out. */
  async #compareInTurn(): Promise<void> {
    if (this.#isComparing) return;
    this.#isComparing = true;
    try {
      await this.#compareAll();
    } finally {
      this.#isComparing = false;
    }
  }

  async #compareAll(isConcerned: (channel: string) => boolean = () => true): Promise<void> {
    const topics = this.#announced.filter((topic) => topic.isKnown && isConcerned(topic.channel));
    for (let start = 0; start < topics.length; start += COMPARE_BATCH) await this.#compare(topics.slice(start, start + COMPARE_BATCH));
  }

  /** The topics whose changes Redis announces: by a message on a channel, or as changed keys. Either may be lost. */
  get #announced(): Topic[] {
    return [...this.#topics.values()].filter(({ feed }) => feed.polledEveryMs === undefined);
  }

  async #compare(topics: Topic[]): Promise<void> {
    try {
      await this.#fetch(topics);
    } catch (error) {
      this.#options.log.debug({ reason: (error as Error).message }, 'could not compare positions with redis');
      // In a Cluster one primary may be away. The topics of the other primaries are read one by one, so that they still get their states.
      const heard = topics.filter(({ channel }) => this.#options.subscriber.hears(channel));
      if (topics.length > 1) await Promise.allSettled(heard.map((topic) => this.#fetch([topic])));
    }
  }

  /** Reads the topics' states, in one round trip for each feed. */
  async #fetch(topics: readonly Topic[], tries = READ_TRIES): Promise<void> {
    for (const feed of new Set(topics.map((topic) => topic.feed))) {
      const ofFeed = topics.filter((topic) => topic.feed === feed);
      const known = ofFeed.map(({ id, state, relayed }) => ({ id, state, relayed }));
      const found = await feed.fetch(known);
      ofFeed.forEach((topic, index) => {
        const before = known[index]!;
        const { state, relayed = 0 } = found[index] ?? {};
        if (before.state === undefined) topic.openedAfter(relayed);
        if (state === undefined) topic.end(closeCodes.gone, 'gone');
        // After a failover to a replica that lagged behind, Redis gives out positions and message numbers again that watchers have seen. So
        // the watchers must reconnect.
        else if (relayed < before.relayed || (state !== 'same' && !canFollow(state, before.state)))
          topic.end(closeCodes.wentBack, 'went back');
        else if (state !== 'same') topic.advance(state);
        if (feed.isTracked === true && this.#options.trackedKeys?.isRefused === true) topic.stale();
      });
      // A change that was published during the read could not be applied to the earlier state. The topics with such a change are read
      // again.
      const behind = ofFeed.filter((topic) => topic.isBehind);
      if (behind.length > 0 && tries > 1) await this.#fetch(behind, tries - 1);
    }
  }
}

/**
 * The most reads of a topic that still lacks a published change. If a change is then still missing, the topic waits for the next
 * comparison.
 */
const READ_TRIES = 3;

/** Whether the changes of the topic's thing are published on a Redis channel. */
function isPublished({ feed }: Topic): boolean {
  return feed.polledEveryMs === undefined && feed.isTracked !== true;
}

/** The hash tag of a Redis key, with its braces: `{id}` of `{id}:ledger`. */
function hashTagOf(key: string): string {
  return key.slice(0, key.indexOf('}') + 1);
}

/** Whether a state that was read from Redis can come after the known state. If not, Redis has lost changes. */
function canFollow(state: State, known: State | undefined): boolean {
  if (known === undefined) return true;
  if (state.privateAt < known.privateAt) return false;
  if (state.position > known.position) return true;
  return state.position === known.position && state.stamp === known.stamp;
}
