import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { waitOf } from '../../src/clients/javascript/watch.ts';
import { RawSocket } from '../realtime/raw-socket.ts';
import type { Message } from '../realtime/watcher.ts';
import { ask, times } from './client.ts';
import { quantile } from './figures.ts';
import { now } from './history.ts';
import type { Place } from './place.ts';
import type { Stand } from './proof.ts';
import { AtPlace, type Fault, type Load } from './scenario.ts';

const PLAYERS = 8;
const ROOMS_AT_ONCE = 20;

/** The clients of one address: fewer than SOCKETS_PER_ADDRESS allows by default. */
const CLIENTS_PER_ADDRESS = 50;

/** How long a client waits for a connection to open, in milliseconds (`OPEN_MS` of the client library). */
const OPEN_MS = 4000;

/** How long after an outage clients may come back, in milliseconds, before the next one begins. */
const SETTLE_MS = 12_000;

/** One in this many rooms has a player who acts all the time, once each ACT_MS. */
const ACTING_EVERY = 25;
const ACT_MS = 200;

interface Client {
  readonly code: string;
  readonly installId: string;
  /** The address from which it connects. */
  readonly from: string;
  readonly acts: boolean;
  /** When it was last welcomed. Undefined: it is not live. */
  liveSince?: number | undefined;
  /** The last outage after which it was back. */
  backAfter?: Outage;
}

interface Outage {
  readonly seconds: number;
  readonly readyAt: number;
}

/**
 * Players who lose their service, and come back as the client library does: the waits are its own, and a player whose WebSocket does not
 * open reads the room over HTTP for the reason, as a page has to.
 */
export class Reconnections extends AtPlace implements Load {
  done = 0;
  readonly #clients: readonly Client[];
  readonly #outages: Outage[] = [];
  /** For each outage how long after it each client was live again, in milliseconds. */
  readonly #backAfter: number[][] = [];
  /** The milliseconds from acts to their answers, while other clients come back. */
  readonly #actMs: number[] = [];
  /** Clients who would go on without a WebSocket, because two tries in a row gave no reason. */
  #withoutReason = 0;
  #isOver = false;

  static async open(stand: Stand, place: Place, count: number): Promise<Reconnections> {
    const rooms = Math.max(1, Math.round((count * stand.size) / PLAYERS));
    const clients: Client[] = [];
    const numbers = Array.from({ length: rooms }).keys();
    const opening = times(ROOMS_AT_ONCE, async () => {
      for (const number of numbers) {
        const installIds = times(PLAYERS, () => randomUUID());
        const { room } = await place.client.need('/v1/rooms', { installId: installIds[0], maxPlayers: PLAYERS });
        for (const installId of installIds.slice(1)) await place.client.need(`/v1/rooms/${room.code}/join`, { installId });
        for (const [seat, installId] of installIds.entries()) {
          const address = Math.floor((number * PLAYERS + seat) / CLIENTS_PER_ADDRESS);
          const from = `127.0.${1 + Math.floor(address / 250)}.${1 + (address % 250)}`;
          clients.push({ code: room.code, installId, from, acts: seat === 0 && number % ACTING_EVERY === 0 });
        }
      }
    });
    await Promise.all(opening);
    return new Reconnections(stand, place, clients);
  }

  private constructor(stand: Stand, place: Place, clients: readonly Client[]) {
    super(stand, place);
    this.#clients = clients;
  }

  async run(isOver: () => boolean): Promise<void> {
    const ending = (async () => {
      while (!isOver()) await pause(100);
      this.#isOver = true;
    })();
    await Promise.all([ending, ...this.#clients.map((client) => this.#live(client))]);
  }

  /** Kills the service, starts it again after so long, and gives the clients time to come back. */
  async outage(seconds: number): Promise<void> {
    const { place, stand } = this;
    while (!this.#isOver && this.#clients.some(({ liveSince }) => liveSince === undefined)) await pause(100);
    stand.history.event(`an outage of ${seconds} s`);
    await place.outage(1000 * seconds);
    this.#outages.push({ seconds, readyAt: now() });
    this.#backAfter.push([]);
    await pause(SETTLE_MS);
  }

  async compare(): Promise<Record<string, number>> {
    const { figures } = this.stand;
    let missing = 0;
    for (const [index, { seconds }] of this.#outages.entries()) {
      const backAfter = this.#backAfter[index]!;
      missing += this.#clients.length - backAfter.length;
      // The service promises this for a thousand clients. It lets more of them in at a rate of CHANNELS_PER_SECOND.
      const mostMs = (seconds > 3 ? 5000 : 2000) + Math.max(0, this.#clients.length - 1000);
      figures.time(
        `until the last of ${this.#clients.length} clients is back after ${seconds} s, in ms`,
        Math.max(0, ...backAfter),
        mostMs,
      );
    }
    if (this.#actMs.length > 0)
      figures.time('acts of players who are back, until the answer, while others come back: p99 in ms', quantile(this.#actMs), 50);
    return { 'clients who did not come back': missing, 'clients who got no reason for a refusal': this.#withoutReason };
  }

  async #live(client: Client): Promise<void> {
    const { code, from } = client;
    for (let [tries, wasRefused] = [0, false]; !this.#isOver; tries++) {
      const hasOpened = await this.#connect(client);
      let error: { retryAfterMs?: number } | undefined;
      if (hasOpened) [tries, wasRefused] = [0, false];
      else {
        const { status, body } = await ask(`${this.place.url()}/v1/rooms/${code}`, { from });
        const isFirst = !wasRefused;
        wasRefused = isFirst && status === 200;
        if (wasRefused) continue;
        if (status === 200) this.#withoutReason++;
        error = body?.error;
      }
      await pause(waitOf(tries, error as never));
    }
  }

  /** @returns after the connection was closed, whether it had opened */
  async #connect(client: Client): Promise<boolean> {
    const { installId, code, from } = client;
    const answered = new Map<number, () => void>();
    const opening = RawSocket.open(
      Number(new URL(this.place.url()).port),
      `/v1/rooms/${code}/live?patch=1`,
      {},
      (text) => {
        const message = JSON.parse(text.toString()) as Message;
        if (message.type === 'welcome') this.#welcomed(client);
        else if (message.type === 'acted') answered.get(message.order)?.();
      },
      from,
    );
    const socket = await Promise.race([opening, pause(OPEN_MS)]);
    if (socket === undefined) void opening.then((late) => late.destroy());
    if (socket?.status !== 101) return false;
    socket.text({ type: 'hello', installId, tab: randomUUID().slice(0, 8) });
    for (let order = 1; !socket.isClosed && !this.#isOver; order++) {
      if (!client.acts || client.liveSince === undefined) await Promise.race([socket.ended, pause(ACT_MS)]);
      else await this.#act(socket, order, answered);
    }
    client.liveSince = undefined;
    socket.destroy();
    return true;
  }

  #welcomed(client: Client): void {
    client.liveSince = now();
    this.done++;
    const outage = this.#outages.at(-1);
    if (outage === undefined || client.backAfter === outage) return;
    client.backAfter = outage;
    this.#backAfter.at(-1)!.push(client.liveSince - outage.readyAt);
  }

  /** An act, measured while other clients come back. */
  async #act(socket: RawSocket, order: number, answered: Map<number, () => void>): Promise<void> {
    const sentAt = now();
    const isAnswered = new Promise<void>((resolve) => answered.set(order, resolve));
    socket.text({ type: 'act', order, action: 'data', data: { order } });
    await Promise.race([isAnswered, socket.ended]);
    answered.delete(order);
    if (!socket.isClosed && this.#clients.some(({ liveSince }) => liveSince === undefined)) this.#actMs.push(now() - sentAt);
    await Promise.race([socket.ended, pause(ACT_MS)]);
  }
}

/** Outages of so many seconds, one after the other. */
export function outages(...seconds: readonly number[]): Fault {
  return async ({ load }) => {
    for (const each of seconds) await (load as Reconnections).outage(each);
    return { outages: seconds.length };
  };
}
