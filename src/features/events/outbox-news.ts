import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { Subscriptions } from '../../redis/subscriber.ts';
import { eventKeys } from './model.ts';

const hintOutboxes = defineScript({
  file: new URL('hint-outboxes.lua', import.meta.url),
  keys: ['state'],
  args: ['tags'],
  answers: ['told'],
});

const OUTBOXES_CHANNEL = 'outboxes';

/** A hint waits so long for others: a busy process then sends some fifty a second. */
const HINT_MS = 20;

/**
 * Which outboxes have news, for the relay of this process or of another one. A hint only saves time: the relay looks at all outboxes now and
 * then, and finds what a process that was killed did not hint.
 *
 * One Redis has one outbox, which the relay looks at anyway. Of a Cluster's 16,384 most are empty.
 */
export class OutboxNews {
  readonly #scripts: () => ScriptRunner;
  readonly #tags = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  /** Set while this process relays. */
  #relays: ((tags: Iterable<string>) => void) | undefined;

  /** @param scripts the runner, which is made after this */
  constructor(scripts: () => ScriptRunner, subscriber: Subscriptions) {
    this.#scripts = scripts;
    subscriber.on('ready', (isConcerned) => {
      // A subscription that fails is followed by another `ready`.
      if (isConcerned(OUTBOXES_CHANNEL)) subscriber.subscribe(OUTBOXES_CHANNEL).catch(() => {});
    });
    subscriber.on('message', (channel, message) => {
      if (channel === OUTBOXES_CHANNEL) this.#relays?.(message.split(' '));
    });
  }

  /** A script of this process may have emitted to this outbox. */
  emitted(tag: string): void {
    if (this.#relays !== undefined) return this.#relays([tag]);
    if (tag === '') return;
    this.#tags.add(tag);
    this.#timer ??= setTimeout(() => this.#hint(), HINT_MS);
  }

  /** @param relays gets the tags of outboxes with news. Undefined: another process relays from now on */
  relay(relays: ((tags: Iterable<string>) => void) | undefined): void {
    this.#relays = relays;
  }

  close(): void {
    this.#relays = undefined;
    clearTimeout(this.#timer);
  }

  #hint(): void {
    this.#timer = undefined;
    const tags = [...this.#tags].join(' ');
    this.#tags.clear();
    // The relay finds what this loses.
    this.#scripts()
      .run(hintOutboxes, { state: eventKeys.state }, { tags })
      .catch(() => {});
  }
}
