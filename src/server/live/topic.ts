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

/**
 * A room of more watchers than this may push more bytes, in proportion: the interval between pushes then depends on the
 * size of the state alone. One address can never be so many watchers, so its share of the traffic stays bounded.
 */
const WATCHERS_WITHIN_BOUND = 1024;

export interface TopicParts {
  readonly publish: (topic: string, message: string) => void;
  /** Most that one topic of up to 1,024 watchers pushes: bytes of the state times watchers. Undefined: no bound. */
  readonly bytesPerSecond: number | undefined;
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
  /** Who came while a push was due, and the position sent to them: they subscribe after it. */
  readonly #joining = new Map<Watcher, number>();
  readonly #waiting = new Set<() => void>();
  #position: number | undefined;
  /** The latest state, until it is encoded: a text once sent need not be kept twice. */
  #state: State | undefined;
  #message = '';
  #isFinal = false;
  #holds = 0;
  /** When the next push may go out, on the clock of `performance.now()`. */
  #mayPushAt = -Infinity;
  #pushCount = 0;
  /** Its watchers were sent a final state and are on their way out: there are no more pushes. */
  #isFinished = false;
  /** A push is due: at the end of this read from Redis, or when the timer says so. */
  #pushing: NodeJS.Timeout | 'now' | undefined;
  /** When it changes by itself, and when that is looked after: never later, but often earlier. */
  #changesAt = Infinity;
  #looksAt = Infinity;
  #looking: NodeJS.Timeout | undefined;

  constructor(feed: Feed, id: string, parts: TopicParts) {
    this.feed = feed;
    this.id = id;
    this.channel = feed.channel(id);
    this.#parts = parts;
  }

  get position(): number {
    return this.#position ?? 0;
  }

  get isKnown(): boolean {
    return this.#position !== undefined;
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
    // A push that is due would repeat to this watcher what it is sent now.
    if (this.#pushing === 'now') this.#push();
    this.#watchers.add(watcher);
    if (this.#pushing === undefined) watcher.subscribe(this.channel);
    else this.#joining.set(watcher, this.position);
    watcher.sendState(this.message);
    if (this.#isFinal) this.#finish([watcher]);
  }

  /**
   * Sends the latest state to a watcher that was full and is not any more.
   * @param missedPush `pushCount` when it missed one
   */
  catchUp(watcher: Watcher, missedPush: number): void {
    // What is on its way to all of them must not reach this one twice.
    const isJoining = this.#joining.has(watcher);
    const isComing = (this.#pushing !== undefined && !isJoining) || this.#pushCount > missedPush;
    if (!this.isKnown || isComing) return;
    watcher.sendState(this.message);
    if (isJoining) this.#joining.set(watcher, this.position);
  }

  remove(watcher: Watcher): void {
    this.#joining.delete(watcher);
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
    this.#position = state.position;
    this.#state = state;
    if (this.#watchers.size > 0 && !this.#isFinished) this.#pushSoon();
    else this.#encode();
    this.wake();
  }

  /** There is nothing more to see: whoever asks for it from now on is looked for anew. */
  end(code: number, reason: string): void {
    this.#position = undefined;
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
    clearTimeout(this.#looking);
    this.#looksAt = Infinity;
    this.#cancelPush();
  }

  #cancelPush(): void {
    if (this.#pushing !== 'now') clearTimeout(this.#pushing);
    this.#pushing = undefined;
  }

  /** Changes that one read from Redis brings, or that come before the next push may go out, go out as the last of them. */
  #pushSoon(): void {
    if (this.#pushing !== undefined) return;
    // Timers leave fractions off, which would make it 62 a second.
    const waitMs = Math.ceil(this.#mayPushAt - performance.now());
    this.#pushing = waitMs > 0 ? setTimeout(() => this.#push(), waitMs) : 'now';
    if (this.#pushing === 'now') queueMicrotask(() => this.#pushing === 'now' && this.#push());
  }

  #push(): void {
    this.#cancelPush();
    this.#pushCount++;
    this.#encode();
    this.#mayPushAt = performance.now() + Math.max(PUSH_INTERVAL_MS, this.#millisecondsPaidFor());
    if (!this.#isFinal) {
      this.#parts.publish(this.channel, this.#message);
      return this.#join();
    }
    // Who joined on the final state was sent off with it.
    const watchers = [...this.#watchers].filter((watcher) => this.#joining.get(watcher) !== this.position);
    for (const watcher of watchers) watcher.sendState(this.#message);
    this.#finish(watchers);
  }

  /** How long the push of this message uses up what the topic may push. */
  #millisecondsPaidFor(): number {
    const { bytesPerSecond } = this.#parts;
    if (bytesPerSecond === undefined) return 0;
    const bytesEach = Buffer.byteLength(this.#message);
    return (1000 * bytesEach * Math.min(this.#watchers.size, WATCHERS_WITHIN_BOUND)) / bytesPerSecond;
  }

  #join(): void {
    for (const [watcher, position] of this.#joining) {
      if (position < this.position) watcher.sendState(this.#message);
      watcher.subscribe(this.channel);
    }
    this.#joining.clear();
  }

  #finish(watchers: Watcher[]): void {
    this.#isFinished = true;
    for (const watcher of watchers) watcher.end(closeCodes.finished, 'finished');
  }

  #encode(): void {
    if (this.#state === undefined) return;
    const { message, isFinal, changesAt } = this.#state.encode();
    this.#state = undefined;
    this.#message = message;
    this.#isFinal = isFinal;
    this.#changesAt = changesAt ?? Infinity;
    // Most put it off with every change: a timer that comes too early is cheaper than one set anew each time.
    if (this.#changesAt < this.#looksAt) this.#lookLater();
  }

  /** Has the thing looked at when it changes by itself. */
  #lookLater(): void {
    clearTimeout(this.#looking);
    this.#looksAt = this.#changesAt;
    if (this.#looksAt === Infinity) return;
    // setTimeout's own bound is 24.8 days.
    const waitMs = Math.min(Math.max(this.#looksAt - this.#parts.now(), 0) + 5, 2 ** 31 - 1);
    this.#looking = setTimeout(() => {
      if (this.#changesAt > this.#parts.now()) return this.#lookLater();
      this.#looksAt = Infinity;
      this.#parts.refresh(this);
    }, waitMs);
  }
}
