import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Logger } from 'pino';
import { rateLimited, refuse, Refusal } from '../../errors.ts';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import type { Caller } from '../identity/caller.ts';
import type { Channel, ChannelSocket, MessageCredentials } from './channel.ts';
import { closeCodes } from './close-codes.ts';
import { tooNestedField } from '../http/json-depth.ts';
import { invalidBearer } from '../http/refusals.ts';
import type { Topic, Watcher } from './topic.ts';
import type { WebSocket } from '../uws.ts';

/** Limits on a client's messages. Passing one closes the socket, with 1009, 4429 or 4400. */
export const MESSAGE_LIMIT_BYTES = 16 * 1024;
export const MESSAGES_PER_SECOND = 20;
export const BAD_MESSAGES = 3;

/** A client may have sent so many frames before it reads the close frame. Each costs a callback. */
const MOST_DROPPED_FRAMES = 256;

/** Messages that may wait while one is processed; further ones are refused with `rate_limited`. */
const MESSAGES_WAITING = 1;

/** A socket that does not drain for this long is closed. Its client connects again and gets the state then. */
export const TOO_SLOW_MS = 30_000;

/** A close frame waits behind data that the client does not read. This much later the connection is cut without it. */
const CUT_AFTER_MS = 5000;

/** Above this, uWS cuts the connection without a close frame. Messages between the two limits close it with 1009. */
export const CUT_OFF_BYTES = 4 * MESSAGE_LIMIT_BYTES;

const connectionPrefix = randomBytes(9).toString('base64url');
let connectionCount = 0;

export interface LiveSocketParts<Services> {
  readonly channel: Channel<Services>;
  readonly services: Services;
  readonly topic: Topic;
  readonly sessionCaller: () => Caller | undefined;
  readonly callerOf: (credentials: MessageCredentials) => Promise<Caller>;
  /** Whether the session of `sessionCaller` came as a bearer. If that session has ended, the client gets the error; one with a cookie only watches. */
  readonly hasBearer: boolean;
  /**
   * Counts a message against its address's limit of requests. 0 if it may pass, else milliseconds to wait. Uncounted, 19 hellos
   * a second on each of 200 sockets took Redis to 88 % and a credit from 2 to 133 ms.
   */
  readonly charge: () => number;
  readonly log: Logger;
  readonly closed: (socket: LiveSocket<Services>) => void;
}

/** The user data of a uWS socket. uWS copies the fields of the object it is given, so the LiveSocket is a field. */
export interface SocketData<Services> {
  readonly live: LiveSocket<Services>;
}

/**
 * One WebSocket. Counts and checks the client's messages. A client that reads slowly gets the latest state when it has read all
 * that was sent before; after 30 s without that the socket is closed (TOO_SLOW_MS).
 */
export class LiveSocket<Services> implements ChannelSocket, Watcher {
  readonly connectionId = `${connectionPrefix}${(++connectionCount).toString(36)}`;
  readonly id: string;
  readonly #parts: LiveSocketParts<Services>;
  readonly memory: unknown;
  isOpen = true;
  #socket: WebSocket<SocketData<Services>> | undefined;
  /** Since when a state, answers or the close wait for the socket to drain. */
  #behindSince: number | undefined;
  /** The topic's push count when the socket missed a state. */
  #missedPush: number | undefined;
  readonly #answers: string[] = [];
  #ending: { code: number; reason: string } | undefined;
  #badMessages = 0;
  #droppedFrames = 0;
  #second = 0;
  #messagesInSecond = 0;
  /** Messages that are processed or wait for it. */
  #messagesInWork = 0;
  #work: Promise<unknown> = Promise.resolve();

  constructor(parts: LiveSocketParts<Services>) {
    this.#parts = parts;
    this.id = parts.topic.id;
    this.memory = parts.channel.memory?.();
  }

  get topic(): Topic {
    return this.#parts.topic;
  }

  get latest(): string {
    return this.#parts.topic.message;
  }

  get sessionCaller(): Caller | undefined {
    return this.#parts.sessionCaller();
  }

  callerOf(credentials: MessageCredentials): Promise<Caller> {
    return this.#parts.callerOf(credentials);
  }

  /** Releases the topic of a socket that is not opened after all. */
  abandon(): void {
    this.isOpen = false;
    this.#parts.topic.release();
  }

  opened(socket: WebSocket<SocketData<Services>>): void {
    this.#socket = socket;
    this.#parts.topic.add(this);
    const { channel, services } = this.#parts;
    if (channel.opened !== undefined) this.#enqueue(async () => this.isOpen && channel.opened!(this, services), this.#parts.hasBearer);
  }

  received(bytes: ArrayBuffer, isBinary: boolean): void {
    if (this.#ending !== undefined) return this.#drop();
    if (!this.#countFrame()) return;
    if (bytes.byteLength > MESSAGE_LIMIT_BYTES) return this.end(closeCodes.messageTooBig, 'message too big');
    const waitMs = this.#parts.charge();
    if (waitMs > 0) return this.refuse(rateLimited(retryAfter(waitMs)));
    const message = isBinary ? undefined : parse(Buffer.from(bytes));
    const shape = message === undefined ? undefined : this.#shapeOf(message.type);
    if (message === undefined || shape === undefined)
      return this.#bad('invalid_request', message === undefined ? 'Send JSON objects with a type.' : 'There is no message of this type.');
    const checked = shape.safeParse(message);
    if (!checked.success)
      return this.#bad('invalid_request', `${checked.error.issues[0]!.path.join('.')}: ${checked.error.issues[0]!.message}`);
    const { channel, services } = this.#parts;
    if (channel.received === undefined) return;
    if (this.#messagesInWork > MESSAGES_WAITING)
      return this.refuse(rateLimited(retryAfter(0), 'Wait for the answer to what you asked before.'));
    this.#messagesInWork++;
    this.#enqueue(async () => {
      try {
        if (this.isOpen) await channel.received!(this, checked.data as { type: string }, services);
      } finally {
        this.#messagesInWork--;
      }
    });
  }

  /** Counts a ping, which uWS has answered, or an unsolicited pong, so that a client cannot send them without limit. */
  pinged(): void {
    if (this.#ending === undefined) this.#countFrame();
    else this.#drop();
  }

  /** Drops a frame that comes while the close waits for the socket to drain. A client that goes on sending is cut off. */
  #drop(): void {
    if (++this.#droppedFrames > MOST_DROPPED_FRAMES) this.#socket!.close();
  }

  /** @returns false if the socket sends too many frames; it is closed then */
  #countFrame(): boolean {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#second) [this.#second, this.#messagesInSecond] = [second, 0];
    if (++this.#messagesInSecond <= MESSAGES_PER_SECOND) return true;
    this.end(closeCodes.tooManyMessages, 'too many messages');
    return false;
  }

  /** uWS dropped a state because the socket's buffer is full. The client gets the latest state when it drains. */
  dropped(): void {
    this.#missedPush = this.#parts.topic.pushCount;
    this.#behindSince ??= performance.now();
  }

  /** Sends what waited, as far as the buffer allows: the latest state, then the answers, then the close. */
  drained(): void {
    if (!this.isOpen || this.#behindSince === undefined || this.#isFull) return;
    this.#behindSince = performance.now();
    const missedPush = this.#missedPush;
    this.#missedPush = undefined;
    if (missedPush !== undefined) this.#parts.topic.catchUp(this, missedPush);
    while (this.#answers.length > 0 && !this.#isFull) this.#socket!.send(this.#answers.shift()!);
    if (this.#isFull) return;
    this.#behindSince = undefined;
    if (this.#ending !== undefined) this.#socket!.end(this.#ending.code, this.#ending.reason);
  }

  closed(): void {
    this.isOpen = false;
    this.#parts.topic.remove(this);
    this.#parts.closed(this);
    const { channel, services } = this.#parts;
    if (channel.closed !== undefined) this.#enqueue(() => channel.closed!(this, services));
  }

  /** Closes a socket that has not drained for TOO_SLOW_MS, and cuts it CUT_AFTER_MS later. */
  checkPace(now: number): void {
    if (!this.isOpen || this.#behindSince === undefined) return;
    const behindMs = now - this.#behindSince;
    if (behindMs >= TOO_SLOW_MS + CUT_AFTER_MS) this.#socket!.close();
    else if (behindMs >= TOO_SLOW_MS) this.end(closeCodes.tooSlow, 'too slow');
  }

  subscribe(topic: string): void {
    if (this.isOpen) this.#socket!.subscribe(topic);
  }

  sendState(message: string): void {
    // If the buffer is full, uWS drops the state and calls `dropped`.
    if (this.isOpen) this.#socket!.send(message);
  }

  /** Sends an answer, or queues it while the socket is full: unlike a state, an answer has no later one to replace it. */
  send(message: object): void {
    if (!this.isOpen) return;
    if (this.#answers.length === 0 && !this.#isFull) this.#socket!.send(JSON.stringify(message));
    else this.#wait(() => this.#answers.push(JSON.stringify(message)));
  }

  /** Closes the socket, after what still waits to be sent: uWS drops the close frame of a full socket. */
  end(code: number, reason: string): void {
    if (!this.isOpen) return;
    if (this.#behindSince === undefined && !this.#isFull) this.#socket!.end(code, reason);
    else this.#wait(() => (this.#ending ??= { code, reason }));
  }

  get #isFull(): boolean {
    return this.#socket!.getBufferedAmount() > 0;
  }

  #wait(add: () => void): void {
    this.#behindSince ??= performance.now();
    add();
  }

  #shapeOf(type: string): z.ZodObject | undefined {
    return Object.hasOwn(this.#parts.channel.receives, type) ? this.#parts.channel.receives[type] : undefined;
  }

  #bad(code: 'invalid_request', message: string): void {
    this.send({ type: 'error', error: { code, message } });
    if (++this.#badMessages >= BAD_MESSAGES) this.end(closeCodes.badMessages, 'bad messages');
  }

  refuse({ code, message, details: { retryAfterMs, until } }: Refusal): void {
    const details = { ...(retryAfterMs === undefined ? {} : { retryAfterMs }), ...(until === undefined ? {} : { until }) };
    this.send({ type: 'error', error: { code, message, ...details } });
  }

  /**
   * Runs one piece of work after the other, so that messages take effect in their order.
   * @param tellsEnd whether the client is told that the session has ended
   */
  #enqueue(work: () => Promise<unknown>, tellsEnd = true): void {
    this.#work = this.#work.then(work).catch((error: unknown) => {
      if (error instanceof SessionEnded) return tellsEnd ? this.refuse(invalidBearer()) : undefined;
      if (error instanceof Refusal) return this.refuse(error);
      this.#parts.log.warn({ reason: (error as Error).message, channel: this.#parts.channel.path }, 'a handler of a channel failed');
      this.send({ type: 'error', error: { code: 'store_unavailable', message: refuse('store_unavailable').message } });
    });
  }
}

/** The message that every channel may send besides its own. */
export const ErrorMessage = z
  .object({
    type: z.literal('error'),
    error: z.object({
      code: z.string(),
      message: z.string(),
      retryAfterMs: z
        .number()
        .int()
        .optional()
        .meta({ description: 'With `rate_limited`: milliseconds after which to send the message again.' }),
      until: z.iso
        .datetime()
        .optional()
        .meta({ description: 'With `account_banned`: the end of the ban. Left out for one without an end.' }),
    }),
  })
  .meta({
    description:
      'The service did not understand a message, or could not process it. The third message that it does not understand closes the ' +
      "socket (4400). A message counts against its address's limit of requests, and one message may wait while another is processed: " +
      'beyond that it is `rate_limited`.',
  });

/**
 * Milliseconds after which a client may send a refused message again: at least a second, plus a random part of up to two.
 * After a deployment all clients of a household or a school reconnect at once, and must not all retry at the same time.
 */
function retryAfter(waitMs: number): number {
  return Math.max(waitMs, RETRY_MS) + Math.random() * RETRY_SPREAD_MS;
}

const RETRY_MS = 1000;
const RETRY_SPREAD_MS = 2000;

function parse(bytes: Buffer): { type: string } | undefined {
  if (tooNestedField(bytes) !== undefined) return undefined;
  try {
    const value = JSON.parse(bytes.toString()) as unknown;
    return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
      ? (value as { type: string })
      : undefined;
  } catch {
    return undefined;
  }
}
