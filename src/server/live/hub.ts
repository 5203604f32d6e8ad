import type { Logger } from 'pino';
import type { Subscriber } from '../../redis/subscriber.ts';
import { closeCodes, type Feed } from './feed.ts';
import { Topic } from './topic.ts';

/** How often positions are compared with Redis: Pub/Sub loses what is published while a link is down, without a word. */
const COMPARE_INTERVAL_MS = 3000;

const COMPARE_BATCH = 200;
const SUBSCRIBE_BATCH = 1000;

export interface HubParts {
  /** Sends one message to all sockets subscribed to a topic. */
  readonly publish: (topic: string, message: string) => void;
  /** As `TopicParts` says. */
  readonly bytesPerSecond?: number;
  readonly subscriber: Subscriber;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * What this process's sockets and long-polls watch: for each thing one topic with its latest state, encoded once, and one
 * Redis subscription, both as long as somebody watches.
 */
export class Hub {
  readonly #parts: HubParts;
  readonly #topics = new Map<string, Topic>();
  readonly #comparing: NodeJS.Timeout;
  #draining = false;

  constructor(parts: HubParts) {
    this.#parts = parts;
    parts.subscriber.on('message', (channel, message) => this.#topics.get(channel)?.take(message));
    parts.subscriber.on('ready', () => void this.#subscribeAgain());
    this.#comparing = setInterval(() => {
      // A link that is dead without a word is noticed by what it does not answer.
      if (parts.subscriber.isReady) parts.subscriber.ping().catch(() => {});
      void this.#compareAll();
    }, COMPARE_INTERVAL_MS);
  }

  /**
   * Watches a thing until `release` is called on the topic once.
   * @returns undefined where there is no such thing
   */
  async watch(feed: Feed, id: string): Promise<Topic | undefined> {
    const channel = feed.channel(id);
    let topic = this.#topics.get(channel);
    if (topic === undefined) {
      topic = new Topic(feed, id, {
        publish: this.#parts.publish,
        bytesPerSecond: this.#parts.bytesPerSecond,
        now: this.#parts.now,
        isDraining: () => this.#draining,
        refresh: (stale) => void this.#compare([stale]),
        over: (unused) => this.#drop(unused),
      });
      this.#topics.set(channel, topic);
      topic.opened = this.#open(topic);
    }
    topic.hold();
    try {
      await topic.opened;
      // Its changes may be passing us by: nobody is let in on a state that was not looked at.
      if (!this.#parts.subscriber.isReady) await this.#fetch([topic]);
    } catch (error) {
      topic.release();
      throw error;
    }
    if (topic.isKnown) return topic;
    topic.release();
    return undefined;
  }

  /**
   * A long-poll: resolves at the first state past `since` (left out: past the one that stands), after `waitMs`, or when the
   * client is gone. Calls `onFound` as soon as it is known that there is such a thing.
   * @returns false where there is no such thing
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

  /** Answers every long-poll with what is known, now and from now on. */
  drain(): void {
    this.#draining = true;
    for (const topic of this.#topics.values()) topic.wake();
  }

  close(): void {
    clearInterval(this.#comparing);
    for (const topic of this.#topics.values()) topic.stop();
    this.#topics.clear();
  }

  get topicCount(): number {
    return this.#topics.size;
  }

  /** First subscribed, then read: what changes in between is published to us. */
  async #open(topic: Topic): Promise<void> {
    try {
      await this.#parts.subscriber.subscribe(topic.channel);
    } catch {
      // The link is down: subscribed to with all others once it is back, and compared until then.
    }
    await this.#fetch([topic]);
  }

  #drop(topic: Topic): void {
    if (this.#topics.get(topic.channel) !== topic) return;
    this.#topics.delete(topic.channel);
    this.#parts.subscriber.unsubscribe(topic.channel).catch(() => {
      // The link is down: on the next one only what is watched then is subscribed to.
    });
  }

  /** What was published while the link was down is lost: first subscribed, then compared. */
  async #subscribeAgain(): Promise<void> {
    const channels = [...this.#topics.keys()];
    try {
      for (let start = 0; start < channels.length; start += SUBSCRIBE_BATCH) {
        await this.#parts.subscriber.subscribe(...channels.slice(start, start + SUBSCRIBE_BATCH));
      }
    } catch (error) {
      this.#parts.log.debug({ reason: (error as Error).message }, 'channels could not be subscribed to again');
    }
    // Those that nobody watches any more since they were listed.
    const unused = channels.filter((channel) => !this.#topics.has(channel));
    if (unused.length > 0) this.#parts.subscriber.unsubscribe(...unused).catch(() => {});
    await this.#compareAll();
  }

  async #compareAll(): Promise<void> {
    const topics = [...this.#topics.values()].filter((topic) => topic.isKnown);
    for (let start = 0; start < topics.length; start += COMPARE_BATCH) await this.#compare(topics.slice(start, start + COMPARE_BATCH));
  }

  async #compare(topics: Topic[]): Promise<void> {
    try {
      await this.#fetch(topics);
    } catch (error) {
      this.#parts.log.debug({ reason: (error as Error).message }, 'positions could not be compared');
    }
  }

  /** One round trip for each kind of thing. */
  async #fetch(topics: Topic[]): Promise<void> {
    for (const feed of new Set(topics.map((topic) => topic.feed))) {
      const ofFeed = topics.filter((topic) => topic.feed === feed);
      const known = ofFeed.map(({ id, position }) => ({ id, position }));
      const states = await feed.fetch(known);
      ofFeed.forEach((topic, index) => {
        const state = states[index];
        if (state === undefined) topic.end(closeCodes.gone, 'gone');
        else if (state === 'same') return;
        // A fail-over to a replica that lagged behind. Positions start again below what was sent, so watchers do too.
        else if (state.position < known[index]!.position) topic.end(closeCodes.wentBack, 'went back');
        else topic.advance(state);
      });
    }
  }
}
