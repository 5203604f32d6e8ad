import type { Watcher } from './watcher.ts';

/**
 * Milliseconds after which an answer that still waits counts as late. Usually no answer waits for so long: a push mostly takes 17 ms at
 * most, and the change is published before the script of the act has answered.
 */
const LATE_MS = 500;

interface WaitingAnswer {
  readonly watcher: Watcher;
  /** The position of the state after which the answer may be sent. */
  readonly position: number;
  readonly text: string;
}

/**
 * Answers to acts that name a state which was not sent to the actor yet. An answer must not overtake this state. A player who knows that an
 * act is done would otherwise act again on an older state.
 */
export class WaitingAnswers {
  #waiting: WaitingAnswer[] = [];
  readonly #late: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param late called when answers have waited for LATE_MS */
  constructor(late: () => void) {
    this.#late = late;
  }

  /** The highest position for which an answer waits; 0 if none waits. */
  get latest(): number {
    return this.#waiting.reduce((latest, { position }) => Math.max(latest, position), 0);
  }

  add(answer: WaitingAnswer): void {
    this.#waiting.push(answer);
    this.#timer ??= setTimeout(() => this.#wait(), LATE_MS);
  }

  /** The watchers with answers that wait for a state of at most this position. */
  watchersUpTo(latest: number): Set<Watcher> {
    return new Set(this.#waiting.filter(({ position }) => position <= latest).map(({ watcher }) => watcher));
  }

  /** Sends the answers that wait for a state of at most this position, in the order in which they came. */
  sendUpTo(latest: number): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ position }) => position > latest);
    if (this.#waiting.length === 0) this.#stop();
    for (const { watcher, position, text } of waiting) if (position <= latest) watcher.sendAfter(position, text);
  }

  /** Forgets the answers of a watcher that has closed. */
  drop(watcher: Watcher): void {
    if (this.#waiting.length > 0) this.#waiting = this.#waiting.filter((answer) => answer.watcher !== watcher);
  }

  /** Drops all answers. Their clients reconnect, and repeat acts that got no answer. */
  clear(): void {
    this.#waiting = [];
    this.#stop();
  }

  #wait(): void {
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    this.#late();
    if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#wait(), LATE_MS);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
