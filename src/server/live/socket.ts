import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Logger } from 'pino';
import { rateLimited, refuse, Refusal } from '../../errors.ts';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { redisFailure } from '../../redis/script-runner.ts';
import type { Caller } from '../identity/caller.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import type { Channel, ChannelSocket, MessageCredentials } from './channel.ts';
import { closeCodes } from './close-codes.ts';
import { parseJson, problemOf } from '../http/json.ts';
import { tooNestedField } from '../http/json-depth.ts';
import { invalidBearer } from '../http/error-answer.ts';
import type { State } from './feed-types.ts';
import { BAD_MESSAGES, FrameCount, MESSAGE_LIMIT_BYTES, MESSAGES_PER_SECOND, PING_AFTER_MS, SILENT_MS } from './frame-limits.ts';
import { SendQueue, type QueuedSocket } from './send-queue.ts';
import type { SocketClient } from './socket-client.ts';
import type { Topic } from './topic.ts';
import type { WebSocket } from '../uws.ts';

/** The most frames that a client may still send before it reads the close frame. Each frame costs a callback. */
const MOST_DROPPED_FRAMES = 256;

/** The number of messages that may wait while another message is processed. Further messages are refused with `rate_limited`. */
const MESSAGES_WAITING = 1;

/** The most bytes of acts that may wait. Acts may come faster than Redis processes them, because each takes a round trip. */
const ACT_BYTES_WAITING = 64 * 1024;

/** How many first characters of an act are searched for its number (`order`) if the act is refused before it is parsed. */
const HEAD_LENGTH = 96;

/** Matches the type of a message, if it is the first field. */
const TYPE_FIRST = /^\s*\{\s*"type"\s*:\s*"(\w+)"/;

const connectionPrefix = randomBytes(9).toString('base64url');
let connectionCount = 0;

/** What a socket needs from its process, the same for all sockets. */
export interface SocketHost<Services> {
  readonly services: Services;
  readonly log: Logger;
  /** The topic of an id, held for the socket. Undefined: there is no such thing. */
  find(channel: Channel<Services>, id: string): Promise<Topic | undefined>;
  closed(socket: LiveSocket<Services>): void;
}

export interface LiveSocketOptions<Services> {
  readonly host: SocketHost<Services>;
  readonly channel: Channel<Services>;
  readonly client: SocketClient;
  /** The topic that the socket watches from the start. Undefined: it watches nothing until `watch` is called. */
  readonly topic: Topic | undefined;
  readonly takesPatches: boolean;
}

/** The user data of a uWS socket. uWS copies the fields of the given object, so the LiveSocket itself must be a field of it. */
export interface SocketData<Services> {
  readonly live: LiveSocket<Services>;
}

/**
 * One WebSocket. Counts and checks the client's messages. A client that reads slowly gets the latest state once it has read all earlier
 * data. A socket that has not drained for 30 s is closed (TOO_SLOW_MS).
 */
export class LiveSocket<Services> implements ChannelSocket, QueuedSocket {
  readonly connectionId = `${connectionPrefix}${(++connectionCount).toString(36)}`;
  readonly #host: SocketHost<Services>;
  readonly #channel: Channel<Services>;
  readonly client: SocketClient;
  #topic: Topic | undefined;
  readonly memory: unknown;
  isOpen = true;
  readonly sendQueue: SendQueue;
  #badMessages = 0;
  #droppedFrames = 0;
  readonly #frames = new FrameCount();
  /** The time at which the client last sent or read some data, on the clock of `performance.now()`. */
  #heardAt = performance.now();
  #pingedAt = -Infinity;
  #isSilent = false;
  /** The number of messages, acts excluded, that are being processed or wait for their turn. */
  #messagesInWork = 0;
  /** The bytes of the acts that are being processed or wait for their turn. */
  #actBytesInWork = 0;
  #name: string | undefined;
  #key: ServerKey | undefined;
  /** Whether a read of the private part is queued, waits for the socket to drain, or has failed and will be repeated. */
  #privateWork: 'none' | 'queued' | 'when_drained' | 'failed' = 'none';
  #work: Promise<unknown> = Promise.resolve();

  constructor({ host, channel, client, topic, takesPatches }: LiveSocketOptions<Services>) {
    this.#host = host;
    this.#channel = channel;
    this.client = client;
    this.#topic = topic;
    this.memory = channel.memory?.();
    this.sendQueue = new SendQueue(this, topic, takesPatches);
  }

  get topic(): Topic | undefined {
    return this.#topic;
  }

  get id(): string {
    return this.#topic?.id ?? '';
  }

  get state(): State | undefined {
    return this.#topic?.state;
  }

  async watch(id: string, mayWatch: () => boolean): Promise<boolean> {
    const topic = await this.#host.find(this.#channel, id);
    if (topic === undefined) return false;
    if (!this.isOpen || !mayWatch()) {
      topic.release();
      return false;
    }
    this.#topic = topic;
    this.sendQueue.watch(topic);
    return true;
  }

  get address(): string {
    return this.client.address;
  }

  name(name: string | undefined): void {
    const topic = this.#topic!;
    if (this.#name !== undefined) topic.unname(this.sendQueue, this.#name);
    this.#name = name;
    if (name === undefined || !this.isOpen) return;
    topic.name(this.sendQueue, name);
    this.sendQueue.subscribeOwn();
  }

  keyOf(token: string): ServerKey {
    return this.client.keyOf(token);
  }

  chargesTo(key: ServerKey | undefined): void {
    this.#key = key;
  }

  get sessionCaller(): Caller | undefined {
    return this.client.sessionCaller();
  }

  callerOf(credentials: MessageCredentials): Promise<Caller> {
    return this.client.callerOf(credentials);
  }

  /** Releases the topic, because the socket will not open. */
  abandon(): void {
    this.isOpen = false;
    this.#topic?.release();
  }

  opened(socket: WebSocket<SocketData<Services>>): void {
    this.sendQueue.open(socket as WebSocket<unknown>);
    const channel = this.#channel;
    const { services } = this.#host;
    if (channel.opened !== undefined) this.#enqueue(async () => this.isOpen && channel.opened!(this, services), this.client.hasBearer);
  }

  received(bytes: ArrayBuffer, isBinary: boolean): void {
    if (this.sendQueue.isEnding) return this.#drop();
    if (!this.#countFrame()) return;
    if (bytes.byteLength > MESSAGE_LIMIT_BYTES) return this.end(closeCodes.messageTooBig, 'message too big');
    const channel = this.#channel;
    const { acts } = channel;
    const head = acts === undefined ? '' : Buffer.from(bytes, 0, Math.min(bytes.byteLength, HEAD_LENGTH)).toString('latin1');
    // An act whose type is not the first field is recognised only after parsing. The act counts as a message first, and then as an act too.
    const beginsAsAct = acts !== undefined && TYPE_FIRST.exec(head)?.[1] === acts.type;
    const waitMs = beginsAsAct ? this.client.chargeAct(this.#key) : this.client.charge(this.#key);
    if (waitMs > 0) return this.#refuseUnread(beginsAsAct ? head : undefined, rateLimited(retryAfter(waitMs)));
    if (beginsAsAct && this.#hasActsWaiting) return this.#refuseUnread(head, tooManyWaiting());
    const message = isBinary ? undefined : parse(Buffer.from(bytes));
    const isAct = acts !== undefined && message?.type === acts.type;
    if (!isAct && this.#messagesInWork > MESSAGES_WAITING) return this.refuse(tooManyWaiting());
    const shape = message === undefined ? undefined : this.#shapeOf(message.type);
    if (message === undefined || shape === undefined)
      return this.#bad('invalid_request', message === undefined ? 'Send JSON objects with a type.' : 'There is no message of this type.');
    const checked = isAct ? { problem: acts.lacks(message), data: message } : checkedBy(shape, message);
    if (checked.problem !== undefined) return this.#bad('invalid_request', checked.problem);
    const answer = isAct ? undefined : channel.answer?.(checked.data, this.#host.services);
    if (answer !== undefined) return this.send(answer);
    if (isAct && !beginsAsAct) {
      const actWaitMs = this.client.chargeAct(this.#key);
      const refusal = actWaitMs > 0 ? rateLimited(retryAfter(actWaitMs)) : this.#hasActsWaiting ? tooManyWaiting() : undefined;
      if (refusal !== undefined) return this.#refuseUnread(JSON.stringify(checked.data), refusal);
    }
    this.#handle(checked.data, isAct ? bytes.byteLength : undefined);
  }

  /** @param actBytes the length of an act; undefined for another message */
  #handle(message: { type: string }, actBytes: number | undefined): void {
    const channel = this.#channel;
    const { services } = this.#host;
    if (channel.received === undefined) return;
    const [messages, bytes] = actBytes === undefined ? [1, 0] : [0, actBytes];
    this.#messagesInWork += messages;
    this.#actBytesInWork += bytes;
    this.#enqueue(async () => {
      try {
        if (this.isOpen) await channel.received!(this, message, services);
      } finally {
        this.#messagesInWork -= messages;
        this.#actBytesInWork -= bytes;
      }
    });
  }

  get #hasActsWaiting(): boolean {
    return this.#actBytesInWork > ACT_BYTES_WAITING;
  }

  /** Refuses a message before it was handled. @param act the act, or its beginning; undefined for another message */
  #refuseUnread(act: string | undefined, refusal: Refusal): void {
    if (act === undefined) return this.refuse(refusal);
    this.#topic!.counts.actsUnread++;
    this.send(this.#channel.acts!.refused(act, refusal));
  }

  /** Counts a ping that uWS has answered, or an unsolicited pong: a client must not send pings and pongs without limit. */
  pinged(): void {
    if (!this.sendQueue.isEnding) this.#countFrame();
    else this.#drop();
  }

  /**
   * Drops a frame that comes after the service has decided to close the socket, while the close waits for the socket to drain. A client
   * that goes on sending is cut off.
   */
  #drop(): void {
    if (++this.#droppedFrames > MOST_DROPPED_FRAMES) this.sendQueue.cut();
  }

  /** Counts a frame. @returns false if the socket has sent too many frames, and is closed */
  #countFrame(): boolean {
    this.#heard();
    const most = this.#name === undefined ? MESSAGES_PER_SECOND : (this.#channel.acts?.framesPerSecond ?? MESSAGES_PER_SECOND);
    if (this.#frames.count(this.#heardAt) <= most) return true;
    this.end(closeCodes.tooManyMessages, 'too many messages');
    return false;
  }

  /** Notes that the private part has changed. After several changes the part is read and sent only once, when the socket has drained. */
  privateChanged(): void {
    const channel = this.#channel;
    const { services } = this.#host;
    if (!this.isOpen || this.#privateWork === 'queued' || channel.sendPrivate === undefined) return;
    if (this.sendQueue.isFull) {
      this.#privateWork = 'when_drained';
      return this.sendQueue.lag();
    }
    this.#privateWork = 'queued';
    this.#enqueue(async () => {
      this.#privateWork = 'none';
      try {
        if (this.isOpen) await channel.sendPrivate!(this, services);
      } catch (error) {
        if (redisFailure(error) === undefined && !(error instanceof Refusal && error.code === 'store_unavailable')) throw error;
        // `check` repeats the read, because nobody knows whether a later change will cause another read.
        this.#privateWork = 'failed';
      }
    });
  }

  hasDrained(): void {
    if (this.#privateWork !== 'when_drained') return;
    this.#privateWork = 'none';
    this.privateChanged();
  }

  afterActs(work: () => void): boolean {
    if (this.#actBytesInWork === 0) return false;
    this.#enqueue(async () => work());
    return true;
  }

  /** Called when the client has read some of the data that waited for it. */
  drained(): void {
    this.#heard();
    this.sendQueue.drained();
  }

  #heard(): void {
    this.#heardAt = performance.now();
    if (this.#isSilent) this.#setSilent(false);
  }

  /**
   * Pings the socket of a player or a server after some silence. If it stays silent, it is cut, unless it lags and so has to read first.
   */
  #checkPulse(): void {
    const now = performance.now();
    const silentMs = now - this.#heardAt;
    if (silentMs < PING_AFTER_MS || this.#name === undefined || this.#isSilent) return;
    if (silentMs >= SILENT_MS) {
      if (this.sendQueue.isFull) return this.#setSilent(true);
      this.#isSilent = true;
      this.sendQueue.cut();
    } else if (now - this.#pingedAt >= PING_AFTER_MS) {
      this.#pingedAt = now;
      this.sendQueue.ping();
    }
  }

  #setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
    const channel = this.#channel;
    const { services } = this.#host;
    if (channel.silent !== undefined) this.#enqueue(async () => this.isOpen && channel.silent!(this, services, !isSilent));
  }

  closed(): void {
    this.isOpen = false;
    if (this.#name !== undefined) this.name(undefined);
    this.sendQueue.close();
    this.#host.closed(this);
    const channel = this.#channel;
    const { services } = this.#host;
    const silentMs = this.#isSilent ? performance.now() - this.#heardAt : 0;
    if (channel.closed !== undefined) this.#enqueue(() => channel.closed!(this, services, silentMs));
  }

  /** The work that each socket does every second. */
  check(): void {
    const channel = this.#channel;
    const { services } = this.#host;
    if (this.isOpen) {
      this.#checkPulse();
      channel.checked?.(this, services);
    }
    if (this.#privateWork === 'failed') this.privateChanged();
  }

  send(message: object | string): void {
    this.sendQueue.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  sendAfter(position: number, message: string): void {
    this.sendQueue.sendAfter(position, message);
  }

  end(code: number, reason: string): void {
    this.sendQueue.end(code, reason);
  }

  #shapeOf(type: string): z.ZodObject | undefined {
    return Object.hasOwn(this.#channel.receives, type) ? this.#channel.receives[type] : undefined;
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
   * @param tellsEnd whether the client gets an error if the session has ended
   */
  #enqueue(work: () => Promise<unknown>, tellsEnd = true): void {
    this.#work = this.#work.then(work).catch((error: unknown) => {
      if (error instanceof SessionEnded) return tellsEnd ? this.refuse(invalidBearer()) : undefined;
      if (error instanceof Refusal) return this.refuse(error);
      this.#host.log.warn({ reason: (error as Error).message, channel: this.#channel.path }, 'a handler of a channel failed');
      this.send({ type: 'error', error: { code: 'store_unavailable', message: refuse('store_unavailable').message } });
    });
  }
}

/** The shape of the error message, which every channel may send besides its own messages. */
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
        .meta({ description: 'With `account_banned`: the end of the ban. Left out if the ban has no end.' }),
    }),
  })
  .meta({
    description:
      'The service did not understand a message, or could not process it. The third message that it does not understand closes the ' +
      "socket (4400). A message counts against its address's limit of requests, and one message may wait while another is processed: " +
      'beyond that it is `rate_limited`.',
  });

/**
 * Milliseconds after which a client may send a refused message again: at least a second, plus a random part of up to two seconds. After a
 * deployment all clients of a household or a school reconnect at once. They must not all retry at the same time.
 */
function retryAfter(waitMs: number): number {
  return Math.max(waitMs, RETRY_MS) + Math.random() * RETRY_SPREAD_MS;
}

function tooManyWaiting(): Refusal {
  return rateLimited(retryAfter(0), 'Wait for the answer to what you asked before.');
}

const RETRY_MS = 1000;
const RETRY_SPREAD_MS = 2000;

function checkedBy(shape: z.ZodObject, message: { type: string }): { problem: string | undefined; data: { type: string } } {
  const { error, data } = shape.safeParse(message);
  const issue = error?.issues[0];
  return { problem: issue && `${issue.path.join('.')}: ${problemOf(message, issue)}`, data: data as { type: string } };
}

function parse(bytes: Buffer): { type: string } | undefined {
  if (tooNestedField(bytes) !== undefined) return undefined;
  try {
    const value = parseJson(bytes.toString());
    return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
      ? (value as { type: string })
      : undefined;
  } catch {
    return undefined;
  }
}
