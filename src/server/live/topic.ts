import { closeCodes } from './close-codes.ts';
import type { Feed, Relay, State } from './feed.ts';
import { LiveCounts } from './live-counts.ts';
import { Relays } from './relays.ts';
import type { Watcher } from './watcher.ts';

/**
 * The least milliseconds between two pushes: a watcher gets at most 60 states a second. States in between are skipped, but never the
 * latest.
 */
const PUSH_INTERVAL_MS = 17;

/**
 * The number of watchers up to which the bound on bytes per second holds for the whole topic. Beyond that the bound grows with the number
 * of watchers, so the interval between pushes depends only on the size of the state. One address has fewer watchers (SOCKETS_PER_ADDRESS,
 * 200 by default), so its traffic stays bounded.
 */
const WATCHERS_WITHIN_BOUND = 1024;

export interface TopicOptions {
  readonly publish: (topic: string, message: string) => void;
  /**
   * The most bytes per second that a topic of up to 1,024 watchers pushes: the size of each message times its watchers. Undefined: no
   * bound. Without a bound, 200 watchers of one address and 50 states of 8 KB a second push 81 MB a second for 0.4 MB that came in.
   */
  readonly bytesPerSecond: number | undefined;
  readonly now: () => number;
  readonly isDraining: () => boolean;
  readonly refresh: (topic: Topic) => void;
  readonly counts?: LiveCounts;
  /** Called when every `hold` of the topic was released, or when the topic ends. */
  readonly closed: (topic: Topic) => void;
}

/** One watched thing: its latest state, its sockets, and the long-polls that wait for the next state. */
export class Topic {
  readonly feed: Feed;
  readonly id: string;
  readonly channel: string;
  /** The uWS topic of the watchers that take patches. */
  readonly #patchChannel: string;
  readonly counts: LiveCounts;
  readonly #options: TopicOptions;
  readonly #watchers = new Set<Watcher>();
  /** The watchers that came while a push was due, each with the position of the state that it was sent. They subscribe after the push. */
  readonly #joining = new Map<Watcher, number>();
  /** The watchers that take patches and missed a state. They get no patch until they have got a whole state. */
  readonly #behind = new Set<Watcher>();
  /** Messages on other uWS topics that go out together with the push that is due. */
  readonly #withPush: [topic: string, message: string][] = [];
  /** How many of the watchers take patches. */
  #patchedCount = 0;
  readonly #waiting = new Set<() => void>();
  /** The watchers by the name to which messages and private parts are addressed. */
  readonly #named = new Map<string, Set<Watcher>>();
  readonly #relays: Relays;
  /** The position of the latest published change that the topic could not apply, because it lacks an earlier change. */
  #gapAt = 0;
  #position: number | undefined;
  /** The latest state, which is needed to apply the next change. */
  #state: State | undefined;
  /** The encoded message of the latest state. Undefined until a watcher needs it. */
  #message: string | undefined;
  #isFinal = false;
  #holds = 0;
  /** When the next push may go out at the earliest, on the clock of `performance.now()`. */
  #mayPushAt = -Infinity;
  #pushCount = 0;
  /** Whether the watchers got a final state and are being closed. No push follows. */
  #isFinished = false;
  /** The push that is due: `now` if it goes out at the end of this read from Redis, else the timer that sends it. */
  #pushing: NodeJS.Timeout | 'now' | undefined;
  /**
   * When the state changes next without a message (an expiry), and when the timer for this change fires. The timer may fire before the
   * change, never after.
   */
  #changesAt = Infinity;
  #checksAt = Infinity;
  #checking: NodeJS.Timeout | undefined;
  /** The timer of `stale`, and when it last fired, on the clock of `performance.now()`. */
  #rereading: NodeJS.Timeout | undefined;
  #rereadAt = -Infinity;

  constructor(feed: Feed, id: string, options: TopicOptions) {
    this.feed = feed;
    this.id = id;
    this.channel = feed.channel(id);
    this.#patchChannel = `${this.channel}#patches`;
    this.#options = options;
    this.counts = options.counts ?? new LiveCounts();
    this.#relays = new Relays({
      watchers: this.#watchers,
      counts: this.counts,
      millisecondsPaidFor: (bytes, watchers) => this.#millisecondsPaidFor(bytes, watchers),
    });
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

  /** The number of states pushed so far. A watcher that misses a state remembers this number for `catchUp`. */
  get pushCount(): number {
    return this.#pushCount;
  }

  /** The encoded message of the latest state, whether or not it was pushed. */
  get message(): string {
    return (this.#message ??= this.#state?.encode() ?? '');
  }

  hold(): void {
    this.#holds++;
  }

  release(): void {
    if (--this.#holds > 0) return;
    this.stop();
    this.#options.closed(this);
  }

  /** Adds a socket, and sends it the state at once. `hold` was called for the socket before; `remove` calls `release`. */
  add(watcher: Watcher): void {
    if (!this.isKnown) {
      this.#watchers.add(watcher);
      return watcher.end(closeCodes.gone, 'gone');
    }
    // If a push is due, it goes out before the watcher is added: the watcher would otherwise get the same state twice.
    if (this.#pushing === 'now') this.#push();
    this.#watchers.add(watcher);
    if (watcher.takesPatches) this.#patchedCount++;
    if (this.#pushing === undefined) watcher.subscribe(this.#channelOf(watcher));
    else this.#joining.set(watcher, this.position);
    watcher.sendState(this.message);
    if (this.#isFinal) this.#finish([watcher]);
  }

  /**
   * A watcher missed a state because its buffer is full. The next patches do not fit the state that the watcher has, and a patch published
   * in the turn in which it drains would be sent before the state that `catchUp` sends. So the watcher unsubscribes from patches, in a
   * microtask, because uWS may be going through the subscribers.
   */
  missed(watcher: Watcher): void {
    if (!watcher.takesPatches) return;
    this.#behind.add(watcher);
    queueMicrotask(() => this.#behind.has(watcher) && watcher.unsubscribe(this.#patchChannel));
  }

  /**
   * Sends the latest state to a watcher that missed a state because its buffer was full, and has drained now.
   * @param missedPush the topic's `pushCount` when the watcher missed the state
   */
  catchUp(watcher: Watcher, missedPush: number): void {
    this.#behind.delete(watcher);
    if (!this.isKnown) return;
    const isJoining = this.#joining.has(watcher);
    const isPushing = this.#pushing !== undefined && !isJoining;
    // The patch of the coming push starts from a state that this watcher missed, so the watcher subscribes again only after the push.
    if (isPushing && watcher.takesPatches) watcher.unsubscribe(this.#patchChannel);
    // A watcher of whole states gets the latest state by a push, so it must not be sent a second time.
    else if (isPushing || (this.#pushCount > missedPush && !watcher.takesPatches)) return;
    if (isPushing || isJoining) this.#joining.set(watcher, this.position);
    else watcher.subscribe(this.#channelOf(watcher));
    watcher.sendState(this.message);
  }

  /** Gives the watcher a name: from now on it gets the messages and private parts for this name. */
  name(watcher: Watcher, name: string): void {
    const named = this.#named.get(name) ?? new Set();
    this.#named.set(name, named.add(watcher));
  }

  unname(watcher: Watcher, name: string): void {
    const named = this.#named.get(name);
    named?.delete(watcher);
    if (named?.size === 0) this.#named.delete(name);
  }

  remove(watcher: Watcher): void {
    this.#joining.delete(watcher);
    this.#behind.delete(watcher);
    if (!this.#watchers.delete(watcher)) return;
    if (watcher.takesPatches) this.#patchedCount--;
    this.release();
  }

  #channelOf({ takesPatches }: Watcher): string {
    return takesPatches ? this.#patchChannel : this.channel;
  }

  /** Resolves when the position is past `position`, when the topic ends, after `waitMs`, or when `onGone` calls back. */
  async changed(position: number, waitMs: number, onGone: (callback: () => void) => void): Promise<void> {
    if (this.position > position || this.#isFinal || waitMs <= 0 || this.#options.isDraining()) return;
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
    const news = this.feed.take(message, this.#state);
    if (news === undefined) return;
    if (typeof news === 'number') {
      this.#gapAt = news;
      // A topic without its first state is being read already.
      if (this.isKnown) this.#options.refresh(this);
    } else if ('number' in news) this.#relay(news);
    else this.#advance(news);
  }

  /**
   * Reads the thing again, because it has changed: as soon as its next push is allowed. So a thing that changes all the time is read as
   * often as it is pushed.
   */
  stale(): void {
    if (this.#rereading !== undefined || this.#holds === 0) return;
    const mayReadAt = Math.max(this.#mayPushAt, this.#rereadAt + this.#pushIntervalMs);
    this.#rereading = setTimeout(
      () => {
        this.#rereading = undefined;
        this.#rereadAt = performance.now();
        this.#options.refresh(this);
      },
      Math.max(0, mayReadAt - performance.now()),
    );
  }

  get #pushIntervalMs(): number {
    return this.feed.pushIntervalMs ?? PUSH_INTERVAL_MS;
  }

  /** Whether the topic lacks a change that Redis has published. */
  get isBehind(): boolean {
    return this.isKnown && this.#gapAt > this.position;
  }

  get state(): State | undefined {
    return this.#state;
  }

  /** The number of the last relayed message that came. */
  get relayed(): number {
    return this.#relays.last;
  }

  /** Notes the number of the last message before the first state was read. @param relayed the number */
  openedAfter(relayed: number): void {
    this.#relays.openedAfter(relayed);
  }

  /** Takes a state that was read from Redis, unless the topic has this state or a newer one. */
  advance(state: State): void {
    if (this.#state !== undefined && state.equals?.(this.#state) === true) return;
    if (this.#state !== undefined && state.position > this.position) state.follow?.(this.#state);
    this.#advance(state);
  }

  #advance(state: State): void {
    if (state.position <= this.position || this.#holds === 0) return;
    this.#position = state.position;
    this.#state = state;
    this.#message = undefined;
    this.#isFinal = state.isFinal;
    this.#changesAt = state.changesAt;
    // The timer is set again only if the change comes earlier. Most changes postpone the expiry, and a timer that sometimes fires too early
    // costs less than a new timer at every change.
    if (this.#changesAt < this.#checksAt) this.#checkLater();
    if (this.#watchers.size > 0 && !this.#isFinished) this.#pushSoon();
    else state.pushed?.();
    this.wake();
    this.#tellPrivate(state.privateOf ?? (state.privateAt > 0 ? [...this.#named.keys()] : []));
  }

  #tellPrivate(names: Iterable<string>): void {
    for (const name of names)
      for (const watcher of this.#named.get(name) ?? []) {
        this.counts.privateNotices++;
        watcher.privateChanged();
      }
  }

  #relay({ number, to, message, changesAt }: Relay): void {
    // A failover has lost messages that were already sent, and new messages reuse their numbers.
    if (number <= this.relayed) return this.end(closeCodes.wentBack, 'went back');
    this.#changesAt = Math.max(this.#changesAt, changesAt);
    const names = this.#isFinished ? [] : to;
    this.#relays.take(number, message, names && new Set(names.flatMap((name) => [...(this.#named.get(name) ?? [])])));
  }

  /** Publishes a message on another uWS topic of the process: together with the push that is due, or else at once. */
  publishWithPush(topic: string, message: string): void {
    const isSoon = this.#pushing === 'now' || this.#mayPushAt - performance.now() <= this.#pushIntervalMs;
    if (this.#pushing === undefined || !isSoon) this.#options.publish(topic, message);
    else this.#withPush.push([topic, message]);
  }

  /** @param forPatched the message for the watchers that take patches; `message` is for the others */
  #publish(message: string, forPatched: string): void {
    if (this.#watchers.size > this.#patchedCount) this.#options.publish(this.channel, message);
    if (this.#patchedCount > 0) this.#options.publish(this.#patchChannel, forPatched);
  }

  #publishWaiting(): void {
    for (const [topic, message] of this.#withPush.splice(0)) this.#options.publish(topic, message);
  }

  /** Closes all watchers. A later watcher of the same thing gets a new topic, and so a fresh read from Redis. */
  end(code: number, reason: string): void {
    this.#position = undefined;
    this.#state = undefined;
    this.stop();
    this.wake();
    this.#options.closed(this);
    for (const watcher of [...this.#watchers]) watcher.end(code, reason);
  }

  wake(): void {
    for (const done of [...this.#waiting]) done();
  }

  stop(): void {
    clearTimeout(this.#checking);
    clearTimeout(this.#rereading);
    this.#rereading = undefined;
    this.#checksAt = Infinity;
    this.#relays.stop();
    this.#cancelPush();
  }

  #cancelPush(): void {
    if (this.#pushing !== 'now') clearTimeout(this.#pushing);
    this.#pushing = undefined;
    this.#publishWaiting();
  }

  /**
   * Pushes the latest state as soon as a push is allowed. Of several changes that come in one read from Redis, or before that moment, only
   * the last is pushed. A microtask is used because it saves a turn of the event loop between a change and its push.
   */
  #pushSoon(): void {
    if (this.#pushing !== undefined) return;
    // Rounded up, because timers drop fractions of a millisecond, which would allow 62 pushes a second.
    const waitMs = Math.ceil(this.#mayPushAt - performance.now());
    this.#pushing = waitMs > 0 ? setTimeout(() => this.#push(), waitMs) : 'now';
    if (this.#pushing === 'now') queueMicrotask(() => this.#pushing === 'now' && this.#push());
  }

  #push(): void {
    this.#cancelPush();
    this.#pushCount++;
    const patch = this.#patchedCount > 0 && !this.#isFinal ? this.#patchOf(this.#state!) : undefined;
    this.#state!.pushed?.();
    const patched = patch === undefined ? 0 : this.#patchedCount;
    const whole = this.#watchers.size > patched ? this.message : '';
    const paidMs = this.#millisecondsOf(patch ?? '', patched) + this.#millisecondsOf(whole, this.#watchers.size - patched);
    this.#mayPushAt = performance.now() + Math.max(this.#pushIntervalMs, paidMs);
    if (!this.#isFinal) {
      this.#publish(whole, patch ?? whole);
      return this.#join();
    }
    // The watchers that joined at the final state have got it from `add` already.
    const watchers = [...this.#watchers].filter((watcher) => this.#joining.get(watcher) !== this.position);
    for (const watcher of watchers) watcher.sendState(whole);
    this.#finish(watchers);
  }

  /** The patch, if it is short enough. A patch that is longer than half the state saves too little. */
  #patchOf(state: State): string | undefined {
    const patch = state.encodePatch?.();
    if (patch === undefined) return undefined;
    const isShort = 2 * patch.length <= (state.leastLength ?? 0) || 2 * patch.length <= this.message.length;
    return isShort ? patch : undefined;
  }

  /** The time, in milliseconds, for which a message of this length to this number of watchers uses up the topic's bytes per second. */
  #millisecondsPaidFor(bytes: number, watchers: number): number {
    const { bytesPerSecond } = this.#options;
    return bytesPerSecond === undefined ? 0 : (1000 * bytes * Math.min(watchers, WATCHERS_WITHIN_BOUND)) / bytesPerSecond;
  }

  /** As `#millisecondsPaidFor`, for a text. Its bytes are counted only if they could delay the next push. */
  #millisecondsOf(message: string, watchers: number): number {
    const mostMs = this.#millisecondsPaidFor(3 * message.length, watchers);
    return mostMs < PUSH_INTERVAL_MS ? mostMs : this.#millisecondsPaidFor(Buffer.byteLength(message), watchers);
  }

  #join(): void {
    for (const [watcher, position] of this.#joining) {
      // A watcher that lags is left out: `catchUp` subscribes it again once it has drained.
      if (this.#behind.has(watcher)) continue;
      if (position < this.position) watcher.sendState(this.message);
      watcher.subscribe(this.#channelOf(watcher));
    }
    this.#joining.clear();
  }

  #finish(watchers: Watcher[]): void {
    this.#relays.flush();
    this.#isFinished = true;
    for (const watcher of watchers) watcher.end(closeCodes.finished, 'finished');
  }

  /** Sets the timer that refreshes the topic when its state changes without a message. */
  #checkLater(): void {
    clearTimeout(this.#checking);
    this.#checksAt = this.#changesAt;
    if (this.#checksAt === Infinity) return;
    // setTimeout takes at most 2^31 − 1 ms, 24.8 days.
    const waitMs = Math.min(Math.max(this.#checksAt - this.#options.now(), 0) + 5, 2 ** 31 - 1);
    this.#checking = setTimeout(() => {
      if (this.#changesAt > this.#options.now()) return this.#checkLater();
      this.#checksAt = Infinity;
      this.#options.refresh(this);
    }, waitMs);
  }
}
