import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { closeCodes, type Feed, type State } from './feed.ts';

/** A socket as the hub knows it. */
export interface Watcher {
  /** From now on it gets what is published on the topic. */
  subscribe(topic: string): void;
  sendState(message: string): void;
  /** Ends it once it has what it was sent. */
  end(code: number, reason: string): void;
}

/** No more than 60 messages a second to one watcher: states between are skipped, the last one never is. */
const PUSH_INTERVAL_MS = 17;

/** How often positions are compared with Redis: Pub/Sub loses what is published while a link is down, without a word. */
const COMPARE_INTERVAL_MS = 3000;

const COMPARE_BATCH = 200;
const SUBSCRIBE_BATCH = 1000;

export interface HubParts {
  /** Sends one message to all sockets subscribed to a topic. */
  readonly publish: (topic: string, message: string) => void;
  /** A connection of its own: one that subscribes can do nothing else. */
  readonly subscriber: Redis;
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
    parts.subscriber.on('message', (channel: string, message: string) => this.#topics.get(channel)?.take(message));
    parts.subscriber.on('ready', () => void this.#subscribeAgain());
    this.#comparing = setInterval(() => {
      // A link that is dead without a word is noticed by what it does not answer.
      if (parts.subscriber.status === 'ready') parts.subscriber.ping().catch(() => {});
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
      if (this.#parts.subscriber.status !== 'ready') await this.#fetch([topic]);
    } catch (error) {
      topic.release();
      throw error;
    }
    if (topic.isKnown) return topic;
    topic.release();
    return undefined;
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

interface TopicParts {
  readonly publish: (topic: string, message: string) => void;
  readonly now: () => number;
  readonly isDraining: () => boolean;
  readonly refresh: (topic: Topic) => void;
  /** Nobody watches it, or there is nothing more to see. */
  readonly over: (topic: Topic) => void;
}

/** One watched thing: its latest state, its sockets, and the long-polls that wait for the next. */
export class Topic {
  readonly feed: Feed;
  readonly id: string;
  readonly channel: string;
  opened: Promise<void> = Promise.resolve();
  readonly #parts: TopicParts;
  readonly #watchers = new Set<Watcher>();
  readonly #waiting = new Set<() => void>();
  #state: State | undefined;
  #message = '';
  #isFinal = false;
  #holds = 0;
  #pushedAt = -Infinity;
  #pushCount = 0;
  /** Its watchers were sent a final state and are on their way out: there are no more pushes. */
  #isFinished = false;
  #pushing: NodeJS.Timeout | NodeJS.Immediate | undefined;
  #changing: NodeJS.Timeout | undefined;

  constructor(feed: Feed, id: string, parts: TopicParts) {
    this.feed = feed;
    this.id = id;
    this.channel = feed.channel(id);
    this.#parts = parts;
  }

  get position(): number {
    return this.#state?.position ?? 0;
  }

  get isKnown(): boolean {
    return this.#state !== undefined;
  }

  get watcherCount(): number {
    return this.#watchers.size;
  }

  /** How many states were pushed: what a watcher that missed one goes by. */
  get pushCount(): number {
    return this.#pushCount;
  }

  /** The latest state as its watchers are sent it, whether or not it was pushed already. */
  get message(): string {
    this.#encode();
    return this.#message;
  }

  hold(): void {
    this.#holds++;
  }

  release(): void {
    if (--this.#holds > 0) return;
    this.stop();
    this.#parts.over(this);
  }

  /** Adds a socket, and sends it the state at once. It holds the topic until `remove`. */
  add(watcher: Watcher): void {
    if (!this.isKnown) {
      this.#watchers.add(watcher);
      return watcher.end(closeCodes.gone, 'gone');
    }
    // A push that is due would repeat to this watcher what it is sent now: it goes out to the others first.
    if (this.#pushing !== undefined) this.#push();
    this.#watchers.add(watcher);
    watcher.subscribe(this.channel);
    watcher.sendState(this.message);
    if (this.#isFinal) this.#finish([watcher]);
  }

  /**
   * Sends the latest state to a watcher that was full and is not any more.
   * @param missedPush `pushCount` when it missed one
   */
  catchUp(watcher: Watcher, missedPush: number): void {
    // What is on its way to all of them must not reach this one twice.
    const isComing = this.#pushing !== undefined || this.#pushCount > missedPush;
    if (this.isKnown && !isComing) watcher.sendState(this.message);
  }

  remove(watcher: Watcher): void {
    if (this.#watchers.delete(watcher)) this.release();
  }

  /** Resolves when the position is past `position`, the thing is gone, the time is up, or the waiter gives up. */
  async changed(position: number, waitMs: number, onGone: (callback: () => void) => void): Promise<void> {
    if (this.position > position || this.#isFinal || waitMs <= 0 || this.#parts.isDraining()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, waitMs);
      const waiting = this.#waiting;
      function done(): void {
        clearTimeout(timer);
        waiting.delete(done);
        resolve();
      }
      waiting.add(done);
      onGone(done);
    });
  }

  take(message: string): void {
    this.advance(this.feed.parse(message));
  }

  /** Takes a state in, unless a newer one is known. */
  advance(state: State): void {
    if (state.position <= this.position || this.#holds === 0) return;
    this.#state = state;
    this.#message = '';
    if (this.#watchers.size > 0 && !this.#isFinished) this.#pushSoon();
    else this.#encode();
    this.wake();
  }

  /** There is nothing more to see: whoever asks for it from now on is looked for anew. */
  end(code: number, reason: string): void {
    this.#state = undefined;
    this.stop();
    this.wake();
    this.#parts.over(this);
    for (const watcher of [...this.#watchers]) watcher.end(code, reason);
  }

  wake(): void {
    for (const done of [...this.#waiting]) done();
  }

  stop(): void {
    clearTimeout(this.#changing);
    this.#cancelPush();
  }

  #cancelPush(): void {
    clearTimeout(this.#pushing as NodeJS.Timeout);
    clearImmediate(this.#pushing as NodeJS.Immediate);
    this.#pushing = undefined;
  }

  /** Changes of one turn of the event loop, or closer together than 1/60 s, go out as the last of them. */
  #pushSoon(): void {
    if (this.#pushing !== undefined) return;
    // Timers leave fractions off, which would make it 62 a second.
    const waitMs = Math.ceil(this.#pushedAt + PUSH_INTERVAL_MS - performance.now());
    this.#pushing = waitMs > 0 ? setTimeout(() => this.#push(), waitMs) : setImmediate(() => this.#push());
  }

  #push(): void {
    this.#cancelPush();
    this.#pushedAt = performance.now();
    this.#pushCount++;
    this.#encode();
    if (!this.#isFinal) return this.#parts.publish(this.channel, this.#message);
    const watchers = [...this.#watchers];
    for (const watcher of watchers) watcher.sendState(this.#message);
    this.#finish(watchers);
  }

  #finish(watchers: Watcher[]): void {
    this.#isFinished = true;
    for (const watcher of watchers) watcher.end(closeCodes.finished, 'finished');
  }

  #encode(): void {
    if (this.#message !== '' || this.#state === undefined) return;
    const { message, isFinal, changesAt } = this.#state.encode();
    this.#message = message;
    this.#isFinal = isFinal;
    clearTimeout(this.#changing);
    if (changesAt === undefined) return;
    // setTimeout's own bound is 24.8 days; whatever is further off is looked at when positions are compared.
    this.#changing = setTimeout(() => this.#parts.refresh(this), Math.min(Math.max(changesAt - this.#parts.now(), 0) + 5, 2 ** 31 - 1));
  }
}
