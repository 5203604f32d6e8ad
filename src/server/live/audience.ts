import type { Watcher } from './watcher.ts';

/** The watchers of a topic, and which of them lack a state. */
export class Audience {
  readonly #channel: string;
  /** The uWS topic of the watchers that take patches. */
  readonly #patchChannel: string;
  readonly #publishOn: (topic: string, message: string) => void;
  readonly #watchers = new Set<Watcher>();
  /**
   * The watchers that came while a push was due, each with the position of the state that was sent to it. They subscribe after the push.
   */
  readonly #joining = new Map<Watcher, number>();
  /** The watchers that take patches and missed a state. They get no patch until a whole state was sent to them. */
  readonly #behind = new Set<Watcher>();
  /** The watchers of each name. Messages and private parts are addressed to names. */
  readonly #named = new Map<string, Set<Watcher>>();
  #patchedCount = 0;

  constructor(channel: string, publish: (topic: string, message: string) => void) {
    this.#channel = channel;
    this.#patchChannel = `${channel}#patches`;
    this.#publishOn = publish;
  }

  get watchers(): ReadonlySet<Watcher> {
    return this.#watchers;
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** How many of the watchers take patches. */
  get patchedCount(): number {
    return this.#patchedCount;
  }

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
    if (watcher.takesPatches) this.#patchedCount++;
  }

  /** @returns false if it was no watcher */
  remove(watcher: Watcher): boolean {
    this.#joining.delete(watcher);
    this.#behind.delete(watcher);
    if (!this.#watchers.delete(watcher)) return false;
    if (watcher.takesPatches) this.#patchedCount--;
    return true;
  }

  /** Subscribes the watcher to the coming pushes. */
  subscribe(watcher: Watcher): void {
    watcher.subscribe(watcher.takesPatches ? this.#patchChannel : this.#channel);
  }

  /** Subscribes the watcher after the push that is due. @param position of the state that it has, or is sent now */
  joinLater(watcher: Watcher, position: number): void {
    this.#joining.set(watcher, position);
  }

  /** The position of the state that a joining watcher was sent. Undefined: it is not joining. */
  joinedAt(watcher: Watcher): number | undefined {
    return this.#joining.get(watcher);
  }

  /** Subscribes the joining watchers, and sends the latest state to those that do not have it yet. */
  join(position: number, message: () => string): void {
    for (const [watcher, joinedAt] of this.#joining) {
      // A watcher that lags is left out: `Topic.catchUp` subscribes it once it has drained.
      if (this.#behind.has(watcher)) continue;
      if (joinedAt < position) watcher.sendState(message());
      this.subscribe(watcher);
    }
    this.#joining.clear();
  }

  /** As `Topic.missed`. */
  missed(watcher: Watcher): void {
    if (!watcher.takesPatches) return;
    this.#behind.add(watcher);
    queueMicrotask(() => this.#behind.has(watcher) && this.leave(watcher));
  }

  drained(watcher: Watcher): void {
    this.#behind.delete(watcher);
  }

  /** Ends the watcher's subscription to the coming pushes. */
  leave(watcher: Watcher): void {
    watcher.unsubscribe(watcher.takesPatches ? this.#patchChannel : this.#channel);
  }

  /** @param forPatched the message for the watchers that take patches; `message` is for the others */
  publish(message: string, forPatched: string): void {
    if (this.#watchers.size > this.#patchedCount) this.#publishOn(this.#channel, message);
    if (this.#patchedCount > 0) this.#publishOn(this.#patchChannel, forPatched);
  }

  get names(): Iterable<string> {
    return this.#named.keys();
  }

  /** Gives the watcher a name. From now on it gets the messages and private parts for this name. */
  name(watcher: Watcher, name: string): void {
    const named = this.#named.get(name) ?? new Set();
    this.#named.set(name, named.add(watcher));
  }

  unname(watcher: Watcher, name: string): void {
    const named = this.#named.get(name);
    named?.delete(watcher);
    if (named?.size === 0) this.#named.delete(name);
  }

  /** The watchers of each of the names. */
  *called(names: Iterable<string>): Iterable<Watcher> {
    for (const name of names) yield* this.#named.get(name) ?? [];
  }
}
