import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { ScriptLink, type ScriptLinkOptions } from './script-link.ts';
import type { Reply } from './resp.ts';
import type { ScriptConnection } from './script-call.ts';

interface TrackedEvents {
  /**
   * A key has changed since a script declared `tracked` read it. Redis tells this once; after that it is silent until a script reads the
   * key again.
   */
  changed: [key: string];
  /** Any key may have changed, because a connection was lost or Redis dropped all keys. */
  lost: [];
  /** @param reason why Redis does not track keys */
  refused: [reason: string];
}

/**
 * Tells which keys have changed since scripts read them. It uses Redis's CLIENT TRACKING: Redis remembers which keys a connection has read,
 * and sends a message when any client changes one of them. A write costs hardly more, because Redis only looks the written key up among the
 * tracked keys. No benchmark of credits shows a difference (docs/decisions/watched-accounts.md).
 */
export class TrackedKeys extends EventEmitter<TrackedEvents> {
  /** Whether Redis refused to track keys, for example because its user lacks the right. The keys then have to be read again and again. */
  isRefused = false;
}

/** The connection for scripts declared `tracked`. It opens at the first call, because most services never make such a call. */
export class TrackedReads implements ScriptConnection {
  readonly options: Redis['options'];
  readonly #open: () => TrackingLink;
  #link: TrackingLink | undefined;

  /**
   * @param redis the connection whose address and options the link copies
   * @param keys emits what Redis tells about changed keys
   */
  constructor(redis: Redis, keys: TrackedKeys, options: ScriptLinkOptions) {
    this.options = redis.options;
    this.#open = () => new TrackingLink(redis, keys, options);
  }

  call(command: string, words: readonly (string | number)[]): Promise<unknown> {
    return this.callTracked(command, words, []);
  }

  async callTracked(command: string, words: readonly (string | number)[], unnamed: readonly string[]): Promise<unknown> {
    const link = (this.#link ??= this.#open());
    if (!link.isReady) await link.opened();
    // Redis 7.0 tracks only the keys that a command names, and a script on a Cluster names none. So EXISTS reads them first. They are
    // tracked from then on, before the script reads them. A node that does not serve a key refuses EXISTS, and refuses the script too.
    for (const key of unnamed) if (key !== '') link.call('EXISTS', [key]).catch(() => {});
    return link.call(command, words);
  }

  checkAgain(): void {
    this.#link?.checkAgain();
  }

  disconnect(): void {
    this.#link?.disconnect();
  }
}

/** A connection whose reads Redis tracks. In RESP3 the messages of changed keys come between the replies. */
class TrackingLink extends ScriptLink {
  readonly #keys: TrackedKeys;

  constructor(redis: Redis, keys: TrackedKeys, options: ScriptLinkOptions) {
    super(redis, { ...options, name: 'coinop-tracking' });
    this.#keys = keys;
    this.on('ready', () => this.#track());
  }

  #track(): void {
    const refused = ({ message }: Error): void => {
      this.#keys.isRefused = true;
      this.#keys.emit('refused', message);
    };
    // Redis refuses HELLO before version 6, and CLIENT TRACKING to a user without the right.
    this.call('HELLO', [3]).catch(refused);
    this.call('CLIENT', ['TRACKING', 'ON']).then(() => (this.#keys.isRefused = false), refused);
    this.#keys.emit('lost');
  }

  protected override received(reply: Reply): void {
    if (!Array.isArray(reply) || reply[0] !== 'invalidate') return super.received(reply);
    const keys = reply[1] as string[] | null;
    if (keys === null) this.#keys.emit('lost');
    else for (const key of keys) this.#keys.emit('changed', key);
  }
}
