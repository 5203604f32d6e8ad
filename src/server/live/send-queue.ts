import { closeCodes } from './close-codes.ts';
import { TOO_SLOW_MS } from './frame-limits.ts';
import type { Topic } from './topic.ts';
import { noticeOf, type Relayed, type Watcher } from './watcher.ts';
import type { WebSocket } from '../uws.ts';

/**
 * The most bytes of answers that may wait for a socket that does not read. The answer to a refused act may hold a whole state. So without
 * this limit a single socket that reads slowly could fill the memory.
 */
const ANSWER_BYTES_WAITING = 128 * 1024;

/**
 * Milliseconds after which a closing connection is cut without a close frame, because the frame waits behind data that the client does not
 * read.
 */
const CUT_AFTER_MS = 5000;

/** The most ranges of missed messages that a socket is told separately. Further missed messages extend the last range. */
const MOST_RANGES = 64;

/**
 * Milliseconds for which published answers are remembered. uWS takes far less time to send or drop an answer: up to 17 ms until the push,
 * and a turn of the event loop.
 */
const PUBLISHED_KEPT_MS = 500;

/** The length of the start of an answer by which the answer is recognised if uWS drops it. */
const HEAD_LENGTH = 96;

/** An answer, and the position of the state that its client must have before the answer. */
interface Answer {
  readonly text: string;
  readonly position: number;
}

/** An answer that was published a moment ago, and that uWS may still drop. */
interface Published extends Answer {
  readonly at: number;
  /** The topic's `pushCount` when the answer was published. */
  readonly pushCount: number;
}

/** The socket whose answers and states a queue sends. */
export interface QueuedSocket {
  /** The name of the uWS topic to which only this socket is subscribed, once the socket has a name. */
  readonly connectionId: string;
  /** Called when the private part of the socket's player has changed, so that the socket has to send it. */
  privateChanged(): void;
  /** Called when everything that waited was sent. It may send more. */
  hasDrained(): void;
  /** Runs the work once the acts that are being processed are done. @returns false if there are none: the work is then not run */
  afterActs(work: () => void): boolean;
}

/**
 * The outgoing side of one socket. A client that reads slowly gets the latest state once it has read all earlier data. A
 * socket that has not drained for 30 s is closed (TOO_SLOW_MS).
 */
export class SendQueue implements Watcher {
  readonly #owner: QueuedSocket;
  readonly takesPatches: boolean;
  #topic: Topic | undefined;
  #socket: WebSocket<unknown> | undefined;
  /**
   * The time since which a state, answers or the close wait for the socket to drain, on the clock of `performance.now()`. Undefined:
   * nothing waits.
   */
  #behindSince: number | undefined;
  /** The topic's push count when the socket missed a state. Undefined: it missed none. */
  #missedPush: number | undefined;
  readonly #answers: Answer[] = [];
  /** The bytes of all `#answers` together. */
  #answerBytes = 0;
  #ending: { code: number; reason: string } | undefined;
  /** The relayed messages that the socket missed because it lagged, as ranges of their numbers. */
  readonly #missed: { from: number; to: number }[] = [];
  readonly #published: Published[] = [];
  /** The message that is being sent to this socket alone. If uWS drops a message then, it is this one. */
  #sending: 'state' | Answer | undefined;
  #isNamed = false;

  /** @param topic that the socket watches from the start */
  constructor(owner: QueuedSocket, topic: Topic | undefined, takesPatches: boolean) {
    this.#owner = owner;
    this.#topic = topic;
    this.takesPatches = takesPatches;
  }

  open(socket: WebSocket<unknown>): void {
    this.#socket = socket;
    this.#topic?.add(this);
  }

  /**
   * From now on the socket watches another topic, and is sent its state. `hold` was called before; `close` and the next `watch` call
   * `release`.
   */
  watch(topic: Topic): void {
    const before = this.#topic;
    if (before === topic) return topic.release();
    this.#topic = topic;
    this.#missedPush = undefined;
    topic.add(this);
    if (before === undefined) return;
    this.unsubscribe(before.channel);
    before.remove(this);
  }

  close(): void {
    this.#socket = undefined;
    this.#topic?.remove(this);
  }

  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  get isFull(): boolean {
    return this.#socket !== undefined && this.#socket.getBufferedAmount() > 0;
  }

  /**
   * Subscribes the socket to a uWS topic of its own. The answers to its acts are published on this topic, because uWS sends all messages
   * that are published in one turn in one write.
   */
  subscribeOwn(): void {
    this.#isNamed = true;
    this.subscribe(this.#owner.connectionId);
  }

  subscribe(topic: string): void {
    this.#socket?.subscribe(topic);
  }

  unsubscribe(topic: string): void {
    this.#socket?.unsubscribe(topic);
  }

  sendState(message: string): void {
    // If the buffer is full, uWS drops the state and calls `dropped`.
    this.#sendAlone(message, 'state');
  }

  #sendAlone(message: string, sending: 'state' | Answer): void {
    this.#sending = sending;
    this.#socket?.send(message);
    this.#sending = undefined;
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
    this.#owner.privateChanged();
  }

  /**
   * Sends an answer, or queues it while the socket is full. Unlike a state, an answer cannot be skipped, because no later one replaces it.
   */
  send(text: string): void {
    if (this.#socket === undefined) return;
    const answer = { text, position: 0 };
    if (this.#answers.length === 0 && !this.isFull) this.#sendAlone(text, answer);
    else this.#queueAnswer(answer);
  }

  /** Sends an answer that names a state. If the state goes out in this turn, both go out in one write. */
  sendAfter(position: number, text: string): void {
    if (this.#socket === undefined) return;
    const topic = this.#topic;
    const answer = { text, position };
    if (this.#answers.length > 0 || this.isFull) this.#queueAnswer(answer);
    else if (topic?.hasSent(this, position) === false) topic.answerAfter(this, position, text);
    // The close follows in the same turn, and uWS would not send what is published.
    else if (!this.#isNamed || this.isEnding || topic?.isFinal !== false) this.#sendAlone(text, answer);
    else this.#publish(answer);
  }

  #publish(answer: Answer): void {
    const topic = this.#topic!;
    const now = performance.now();
    while (this.#published.length > 0 && this.#published[0]!.at < now - PUBLISHED_KEPT_MS) this.#published.shift();
    this.#published.push({ ...answer, at: now, pushCount: topic.pushCount });
    topic.publish(this.#owner.connectionId, answer.text);
  }

  /**
   * uWS dropped a state or an answer because the socket's buffer is full. When it drains, the client gets the latest state and the answers.
   * If uWS drops several messages that were published in one turn of the event loop, it calls this method for the first one only
   * (`TopicTree::drainImpl`).
   */
  dropped(message: ArrayBuffer): void {
    this.lag();
    const { pushCount = 0 } = this.#topic ?? {};
    const head = Buffer.from(message).toString('latin1', 0, HEAD_LENGTH);
    const sending = this.#sending;
    const answer = this.#published.findIndex(({ text }) => text.startsWith(head));
    // uWS sends what was published before a message that is sent alone, and so may drop it first.
    if (answer === -1 && sending === 'state') return this.#missState(pushCount);
    if (answer === -1 && sending !== undefined && sending !== 'state' && sending.text.startsWith(head)) return this.#queueAnswer(sending);
    if (answer === -1 || pushCount > this.#published[answer]!.pushCount) this.#missState(pushCount);
    const from = answer === -1 ? this.#published.findIndex((published) => published.pushCount >= pushCount) : answer;
    if (from >= 0) for (const dropped of this.#published.splice(from)) this.#queueAnswer(dropped);
  }

  #missState(pushCount: number): void {
    this.#missedPush = pushCount;
    this.#topic?.missed(this);
  }

  #queueAnswer({ text, position }: Answer): void {
    // Answers beyond the bound are not sent at all. The close code 4008 tells the client that some answers are missing.
    if (this.#answerBytes > ANSWER_BYTES_WAITING) return;
    this.#answerBytes += Buffer.byteLength(text);
    this.lag();
    if (this.#answerBytes <= ANSWER_BYTES_WAITING) return void this.#answers.push({ text, position });
    this.#answers.length = 0;
    this.end(closeCodes.tooSlow, 'too slow');
  }

  /** Adds messages to the ranges of missed messages. Two ranges stay apart if messages between them were sent. */
  #miss(from: number, to: number): void {
    const last = this.#missed.at(-1);
    if (last !== undefined && (from <= last.to + 1 || this.#missed.length === MOST_RANGES)) last.to = Math.max(last.to, to);
    else this.#missed.push({ from, to });
  }

  /**
   * Sends the data that waited, as far as the buffer allows: the latest state, the answers, the notices of missed messages, then the close.
   */
  drained(): void {
    if (this.#socket === undefined || this.#behindSince === undefined || this.isFull) return;
    this.#behindSince = performance.now();
    const missedPush = this.#missedPush;
    this.#missedPush = undefined;
    if (missedPush !== undefined) this.#topic?.catchUp(this, missedPush);
    this.#sendAnswers();
    while (this.#missed.length > 0 && !this.isFull) this.#socket.send(noticeOf(this.#missed.shift()!));
    if (this.isFull) return;
    this.#owner.hasDrained();
    if (this.isFull) return;
    this.#behindSince = undefined;
    if (this.#ending !== undefined) this.#socket.end(this.#ending.code, this.#ending.reason);
  }

  #sendAnswers(): void {
    const topic = this.#topic;
    while (this.#answers.length > 0 && !this.isFull) {
      const answer = this.#answers.shift()!;
      const { text, position } = answer;
      this.#answerBytes -= Buffer.byteLength(text);
      if (topic?.hasSent(this, position) !== false) this.#sendAlone(text, answer);
      else topic.answerAfter(this, position, text);
    }
  }

  /** Closes a socket that has not drained for TOO_SLOW_MS, and cuts it CUT_AFTER_MS later. */
  checkPace(now: number): void {
    if (this.#socket === undefined || this.#behindSince === undefined) return;
    const behindMs = now - this.#behindSince;
    if (behindMs >= TOO_SLOW_MS + CUT_AFTER_MS) this.cut();
    else if (behindMs >= TOO_SLOW_MS) this.end(closeCodes.tooSlow, 'too slow');
  }

  ping(): void {
    this.#socket?.ping();
  }

  /** Closes the connection without a close frame. */
  cut(): void {
    this.#socket?.close();
  }

  /**
   * Closes the socket once all waiting data are sent, because uWS drops the close frame of a full socket. A client does not reconnect after
   * a final state. So acts that are being processed are answered first, such as the act that led to the final state.
   */
  end(code: number, reason: string): void {
    if (this.#socket === undefined) return;
    const waits = code === closeCodes.finished && !this.isEnding && this.#owner.afterActs(() => this.#end(code, reason));
    if (waits) this.#ending = { code, reason };
    else this.#end(code, reason);
  }

  #end(code: number, reason: string): void {
    if (this.#socket === undefined) return;
    if (this.#behindSince === undefined && !this.isFull) return void this.#socket.end(code, reason);
    this.lag();
    this.#ending ??= { code, reason };
  }

  /** Notes that data now wait for the socket to drain. */
  lag(): void {
    this.#behindSince ??= performance.now();
  }
}
