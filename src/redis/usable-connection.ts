import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';
import { MissingRights } from './user-rights.ts';
import { within } from './within.ts';

/** Milliseconds that Redis may stay silent while commands wait for replies. After that the connection is closed. */
export const SILENCE_MS = 3000;

/** The longest wait before the next attempt to connect, in milliseconds, if Redis could not be reached or was loading its data. */
const AWAY_MS = 500;

/** The longest wait before the next attempt to connect, in milliseconds, if Redis refused the connection. */
const REFUSED_MS = 5000;

const FIRST_MS = 25;

/** Milliseconds between two checks of the rights of the Redis user while a connection is in use. */
const RIGHTS_MS = 5000;

/** How long the start of a process waits for a connection, in milliseconds. */
const OPENING_MS = 2000;

/** Errors of a Redis that cannot serve yet, but perhaps can within moments. */
const SOON = /^(?:LOADING|MASTERDOWN|CLUSTERDOWN|READONLY|BUSY|TRYAGAIN)\b/;

/** The beginning of an error that Redis itself sent: a code in capital letters. */
const REPLIED = /^[A-Z]{3,} /;

/** The system's errors when the peer has closed the connection. */
const BROKEN = /\b(?:EPIPE|ECONNRESET)$/;

export interface UsableOptions {
  /** Checks a new connection before it is used. @throws Error if the connection must not be used */
  readonly check: (redis: Redis) => Promise<void>;
  /** Checks the rights of the Redis user while the connection is in use. @throws MissingRights */
  readonly checkRights?: ((redis: Redis) => Promise<void>) | undefined;
  /** Logs the beginning and the end of each outage. Without a logger the connection logs nothing. */
  readonly log?: Logger | undefined;
}

/**
 * A connection to Redis, which becomes usable in three steps: connected → checked → in use. If a step fails (no connection, a refused
 * password, a check that Redis refuses or does not answer), the connection is closed, opened and checked again, after growing waits, until
 * the check succeeds. So the service uses Redis again as soon as Redis answers, and nobody has to restart anything.
 *
 * Emits `usable` each time the connection becomes usable, and `refused` when the Redis user has lost a right while the connection was in
 * use.
 */
export class UsableConnection extends EventEmitter<{ usable: []; refused: [] }> {
  readonly redis: Redis;
  readonly #options: UsableOptions;
  #isUsable = false;
  #failure: Error | undefined;
  /** Whether the reason is already known why the present attempt to connect failed. */
  #hasReason = false;
  /** Number of attempts to connect since the connection was last usable. */
  #attempts = 0;
  #wasTold = '';
  #rightsTimer: NodeJS.Timeout | undefined;
  #checkingRights: Promise<void> | undefined;

  constructor(redis: Redis, options: UsableOptions) {
    super();
    this.redis = redis;
    this.#options = options;
    redis.options.retryStrategy = () => this.#waitMs();
    redis.on('connecting', () => (this.#hasReason = false));
    redis.on('error', (error: Error) => this.#failed(this.#isUsable || !BROKEN.test(error.message) ? error : closedAtOnce(error)));
    redis.on('ready', () => void this.#examine());
    redis.on('close', () => this.#lost());
  }

  /** Whether the connection is open and its check succeeded. */
  get isUsable(): boolean {
    return this.#isUsable && this.redis.status === 'ready';
  }

  /** Why the connection is not usable, in a phrase that clients may see. Undefined while it is usable, or if it closed without a reason. */
  get problem(): string | undefined {
    return this.isUsable || this.#failure === undefined ? undefined : phraseOf(this.#failure);
  }

  /** The error, of Redis or of the system, that keeps the connection from being usable. */
  get failure(): Error | undefined {
    return this.isUsable ? undefined : this.#failure;
  }

  /**
   * Resolves when the connection is usable, or after OPENING_MS. Also resolves when the Redis user lacks a right, because no operator will
   * grant the right within moments.
   * @throws SettingError if an operator has to change something first: another database, another Redis, another coinop
   */
  async opened(): Promise<void> {
    const giveUpAt = performance.now() + OPENING_MS;
    while (!this.isUsable && !(this.#failure instanceof MissingRights) && performance.now() < giveUpAt) {
      this.throwIfSetting();
      await pause(5);
    }
  }

  /**
   * Throws the error of the connection if the connection cannot work until an operator changes something. @throws SettingError as `opened`
   */
  throwIfSetting(): void {
    if (!this.isUsable && this.#failure instanceof SettingError) throw this.#failure;
  }

  /** Checks the rights of the Redis user now. Must be called after Redis refused a command. */
  checkRights(): void {
    const { checkRights } = this.#options;
    if (checkRights === undefined || !this.isUsable) return;
    this.#checkingRights ??= checkRights(this.redis)
      .catch((error: unknown) => {
        // Other errors need no handling: a lost connection is opened again, and the check for silence finds a Redis that hangs.
        if (!(error instanceof MissingRights) || !this.isUsable) return;
        this.#failed(error);
        this.redis.disconnect(true);
        this.emit('refused');
      })
      .finally(() => (this.#checkingRights = undefined));
  }

  async #examine(): Promise<void> {
    const { redis } = this;
    const { stream } = redis;
    const isSame = (): boolean => redis.stream === stream && redis.status === 'ready';
    try {
      await within(SILENCE_MS, this.#options.check(redis), () => {
        throw new Error(`no answer within ${SILENCE_MS / 1000} s`);
      });
    } catch (error) {
      // If the connection broke during the check, a new connection is opened and checked.
      if (!isSame()) return;
      this.#failed(error as Error);
      redis.disconnect(true);
      return;
    }
    if (!isSame()) return;
    this.#isUsable = true;
    this.#failure = undefined;
    this.#attempts = 0;
    if (this.#wasTold !== '') this.#options.log?.info('redis is back');
    this.#wasTold = '';
    if (this.#options.checkRights !== undefined) this.#rightsTimer = setInterval(() => this.checkRights(), RIGHTS_MS).unref();
    this.emit('usable');
  }

  #failed(error: Error): void {
    this.#isUsable = false;
    this.#hasReason = true;
    this.#failure = error;
    const phrase = phraseOf(error);
    // The log has one line for each outage, and one line for each reason for which Redis refuses the connection.
    if (this.#wasTold === phrase || (isAway(error) && this.#wasTold !== '')) return;
    this.#wasTold = phrase;
    const { log } = this.#options;
    if (isAway(error)) log?.warn({ reason: error.message }, AWAY);
    else log?.error({ reason: error.message }, REFUSED);
  }

  #lost(): void {
    // The peer may close the connection without an error. An error is made here, because the outage would otherwise have no line in the
    // log.
    if (!this.#isUsable && !this.#hasReason && this.redis.status !== 'end') this.#failed(closedAtOnce());
    this.#isUsable = false;
    clearInterval(this.#rightsTimer);
  }

  #waitMs(): number {
    const most = this.#failure === undefined || isAway(this.#failure) ? AWAY_MS : REFUSED_MS;
    return Math.min(FIRST_MS * 2 ** Math.min(this.#attempts++, 10), most);
  }
}

/** Whether Redis could not be reached, or could not serve yet. Otherwise it refused the connection. */
function isAway(error: Error): boolean {
  return !(error instanceof SettingError || error instanceof MissingRights) && (SOON.test(error.message) || !REPLIED.test(error.message));
}

/**
 * The error for a connection that closed at once. Redis's own answer, `ERR max number of clients reached`, is mostly lost with the
 * connection.
 */
function closedAtOnce(error?: Error): Error {
  const words = error === undefined ? '' : ` (${error.message})`;
  return new Error(`the connection was closed before it could be used${words}: maxclients is reached, or a proxy finds no Redis`);
}

/** A phrase for clients. It leaves out the system's words about the connection, because they contain the address of Redis. */
function phraseOf(error: Error): string {
  if (isAway(error)) return SOON.test(error.message) ? `${AWAY}: ${error.message.replace(/\.$/, '')}` : AWAY;
  return `${REFUSED}: ${error.message.replace(/\.$/, '')}`;
}

const AWAY = 'redis is away';
const REFUSED = 'redis cannot be used';
