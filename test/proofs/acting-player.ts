import { setTimeout as delay } from 'node:timers/promises';
import { RawSocket } from '../realtime/raw-socket.ts';
import type { Message } from '../realtime/watcher.ts';

/** The data that an act writes. It identifies the act. */
export type Act = { readonly n: number } & (
  | { readonly action: 'data'; readonly data: { readonly n: number; readonly text: string } }
  | { readonly action: 'message'; readonly data: { readonly n: number; readonly only?: string }; readonly to?: string[] }
  | { readonly action: 'private'; readonly seats: Record<string, { readonly secret: string }> }
);

/** Errors after which the outcome of the act is unknown. */
const UNKNOWN = new Set(['store_unavailable', 'internal']);

/** Errors of a budget. */
const REFUSED = new Set(['rate_limited', 'overloaded']);

/** The most acts that may wait for their answers. The service would refuse more. */
const MOST_PENDING = 50;

const RECONNECT_MS = 100;
const NO_WELCOME_MS = 5000;

/** The prefix of texts for one player only, private data and messages `to` the player: `secret-<code>-<player id>-`. */
const SECRET = /(?:secret|only)-([A-Z]+-p\d+)-/g;

/** The player's room, and how the player reaches it. */
export interface Seated {
  readonly code: string;
  readonly installId: string;
  readonly playerId: string;
  /** The port of a process, called for each connection. */
  readonly portOf: () => number;
  /** Every message of the room is for all players, so each number arrives or is in a `missed`. */
  readonly hearsAll: boolean;
}

/**
 * A player of the room's channel, as docs/client.md describes: after a reconnection it sends the acts without `acted` again, in order,
 * before new acts. It examines every byte that it gets.
 */
export class ActingPlayer {
  readonly seated: Seated;
  /** Forbidden contents that arrived, one sentence each. */
  readonly faults: string[] = [];
  /** The last `acted` act of each kind, and later acts with an unknown outcome. */
  readonly last = { data: new Outcome(), message: new Outcome(), private: new Outcome() };
  readonly counts = { reconnects: 0, replayed: 0, refused: 0, messages: 0, missed: 0, bytes: 0 };
  readonly pending = new Map<number, Act>();
  /** `n` of the last private part of this player. */
  secretAt = 0;
  /** The last state, as text. */
  state = '';
  #order = 0;
  #socket: RawSocket | undefined;
  #isWelcome = false;
  #isOver = false;
  /** Of this connection: the last `seq`, and the expected number of the next message. */
  #seq = 0;
  #nextMessage: number | undefined;
  #welcomed: (() => void) | undefined;

  constructor(seated: Seated) {
    this.seated = seated;
  }

  /** Resolves with the first `welcome`. From then on the player stays connected, until `leave`. */
  async join(): Promise<void> {
    const welcomed = new Promise<void>((resolve) => (this.#welcomed = resolve));
    void this.#connect();
    await welcomed;
  }

  /** Sends an act, unless too many wait for their answers. */
  act(act: Act): void {
    if (!this.#isWelcome || this.pending.size >= MOST_PENDING) return;
    this.pending.set(++this.#order, act);
    this.#send(this.#order, act);
  }

  /** Whether it reads. */
  set isReading(isReading: boolean) {
    if (isReading) this.#socket?.resume();
    else this.#socket?.pause();
  }

  /** Breaks the connection, as a network does. */
  cut(): void {
    this.#socket?.destroy();
  }

  leave(): void {
    this.#isOver = true;
    this.cut();
  }

  async #connect(): Promise<void> {
    const { code, installId, portOf } = this.seated;
    for (; !this.#isOver; await delay(RECONNECT_MS)) {
      [this.#seq, this.#nextMessage, this.#isWelcome] = [0, undefined, false];
      const socket = await RawSocket.open(portOf(), `/v1/rooms/${code}/live`, {}, (text) => this.#take(text));
      // The process has ended, or Redis is down.
      if (socket.status !== 101) continue;
      this.#socket = socket;
      socket.text({ type: 'hello', installId, tab: 'prove' });
      const late = setTimeout(() => this.#isWelcome || socket.destroy(), NO_WELCOME_MS);
      await socket.ended;
      clearTimeout(late);
      if (!this.#isOver) this.counts.reconnects++;
    }
  }

  #fault(text: string): void {
    this.faults.push(`${this.seated.code} ${this.seated.playerId}: ${text}`);
  }

  #send(order: number, { n: _, ...act }: Act): void {
    this.#socket!.text({ type: 'act', order, ...act });
  }

  #take(text: Buffer): void {
    this.counts.bytes += text.length;
    const { code, playerId } = this.seated;
    // 'secret-' and 'only-' are rare in states, so this check is cheap.
    if (text.includes('secret-') || text.includes('only-'))
      for (const [, whose] of text.toString().matchAll(SECRET))
        if (whose !== `${code}-${playerId}`) this.#fault(`got what is for ${whose}`);
    // `{"type":"room"`
    if (text[9] === ROOM) return this.#takeState(text.toString());
    const message = JSON.parse(text.toString()) as Message;
    if (message.type === 'acted') this.#acted(message);
    else if (message.type === 'message') this.#hear(message.n, message.n, 'messages');
    else if (message.type === 'missed') this.#hear(message.from, message.to, 'missed');
    else if (message.type === 'you') this.#takePrivate(message);
    else if (message.type === 'welcome') this.#welcome(message);
    // A hello during a failover is refused: the client sends it again on a new connection.
    else if (message.type === 'error') this.cut();
  }

  #takeState(state: string): void {
    this.state = state;
    const seq = Number(/^\{"type":"room","seq":(\d+)/.exec(state)![1]);
    if (seq <= this.#seq) this.#fault(`got seq ${seq} after ${this.#seq}`);
    this.#seq = seq;
  }

  #takePrivate({ private: part, playerId }: { private?: { secret: string }; playerId: string }): void {
    if (playerId !== this.seated.playerId) this.#fault(`got the private part of ${playerId}`);
    if (part !== undefined) this.secretAt = Number(part.secret.split('-').at(-1));
  }

  #welcome({ you }: Message): void {
    this.#takePrivate(you);
    this.#isWelcome = true;
    for (const [order, act] of this.pending) this.#send(order, act);
    this.#welcomed?.();
  }

  #acted({ order, error, replayed, seq }: Message): void {
    const act = this.pending.get(order);
    this.pending.delete(order);
    if (act === undefined) return this.#fault(`order ${order} was acted twice`);
    if (replayed === true) this.counts.replayed++;
    if (act.action !== 'message' && seq > this.#seq) this.#fault(`order ${order} was acted with seq ${seq} after the state ${this.#seq}`);
    if (error === undefined) this.last[act.action].done(act.n);
    else if (UNKNOWN.has(error.code)) this.last[act.action].unknown.add(act.n);
    else if (REFUSED.has(error.code)) this.counts.refused++;
    else this.#fault(`${act.action} gave ${error.code}`);
  }

  #hear(from: number, to: number, kind: 'messages' | 'missed'): void {
    const expected = this.#nextMessage ?? from;
    if (from < expected) this.#fault(`${kind} ${from} to ${to} came after message ${expected - 1}`);
    if (this.seated.hearsAll && from > expected)
      this.#fault(`messages ${expected} to ${from - 1} never came, and were not named as missed`);
    this.#nextMessage = to + 1;
    this.counts[kind] += to - from + 1;
  }
}

const ROOM = 'r'.charCodeAt(0);

/** The outcomes of the acts of one kind. */
class Outcome {
  acted = 0;
  /** `n` of the acts with an unknown outcome. */
  readonly unknown = new Set<number>();
  /** `n` of the last `acted` act. */
  lastN = 0;

  done(n: number): void {
    this.acted++;
    this.lastN = Math.max(this.lastN, n);
  }

  /** Whether the present value may be that of the act `n`: of the last `acted` one, or of a later one with an unknown outcome. */
  mayStand(n: number): boolean {
    return n === this.lastN || (n > this.lastN && this.unknown.has(n));
  }
}
