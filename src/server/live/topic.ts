import { Audience } from './audience.ts';
import { ChangeTimer } from './change-timer.ts';
import { closeCodes } from './close-codes.ts';
import type { Feed, Relay, State } from './feed-types.ts';
import { LiveCounts } from './live-counts.ts';
import { LongPolls } from './long-polls.ts';
import { Pushes } from './pushes.ts';
import { Relays } from './relays.ts';
import { WaitingAnswers } from './waiting-answers.ts';
import type { Watcher } from './watcher.ts';

export interface TopicOptions {
  readonly publish: (topic: string, message: string) => void;
  /**
   * The most bytes per second that a topic with up to 1,024 watchers pushes: each message counts once for each watcher. Undefined: no
   * bound. Without a limit, 200 watchers of one address and 50 states of 8 KB a second make the service push 81 MB a second for 0.4 MB that
   * came in.
   */
  readonly bytesPerSecond: number | undefined;
  readonly now: () => number;
  readonly isDraining: () => boolean;
  readonly refresh: (topic: Topic) => void;
  readonly counts?: LiveCounts;
  /** Called when `release` was called for every `hold` of the topic, or when the topic ends. */
  readonly closed: (topic: Topic) => void;
}

/** One watched thing: its latest state, its sockets, and the long-polls that wait for the next state. */
export class Topic {
  readonly feed: Feed;
  readonly id: string;
  readonly channel: string;
  readonly counts: LiveCounts;
  readonly #options: TopicOptions;
  readonly #audience: Audience;
  readonly #pushes: Pushes;
  /** The state may change without a message. */
  readonly #changeTimer: ChangeTimer;
  readonly #longPolls = new LongPolls();
  readonly #relays: Relays;
  readonly #answers: WaitingAnswers;
  /** The position of the latest published change that the topic could not apply, because it lacks an earlier change. */
  #gapAt = 0;
  #position: number | undefined;
  /** While a push is due: the position of the state that all subscribed watchers have. */
  #pushedPosition = 0;
  /** The latest state, which is needed to apply the next change. */
  #state: State | undefined;
  /** The encoded message of the latest state. Undefined until a watcher needs it. */
  #message: string | undefined;
  #isFinal = false;
  #holds = 0;
  #pushCount = 0;
  /** Whether the watchers were sent a final state and are being closed. No push follows. */
  #isFinished = false;
  /** The timer of `stale`, and the time at which it last fired, on the clock of `performance.now()`. */
  #rereading: NodeJS.Timeout | undefined;
  #rereadAt = -Infinity;

  constructor(feed: Feed, id: string, options: TopicOptions) {
    this.feed = feed;
    this.id = id;
    this.channel = feed.channel(id);
    this.#options = options;
    this.#audience = new Audience(this.channel, options.publish);
    this.#pushes = new Pushes({
      intervalMs: feed.pushIntervalMs,
      bytesPerSecond: options.bytesPerSecond,
      push: () => this.#push(),
    });
    this.#changeTimer = new ChangeTimer(options.now, () => options.refresh(this));
    this.counts = options.counts ?? new LiveCounts();
    this.#relays = new Relays({
      watchers: this.#audience.watchers,
      counts: this.counts,
      millisecondsPaidFor: (bytes, watchers) => this.#pushes.millisecondsPaidFor(bytes, watchers),
    });
    this.#answers = new WaitingAnswers(() => this.#answerLate());
  }

  get position(): number {
    return this.#position ?? 0;
  }

  get isKnown(): boolean {
    return this.#position !== undefined;
  }

  get watcherCount(): number {
    return this.#audience.size;
  }

  /** The number of states pushed so far. A watcher that misses a state remembers this number for `catchUp`. */
  get pushCount(): number {
    return this.#pushCount;
  }

  /** The encoded message of the latest state, pushed or not. */
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

  /** Adds a socket, and sends it the state at once. The caller has called `hold` for the socket; `remove` calls `release`. */
  add(watcher: Watcher): void {
    // If a push is due, it goes out before the watcher is added, because the watcher would otherwise get the same state twice.
    if (this.isKnown && this.#pushes.areDueNow) this.#push();
    this.#audience.add(watcher);
    if (!this.isKnown) return watcher.end(closeCodes.gone, 'gone');
    if (this.#pushes.areDue) this.#audience.joinLater(watcher, this.position);
    else this.#audience.subscribe(watcher);
    watcher.sendState(this.message);
    if (this.#isFinal) this.#finish([watcher]);
  }

  /**
   * Called when a watcher missed a state because its buffer is full. The next patches do not fit the state that the watcher has. A patch
   * that is published in the turn in which the watcher drains would even be sent before the state that `catchUp` sends. So the watcher
   * unsubscribes from patches. This happens in a microtask, because uWS may be iterating over the subscribers.
   */
  missed(watcher: Watcher): void {
    this.#audience.missed(watcher);
  }

  /**
   * Sends the latest state to a watcher that missed a state because its buffer was full. The watcher has drained now.
   * @param missedPush the topic's `pushCount` when the watcher missed the state
   */
  catchUp(watcher: Watcher, missedPush: number): void {
    this.#audience.drained(watcher);
    if (!this.isKnown) return;
    if (this.#pushes.areDue) return this.#sendAhead(watcher);
    // The latest state was published in this turn, and uWS sends it to watchers of whole states.
    if (this.#pushCount > missedPush && !watcher.takesPatches) return;
    this.#audience.subscribe(watcher);
    watcher.sendState(this.message);
  }

  /**
   * Sends the latest state to a watcher before the push that is due. The watcher subscribes again after this push, because the patch of the
   * push starts from another state.
   */
  #sendAhead(watcher: Watcher): void {
    if (this.#audience.joinedAt(watcher) === undefined) this.#audience.leave(watcher);
    this.#audience.joinLater(watcher, this.position);
    watcher.sendState(this.message);
  }

  /** Whether a watcher that does not lag was sent a state of at least this position. */
  hasSent(watcher: Watcher, position: number): boolean {
    const sent = this.#pushes.areDue ? (this.#audience.joinedAt(watcher) ?? this.#pushedPosition) : this.position;
    return sent >= position;
  }

  /** Keeps an answer until the watcher was sent a state of at least this position. */
  answerAfter(watcher: Watcher, position: number, text: string): void {
    // Without a state the topic has ended, and its watchers are being closed.
    if (this.isKnown) this.#answers.add({ watcher, position, text });
  }

  /**
   * Called when answers have waited for longer than a push usually takes. If the change has not arrived from Redis, the state is read
   * again. If the push waits because the room has pushed too many bytes, only the watchers of these answers are sent the state.
   */
  #answerLate(): void {
    if (this.#answers.latest > this.position) this.#options.refresh(this);
    if (this.#pushes.areDue) for (const watcher of this.#answers.watchersUpTo(this.position)) this.#sendAhead(watcher);
    this.#answers.sendUpTo(this.position);
  }

  /** Gives the watcher a name. From now on it gets the messages and private parts for this name. */
  name(watcher: Watcher, name: string): void {
    this.#audience.name(watcher, name);
  }

  unname(watcher: Watcher, name: string): void {
    this.#audience.unname(watcher, name);
  }

  remove(watcher: Watcher): void {
    this.#answers.drop(watcher);
    if (this.#audience.remove(watcher)) this.release();
  }

  /** Resolves when the position exceeds `position`, when the topic ends, after `waitMs`, or when `onGone` calls its callback. */
  async changed(position: number, waitMs: number, onGone: (callback: () => void) => void): Promise<void> {
    if (this.position > position || this.#isFinal || waitMs <= 0 || this.#options.isDraining()) return;
    await this.#longPolls.wait(waitMs, onGone);
  }

  take(message: string): void {
    const news = this.feed.take(message, this.#state);
    if (news === undefined) return;
    if (typeof news === 'number') {
      this.#gapAt = news;
      // A topic without its first state is already being read.
      if (this.isKnown) this.#options.refresh(this);
    } else if ('number' in news) this.#relay(news);
    else this.#advance(news);
  }

  /**
   * Reads the thing again because it has changed, but not before the topic may push again. So a thing that changes all the time is read no
   * more often than it is pushed.
   */
  stale(): void {
    if (this.#rereading !== undefined || this.#holds === 0) return;
    const mayReadAt = Math.max(this.#pushes.mayPushAt, this.#rereadAt + this.#pushes.intervalMs);
    this.#rereading = setTimeout(
      () => {
        this.#rereading = undefined;
        this.#rereadAt = performance.now();
        this.#options.refresh(this);
      },
      Math.max(0, mayReadAt - performance.now()),
    );
  }

  /** Whether the topic lacks a change that Redis has published. */
  get isBehind(): boolean {
    return this.isKnown && this.#gapAt > this.position;
  }

  get state(): State | undefined {
    return this.#state;
  }

  get isFinal(): boolean {
    return this.#isFinal;
  }

  /** The number of the last relayed message that arrived. */
  get relayed(): number {
    return this.#relays.last;
  }

  /** Notes the number of the last message before the first state was read. @param relayed the number */
  openedAfter(relayed: number): void {
    this.#relays.openedAfter(relayed);
  }

  /** Takes a state that was read from Redis, unless the topic already has this state or a newer one. */
  advance(state: State): void {
    if (this.#state !== undefined && state.equals?.(this.#state) === true) return;
    if (this.#state !== undefined && state.position > this.position) state.follow?.(this.#state);
    this.#advance(state);
  }

  #advance(state: State): void {
    if (state.position <= this.position || this.#holds === 0) return;
    if (!this.#pushes.areDue) this.#pushedPosition = this.position;
    this.#position = state.position;
    this.#state = state;
    this.#message = undefined;
    this.#isFinal = state.isFinal;
    this.#changeTimer.set(state.changesAt);
    if (this.#audience.size > 0 && !this.#isFinished) this.#pushes.soon();
    else {
      state.pushed?.();
      this.#answers.sendUpTo(state.position);
    }
    this.wake();
    this.#tellPrivate(state.privateOf ?? (state.privateAt > 0 ? [...this.#audience.names] : []));
  }

  #tellPrivate(names: Iterable<string>): void {
    for (const watcher of this.#audience.called(names)) {
      this.counts.privateNotices++;
      watcher.privateChanged();
    }
  }

  #relay({ number, to, message, changesAt }: Relay): void {
    // After a failover has lost messages that were already sent, new messages reuse their numbers.
    if (number <= this.relayed) return this.end(closeCodes.wentBack, 'went back');
    this.#changeTimer.postpone(changesAt);
    const names = this.#isFinished ? [] : to;
    this.#relays.take(number, message, names && new Set(this.#audience.called(names)));
  }

  /** Publishes a message on another uWS topic of the process. uWS sends all that is published in one turn in one write. */
  publish(topic: string, message: string): void {
    this.#options.publish(topic, message);
  }

  /** Closes all watchers. A later watcher of the same thing gets a new topic, and so a fresh read from Redis. */
  end(code: number, reason: string): void {
    this.#position = undefined;
    this.#state = undefined;
    this.stop();
    this.wake();
    this.#options.closed(this);
    for (const watcher of [...this.#audience.watchers]) watcher.end(code, reason);
  }

  wake(): void {
    this.#longPolls.wake();
  }

  stop(): void {
    clearTimeout(this.#rereading);
    this.#rereading = undefined;
    this.#changeTimer.stop();
    this.#relays.stop();
    this.#answers.clear();
    this.#pushes.cancel();
  }

  #push(): void {
    this.#pushes.cancel();
    this.#pushCount++;
    const { size, patchedCount } = this.#audience;
    const patch = patchedCount > 0 && !this.#isFinal ? this.#patchOf(this.#state!) : undefined;
    this.#state!.pushed?.();
    const patched = patch === undefined ? 0 : patchedCount;
    const whole = size > patched ? this.message : '';
    this.#pushes.pushed([patch ?? '', patched], [whole, size - patched]);
    if (!this.#isFinal) {
      this.#audience.publish(whole, patch ?? whole);
      this.#audience.join(this.position, () => this.message);
      return this.#answers.sendUpTo(this.position);
    }
    // The watchers that joined at the final state were sent it by `add` already.
    const watchers = [...this.#audience.watchers].filter((watcher) => this.#audience.joinedAt(watcher) !== this.position);
    for (const watcher of watchers) watcher.sendState(whole);
    this.#answers.sendUpTo(this.position);
    this.#finish(watchers);
  }

  /** The patch, if it is short enough. A patch that is longer than half the state would save too little. */
  #patchOf(state: State): string | undefined {
    const patch = state.encodePatch?.();
    if (patch === undefined) return undefined;
    const isShort = 2 * patch.length <= (state.leastLength ?? 0) || 2 * patch.length <= this.message.length;
    return isShort ? patch : undefined;
  }

  #finish(watchers: Watcher[]): void {
    this.#relays.flush();
    this.#isFinished = true;
    for (const watcher of watchers) watcher.end(closeCodes.finished, 'finished');
  }
}
