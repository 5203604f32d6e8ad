import { setTimeout as delay } from 'node:timers/promises';
import { ActingPlayer, type Act } from './acting-player.ts';
import { post } from './storm.ts';
import { eventually, type Message } from './watcher.ts';

/** Players of one room, who act at random in bursts. The first player is the host. */
export class ActingRoom {
  readonly code: string;
  readonly players: readonly ActingPlayer[];
  readonly #plan: Plan;
  readonly #counts: { data: number; message: number; private: number }[];
  /** The number of private parts set by `acted` acts. */
  get secrets(): number {
    return this.players[0]!.last.private.acted * this.players.length;
  }

  static async open(name: string, { url, portOf, players, plan }: { url: string; portOf: () => number; players: number; plan: Plan }) {
    const installs = Array.from({ length: players }, (_, place) => `${name}-${place}`);
    const state = 'x'.repeat(plan.stateBytes ?? 0);
    const { room } = await posted(url, '/v1/rooms', { installId: installs[0], maxPlayers: players, state });
    for (const installId of installs.slice(1)) await posted(url, `/v1/rooms/${room.code}/join`, { installId });
    const seated = installs.map(
      (installId, place) => new ActingPlayer(room.code, installId, place, { portOf, hearsAll: plan.directed !== true }),
    );
    await Promise.all(seated.map((player) => player.join()));
    return new ActingRoom(room.code, seated, plan);
  }

  private constructor(code: string, players: readonly ActingPlayer[], plan: Plan) {
    [this.code, this.players, this.#plan] = [code, players, plan];
    this.#counts = players.map(() => ({ data: 0, message: 0, private: 0 }));
  }

  /** Every player sends bursts until `isOver` is true. */
  async play(isOver: () => boolean): Promise<void> {
    await Promise.all(
      this.players.map(async (player, place) => {
        await delay(Math.random() * this.#plan.everyMs);
        for (; !isOver(); await delay(this.#plan.everyMs * (0.5 + Math.random()))) this.#burst(player, place);
      }),
    );
  }

  #burst(player: ActingPlayer, place: number): void {
    const { data, messages, secrets, textBytes, directed } = this.#plan;
    const count = this.#counts[place]!;
    const acts: Act[] = [];
    for (let index = 0; index < data; index++) {
      const n = ++count.data;
      acts.push({ action: 'data', n, data: { n, text: 'x'.repeat(textBytes) } });
    }
    for (let index = 0; index < messages; index++) acts.push(this.#message(++count.message, directed === true && index % 2 === 0));
    for (let index = 0; place === 0 && index < secrets; index++) acts.push(this.#secret(++count.private));
    for (const act of acts) if (player.maySend) player.act(act);
  }

  #message(n: number, isDirected: boolean): Act {
    const to = `p${1 + Math.floor(Math.random() * this.players.length)}`;
    return { action: 'message', n, ...(isDirected ? { data: { n, only: `only-${this.code}-${to}-${n}` }, to: [to] } : { data: { n } }) };
  }

  #secret(n: number): Act {
    const seats = Object.fromEntries(this.players.map(({ id }) => [id, { secret: `secret-${this.code}-${id}-${n}` }]));
    return { action: 'private', n, seats };
  }

  /** Waits until every act has its answer. Gives up when none has come for this long: a slow machine needs its time for all of them. */
  async #answered(withinMs: number): Promise<void> {
    const pending = (): number => sum(this.players.map((player) => player.pending));
    for (let [left, at] = [pending(), performance.now()]; left > 0; await delay(20)) {
      if (pending() < left) [left, at] = [pending(), performance.now()];
      else if (performance.now() > at + withinMs) return;
    }
  }

  /** Waits until every act has its answer and every player the present room. @returns the faults, one sentence each */
  async settled(read: (code: string) => Promise<Standing>, withinMs = SETTLED_WITHIN_MS): Promise<string[]> {
    const found = [...this.players.flatMap(({ faults }) => faults)];
    const wait = (what: string, isTrue: () => boolean): Promise<unknown> =>
      eventually(isTrue, withinMs).catch(() => found.push(`room ${this.code}: ${what}`));
    await this.#answered(withinMs);
    for (const player of this.players) if (player.pending > 0) found.push(`room ${this.code}: acts without an answer: ${player.standing}`);
    const [host] = this.players as [ActingPlayer];
    const { room, messages } = await read(this.code);
    for (const [place, { id, last }] of this.players.entries()) {
      const n = room.players[place]?.data?.n ?? 0;
      if (!last.data.mayStand(n)) found.push(`room ${this.code}: the data of ${id} is ${n} instead of ${last.data.lastN}`);
    }
    const acted = sum(this.players.map(({ last }) => last.message.acted));
    const most = acted + sum(this.players.map(({ last }) => last.message.unknowns));
    if (messages < acted) found.push(`room ${this.code}: ${acted - messages} messages that were acted are lost`);
    if (messages > most) found.push(`room ${this.code}: ${messages - most} messages were done twice`);
    const hasAll = ({ state, secretAt }: ActingPlayer): boolean =>
      host.last.private.mayStand(secretAt) && sameData(room, JSON.parse(state).room as Standing['room']);
    await wait('a player does not have the last state, or its last private part', () => this.players.every(hasAll));
    return found;
  }

  leave(): void {
    for (const player of this.players) player.leave();
  }
}

/** The content of a room in Redis. */
export interface Standing {
  readonly room: { readonly players: { readonly data: { readonly n: number } | null }[] };
  /** Number of messages so far. */
  readonly messages: number;
}

export interface Plan {
  /** Acts of each player in a burst: changes of data, messages, and by the host changes of everybody's private part. */
  readonly data: number;
  readonly messages: number;
  readonly secrets: number;
  /** Pause between two bursts, on average. */
  readonly everyMs: number;
  /** Bytes of the text in the data. */
  readonly textBytes: number;
  /** Bytes of the room's state, which is in every push. */
  readonly stateBytes?: number;
  /** Half of the messages are for one player. */
  readonly directed?: boolean;
}

/** A Cluster that has just started may refuse writes for a moment. */
async function posted(url: string, path: string, body: object): Promise<Message> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await post(url, path, body);
    } catch (error) {
      if (attempt === 60) throw new Error(`after 30 s, ${await (await fetch(`${url}/ready`)).text()}`, { cause: error });
      await delay(500);
    }
  }
}

const SETTLED_WITHIN_MS = 30_000;

function sameData(one: Standing['room'], other: Standing['room']): boolean {
  return one.players.every(({ data }, place) => data?.n === other.players[place]?.data?.n);
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
