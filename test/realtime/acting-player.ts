import { setTimeout as delay } from 'node:timers/promises';
import { LightSocket } from './light-socket.ts';
import type { Message } from './watcher.ts';

/** The data that an act writes. It identifies the act. */
export type Act =
  | { readonly action: 'data'; readonly n: number; readonly data: { readonly n: number; readonly text: string } }
  | {
      readonly action: 'message';
      readonly n: number;
      readonly data: { readonly n: number; readonly only?: string };
      readonly to?: string[];
    }
  | { readonly action: 'private'; readonly n: number; readonly seats: Record<string, { readonly secret: string }> };

/** Errors after which the outcome of the act is unknown. */
const UNKNOWN = new Set(['store_unavailable', 'internal']);

/** The most acts that may wait for their answers. The service would refuse more. */
const MOST_PENDING = 50;

const RECONNECT_MS = 100;
const NO_WELCOME_MS = 5000;

/** The prefix of texts for one player only, private data and messages `to` the player: `secret-<code>-<player id>-`. */
const SECRET = /(?:secret|only)-([A-Z]+-p\d+)-/g;

/**
 * A player of the room's channel, as docs/client.md describes: after a reconnection it sends the acts without `acted` again, in order,
 * before new acts. It examines every byte that it gets.
 */
export class ActingPlayer {
  readonly code: string;
  readonly installId: string;
  readonly id: string;
  /** Forbidden contents that arrived, one sentence each. */
  readonly faults: string[] = [];
  /** The last `acted` act of each kind, and later acts with an unknown outcome. */
  readonly last = { data: new Outcome(), message: new Outcome(), private: new Outcome() };
  /** `n` of the last private part of this player. */
  secretAt = 0;
  reconnects = 0;
  replayed = 0;
  refused = 0;
  messages = 0;
  missed = 0;
  bytes = 0;
  /** The last state, as text. */
  state = '';
  readonly #portOf: () => number;
  readonly #pending = new Map<number, Act>();
  #order = 0;
  #lastError = 'none';
  #socket: LightSocket | undefined;
  #isWelcome = false;
  #isOver = false;
  /** Of this connection: the last `seq`, and the expected number of the next message. */
  #seq = 0;
  #nextMessage: number | undefined;
  #welcomed: (() => void) | undefined;
  readonly #hearsAll: boolean;

  /**
   * @param portOf called for each connection
   * @param hearsAll every message of the room is for all players, so each number arrives or is in a `missed`
   */
  constructor(code: string, installId: string, place: number, { portOf, hearsAll }: { portOf: () => number; hearsAll: boolean }) {
    [this.code, this.installId, this.id] = [code, installId, `p${place + 1}`];
    this.#portOf = portOf;
    this.#hearsAll = hearsAll;
  }

  /** Resolves with the first `welcome`. From then on the player stays connected, until `leave`. */
  async join(): Promise<void> {
    const welcomed = new Promise<void>((resolve) => (this.#welcomed = resolve));
    void this.#connect();
    await welcomed;
  }

  get pending(): number {
    return this.#pending.size;
  }

  /** The state of the player, for the report of a failed proof. */
  get standing(): string {
    const orders = [...this.#pending.keys()];
    return `${this.id} ${this.#isWelcome ? 'welcomed' : 'not welcomed'}, waits for orders ${orders[0]} to ${orders.at(-1)}, last error: ${this.#lastError}`;
  }

  get maySend(): boolean {
    return this.#isWelcome && this.#pending.size < MOST_PENDING;
  }

  act(act: Act): void {
    this.#pending.set(++this.#order, act);
    if (this.#isWelcome) this.#send(this.#order, act);
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** Breaks the connection, as a network does. */
  cut(): void {
    this.#socket?.destroy();
  }

  leave(): void {
    this.#isOver = true;
    this.#socket?.destroy();
  }

  async #connect(): Promise<void> {
    for (; !this.#isOver; await delay(RECONNECT_MS)) {
      [this.#seq, this.#nextMessage, this.#isWelcome] = [0, undefined, false];
      const ended = Promise.withResolvers<void>();
      try {
        const events = { text: (text: Buffer) => this.#take(text), closed: () => ended.resolve() };
        this.#socket = await LightSocket.open(this.#portOf(), `/v1/rooms/${this.code}/live`, events);
      } catch {
        // The process has ended, or Redis is down.
        continue;
      }
      this.#socket.send({ type: 'hello', installId: this.installId, tab: 'prove' });
      const late = setTimeout(() => this.#isWelcome || this.#socket?.destroy(), NO_WELCOME_MS);
      await ended.promise;
      clearTimeout(late);
      if (!this.#isOver) this.reconnects++;
    }
  }

  #send(order: number, { n: _, ...act }: Act): void {
    this.#socket!.send({ type: 'act', order, ...act });
  }

  #take(text: Buffer): void {
    this.bytes += text.length;
    // 'secret-' and 'only-' are rare in states, so this check is cheap.
    if (text.includes('secret-') || text.includes('only-'))
      for (const [, whose] of text.toString().matchAll(SECRET))
        if (whose !== `${this.code}-${this.id}`) this.faults.push(`${this.code} ${this.id} got what is for ${whose}`);
    // `{"type":"room"`
    if (text[9] === ROOM) return this.#takeState(text);
    const message = JSON.parse(text.toString()) as Message;
    if (message.type === 'acted') this.#acted(message);
    else if (message.type === 'message') this.#hear(message.n, message.n, 'message');
    else if (message.type === 'missed') this.#hear(message.from, message.to, 'missed');
    else if (message.type === 'you') this.#takePrivate(message.private, message.playerId);
    else if (message.type === 'welcome') this.#welcome(message);
    // A hello during a failover is refused: the client sends it again on a new connection.
    else if (message.type === 'error') {
      this.#lastError = text.toString();
      this.#socket!.destroy();
    }
  }

  #takeState(text: Buffer): void {
    this.state = text.toString();
    const seq = Number(/^\{"type":"room","seq":(\d+)/.exec(this.state)![1]);
    if (seq <= this.#seq) this.faults.push(`${this.code} ${this.id} got seq ${seq} after ${this.#seq}`);
    this.#seq = seq;
  }

  #takePrivate(part: { secret: string } | undefined, playerId: string): void {
    if (playerId !== this.id) this.faults.push(`${this.code} ${this.id} got the private part of ${playerId}`);
    if (part !== undefined) this.secretAt = Number(part.secret.split('-').at(-1));
  }

  #welcome({ you }: Message): void {
    if (you.playerId !== this.id) this.faults.push(`${this.code} ${this.id} was welcomed as ${you.playerId}`);
    this.#takePrivate(you.private, you.playerId);
    this.#isWelcome = true;
    for (const [order, act] of this.#pending) this.#send(order, act);
    this.#welcomed?.();
  }

  #acted({ order, error, replayed }: Message): void {
    const act = this.#pending.get(order);
    this.#pending.delete(order);
    if (act === undefined) return void this.faults.push(`${this.code} ${this.id}: order ${order} was acted twice`);
    if (replayed === true) this.replayed++;
    if (error === undefined) this.last[act.action].done(act.n);
    else if (UNKNOWN.has(error.code)) this.last[act.action].unknown(act.n);
    else if (error.code === 'rate_limited' || error.code === 'overloaded') this.refused++;
    else this.faults.push(`${this.code} ${this.id}: ${act.action} gave ${error.code}`);
  }

  #hear(from: number, to: number, kind: 'message' | 'missed'): void {
    if (this.#nextMessage !== undefined) {
      if (from < this.#nextMessage)
        this.faults.push(`${this.code} ${this.id}: ${kind} ${from} to ${to} came after message ${this.#nextMessage - 1}`);
      if (this.#hearsAll && from > this.#nextMessage)
        this.faults.push(`${this.code} ${this.id}: messages ${this.#nextMessage} to ${from - 1} never came, and were not named as missed`);
    }
    this.#nextMessage = to + 1;
    if (kind === 'message') this.messages++;
    else this.missed += to - from + 1;
  }
}

const ROOM = 'r'.charCodeAt(0);

/** The outcomes of the acts of one kind. */
export class Outcome {
  acted = 0;
  /** Acts with an unknown outcome. */
  unknowns = 0;
  /** `n` of the last `acted` act. */
  lastN = 0;
  readonly #unknown = new Set<number>();

  done(n: number): void {
    this.acted++;
    this.lastN = Math.max(this.lastN, n);
  }

  unknown(n: number): void {
    this.unknowns++;
    this.#unknown.add(n);
  }

  /** Whether the present value may be that of the act `n`: of the last `acted` one, or of a later one with an unknown outcome. */
  mayStand(n: number): boolean {
    return n === this.lastN || (n > this.lastN && this.#unknown.has(n));
  }
}
