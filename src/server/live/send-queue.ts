import { closeCodes } from './close-codes.ts';
import { TOO_SLOW_MS } from './frame-limits.ts';
import type { Topic } from './topic.ts';
import { noticeOf, type Relayed, type Watcher } from './watcher.ts';
import type { WebSocket } from '../uws.ts';

/**
 * Bytes of answers that may wait for a socket that does not read. Acts whose answers are long would otherwise fill the memory, also on
 * a socket that reads a little all the time: a refused act may bring a whole state.
 */
const ANSWER_BYTES_WAITING = 128 * 1024;

/** A close frame waits behind data that the client does not read. After this time the connection is cut without it. */
const CUT_AFTER_MS = 5000;

/** Most ranges of missed messages that a socket is told separately. Further ones extend the last range. */
const MOST_RANGES = 64;

/** Far longer than uWS takes to send or drop an answer: up to 17 ms until the push, and a turn of the event loop. */
const PUBLISHED_KEPT_MS = 500;

/** Characters by which a published answer is recognised. */
const HEAD_LENGTH = 96;

/** An answer that was published in the last moment. */
interface Published {
  readonly text: string;
  readonly at: number;
  /** `pushCount` of the topic at that time. */
  readonly pushCount: number;
}

/** Begins an answer to an act. */
const ACTED = '{"type":"acted"';

export interface SendQueueOptions {
  readonly topic: Topic;
  readonly takesPatches: boolean;
  /** The uWS topic to which only this socket is subscribed, once it is named. */
  readonly ownTopic: string;
  /** The private part has changed. */
  readonly privateChanged: () => void;
  /** Called when everything that waited was sent. May send more. */
  readonly hasDrained: () => void;
  /** Runs work after the acts under way, if there are any. @returns whether there are */
  readonly afterActs: (work: () => void) => boolean;
}

/**
 * The outgoing side of one socket. A client that reads slowly gets the latest state once it has read all that was sent before. A socket
 * that has not drained for 30 s is closed (TOO_SLOW_MS).
 */
export class SendQueue implements Watcher {
  readonly #options: SendQueueOptions;
  #socket: WebSocket<unknown> | undefined;
  /** The time since which a state, answers or the close wait for the socket to drain. */
  #behindSince: number | undefined;
  /** The topic's push count when the socket missed a state. */
  #missedPush: number | undefined;
  readonly #answers: string[] = [];
  /** Bytes of `#answers`. */
  #answerBytes = 0;
  #ending: { code: number; reason: string } | undefined;
  /** The relayed messages that were not sent because the socket lagged: ranges, each with its first and last. */
  readonly #missed: { from: number; to: number }[] = [];
  readonly #published: Published[] = [];
  /** A state is being sent to this socket alone. If uWS drops the state, it drops no answer with it. */
  #isSendingState = false;
  #isNamed = false;

  constructor(options: SendQueueOptions) {
    this.#options = options;
  }

  open(socket: WebSocket<unknown>): void {
    this.#socket = socket;
    this.#options.topic.add(this);
  }

  close(): void {
    this.#socket = undefined;
    this.#options.topic.remove(this);
  }

  get takesPatches(): boolean {
    return this.#options.takesPatches;
  }

  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  get isFull(): boolean {
    return this.#socket !== undefined && this.#socket.getBufferedAmount() > 0;
  }

  /**
   * The answers to acts are published on a topic of this socket alone, because uWS sends all that is published in one turn in one write.
   */
  subscribeOwn(): void {
    this.#isNamed = true;
    this.subscribe(this.#options.ownTopic);
  }

  subscribe(topic: string): void {
    this.#socket?.subscribe(topic);
  }

  unsubscribe(topic: string): void {
    this.#socket?.unsubscribe(topic);
  }

  sendState(message: string): void {
    // If the buffer is full, uWS drops the state and calls `dropped`.
    this.#isSendingState = true;
    this.#socket?.send(message);
    this.#isSendingState = false;
  }

  relay(relayed: readonly Relayed[]): number {
    if (this.#socket === undefined || this.isEnding) return relayed.filter(({ isNotice }) => !isNotice).length;
    if (relayed.length === 1) return this.#relay(relayed);
    let missed = 0;
    this.#socket.cork(() => void (missed = this.#relay(relayed)));
    return missed;
  }

  #relay(relayed: readonly Relayed[]): number {
    const missed = relayed.filter(({ message, from, to, isNotice }) => {
      if (!this.isFull && this.#missed.length === 0) return void this.#socket!.send(message);
      this.lag();
      this.#miss(from, to);
      return !isNotice;
    });
    return missed.length;
  }

  privateChanged(): void {
    this.#options.privateChanged();
  }

  /** Sends an answer, or queues it while the socket is full: unlike a state, an answer has no later one to replace it. */
  send(text: string): void {
    if (this.#socket === undefined) return;
    if (this.#answers.length === 0 && !this.isFull) this.#socket.send(text);
    else this.#queueAnswer(text);
  }

  /** Sends an answer to an act, in one write with the next push of the topic if one is due. */
  sendWithPush(text: string): void {
    if (this.#socket === undefined) return;
    const isAlone = !this.#isNamed || this.#answers.length > 0 || this.isFull || this.isEnding;
    if (isAlone) this.send(text);
    else this.#publish(text);
  }

  #publish(text: string): void {
    const { topic, ownTopic } = this.#options;
    const now = performance.now();
    while (this.#published.length > 0 && this.#published[0]!.at < now - PUBLISHED_KEPT_MS) this.#published.shift();
    this.#published.push({ text, at: now, pushCount: topic.pushCount });
    topic.publishWithPush(ownTopic, text);
  }

  /**
   * uWS dropped a state or an answer because the socket's buffer is full. When it drains, the client gets the latest state and the answers.
   * Among the messages published in one turn of the event loop, uWS calls this only for the first that it drops, and drops the later ones
   * without a call (`TopicTree::drainImpl`).
   */
  dropped(message: ArrayBuffer): void {
    this.lag();
    const { pushCount } = this.#options.topic;
    if (this.#isSendingState) return this.#missState(pushCount);
    const head = Buffer.from(message).toString('latin1', 0, HEAD_LENGTH);
    const answer = head.startsWith(ACTED) ? this.#published.findIndex(({ text }) => text.startsWith(head)) : -1;
    if (answer === -1 || pushCount > this.#published[answer]!.pushCount) this.#missState(pushCount);
    const from = answer === -1 ? this.#published.findIndex((published) => published.pushCount >= pushCount) : answer;
    if (from >= 0) for (const { text } of this.#published.splice(from)) this.#queueAnswer(text);
  }

  #missState(pushCount: number): void {
    this.#missedPush = pushCount;
    this.#options.topic.missed(this);
  }

  #queueAnswer(text: string): void {
    // Answers beyond the bound are not sent at all: the close code 4008 tells the client that some are missing.
    if (this.#answerBytes > ANSWER_BYTES_WAITING) return;
    this.#answerBytes += Buffer.byteLength(text);
    this.lag();
    if (this.#answerBytes <= ANSWER_BYTES_WAITING) return void this.#answers.push(text);
    this.#answers.length = 0;
    this.end(closeCodes.tooSlow, 'too slow');
  }

  /** Ranges stay apart if messages between them were sent. */
  #miss(from: number, to: number): void {
    const last = this.#missed.at(-1);
    if (last !== undefined && (from <= last.to + 1 || this.#missed.length === MOST_RANGES)) last.to = Math.max(last.to, to);
    else this.#missed.push({ from, to });
  }

  /** Sends what waited, as far as the buffer allows: the latest state, the answers, what was missed, then the close. */
  drained(): void {
    if (this.#socket === undefined || this.#behindSince === undefined || this.isFull) return;
    this.#behindSince = performance.now();
    const missedPush = this.#missedPush;
    this.#missedPush = undefined;
    if (missedPush !== undefined) this.#options.topic.catchUp(this, missedPush);
    while (this.#answers.length > 0 && !this.isFull) {
      const text = this.#answers.shift()!;
      this.#answerBytes -= Buffer.byteLength(text);
      this.#socket.send(text);
    }
    while (this.#missed.length > 0 && !this.isFull) this.#socket.send(noticeOf(this.#missed.shift()!));
    if (this.isFull) return;
    this.#options.hasDrained();
    if (this.isFull) return;
    this.#behindSince = undefined;
    if (this.#ending !== undefined) this.#socket.end(this.#ending.code, this.#ending.reason);
  }

  /** Closes a socket that has not drained for TOO_SLOW_MS, and cuts it CUT_AFTER_MS later. */
  checkPace(now: number): void {
    if (this.#socket === undefined || this.#behindSince === undefined) return;
    const behindMs = now - this.#behindSince;
    if (behindMs >= TOO_SLOW_MS + CUT_AFTER_MS) this.cut();
    else if (behindMs >= TOO_SLOW_MS) this.end(closeCodes.tooSlow, 'too slow');
  }

  /** Closes the connection without a close frame. */
  cut(): void {
    this.#socket?.close();
  }

  /**
   * Closes the socket after everything that waits is sent, because uWS drops the close frame of a full socket. A client does not come back
   * after a final state, so acts under way are answered first, such as the act that led to this state.
   */
  end(code: number, reason: string): void {
    if (this.#socket === undefined) return;
    const waits = code === closeCodes.finished && !this.isEnding && this.#options.afterActs(() => this.#end(code, reason));
    if (waits) this.#ending = { code, reason };
    else this.#end(code, reason);
  }

  #end(code: number, reason: string): void {
    if (this.#socket === undefined) return;
    if (this.#behindSince === undefined && !this.isFull) return void this.#socket.end(code, reason);
    this.lag();
    this.#ending ??= { code, reason };
  }

  /** Notes that something now waits for the socket to drain. */
  lag(): void {
    this.#behindSince ??= performance.now();
  }
}
