import type { Feed, State } from '../../../src/server/live/feed-types.ts';
import { Topic, type TopicOptions } from '../../../src/server/live/topic.ts';
import type { Relayed, Watcher } from '../../../src/server/live/watcher.ts';

/** A watcher that reads at once, and leaves its topic when it is ended, as a socket does. */
export class FakeWatcher implements Watcher {
  readonly sent: string[] = [];
  /** The messages until it subscribed. */
  sentBefore: string[] | undefined;
  ended: number | undefined;
  isSubscribed = false;
  readonly takesPatches: boolean;
  readonly relayed: string[] = [];
  privateChanges = 0;
  readonly #topic: Topic;

  constructor(topic: Topic, takesPatches = false) {
    this.#topic = topic;
    this.takesPatches = takesPatches;
  }

  subscribe(): void {
    this.isSubscribed = true;
    this.sentBefore = [...this.sent];
  }

  unsubscribe(): void {
    this.isSubscribed = false;
  }

  sendState(message: string): void {
    this.sent.push(message);
  }

  sendAfter(position: number, text: string): void {
    if (this.#topic.hasSent(this, position)) this.sent.push(text);
    else this.#topic.answerAfter(this, position, text);
  }

  relay(relayed: readonly Relayed[]): number {
    this.relayed.push(...relayed.map(({ message }) => message));
    return 0;
  }

  privateChanged(): void {
    this.privateChanges++;
  }

  end(code: number): void {
    this.ended = code;
    this.#topic.remove(this);
  }
}

/** A topic with one hold, without a state. */
export function topicOf(feed: Feed, parts: Partial<TopicOptions>): Topic {
  const topic = new Topic(feed, '1', {
    publish: () => {},
    bytesPerSecond: undefined,
    now: Date.now,
    isDraining: () => false,
    refresh: () => {},
    closed: () => {},
    ...parts,
  });
  topic.hold();
  return topic;
}

/** A state whose message is its position. */
export function stateAt(position: number, more: { isFinal?: boolean; changesAt?: number; onEncode?: () => void } = {}): State {
  const { isFinal = false, changesAt = Infinity, onEncode } = more;
  return {
    position,
    stamp: '',
    privateAt: 0,
    isFinal,
    changesAt,
    encode() {
      onEncode?.();
      return `state ${position}`;
    },
  };
}
