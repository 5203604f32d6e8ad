import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { Subscriptions } from '../../redis/subscriber.ts';
import { eventKeys } from './model.ts';

/** Tells the relay which outboxes have new events. `tags` are the tags of these outboxes, separated by blanks. */
const hintOutboxes = defineScript({
  name: 'events/hint-outboxes',
  lua: `announce('outboxes', tags)
    return {'told'}`,
  keys: ['state'],
  args: ['tags'],
  answers: ['told'],
});

const OUTBOXES_CHANNEL = 'outboxes';

/** How long a process collects tags of outboxes for one message, in milliseconds. So a busy process sends about fifty messages a second. */
const HINT_MS = 20;

/**
 * Tells the relay, in this or another process, which outboxes have new events. Such a message only saves time. The relay also reads all
 * outboxes in turn, so it finds the events of a process that was killed before it could send a message.
 *
 * A single Redis has one outbox, which the relay always reads. A Cluster has 16,384 outboxes, of which most are empty.
 */
export class OutboxNews {
  readonly #scripts: () => ScriptRunner;
  readonly #tags = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  /** Passes the tags of outboxes with new events to the relay of this process. Undefined while this process does not relay. */
  #relays: ((tags: Iterable<string>) => void) | undefined;

  /** @param scripts gives the runner of scripts, which does not exist yet when this class is constructed */
  constructor(scripts: () => ScriptRunner, subscriber: Subscriptions) {
    this.#scripts = scripts;
    subscriber.on('ready', (isConcerned) => {
      // If the subscription fails, another `ready` follows.
      if (isConcerned(OUTBOXES_CHANNEL)) subscriber.subscribe(OUTBOXES_CHANNEL).catch(() => {});
    });
    subscriber.on('message', (channel, message) => {
      if (channel === OUTBOXES_CHANNEL) this.#relays?.(message.split(' '));
    });
  }

  /** To be called when a script of this process may have emitted events to the outbox with this tag. */
  emitted(tag: string): void {
    if (this.#relays !== undefined) return this.#relays([tag]);
    if (tag === '') return;
    this.#tags.add(tag);
    this.#timer ??= setTimeout(() => this.#hint(), HINT_MS);
  }

  /** @param relays gets the tags of outboxes with new events. Undefined: this process does not relay any more */
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
    // If the message is lost, the relay finds the events when it next reads all outboxes.
    this.#scripts()
      .run(hintOutboxes, { state: eventKeys.state }, { tags })
      .catch(() => {});
  }
}
