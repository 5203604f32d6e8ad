import { setTimeout as delay } from 'node:timers/promises';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { eventually } from '../realtime/watcher.ts';
import { ActingPlayer, type Act, type Connecting } from './acting-player.ts';
import { Client, sum } from './client.ts';
import type { Place } from './place.ts';
import type { Stand } from './proof.ts';
import type { Load, Scenario } from './scenario.ts';

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
  /** Some players read nothing for 20 s at a time. */
  readonly isSlow?: boolean;
}

export interface ActingOptions {
  /** A room of 8 players each. */
  readonly plans: readonly Plan[];
  /** The connections of random players break this often. */
  readonly cutEveryMs?: number;
  /** The load ends after so many private parts at full size. Default: without end. */
  readonly secrets?: number;
}

const PLAYERS = 8;
const SLOW_MS = 20_000;
/** If no answer comes for this long, a player gives up. A slow machine needs its time for all of them. */
const SETTLED_WITHIN_MS = 30_000;

/** Players of one room, who act at random in bursts. The first player is the host. */
class ActingRoom {
  readonly code: string;
  readonly players: readonly ActingPlayer[];
  readonly plan: Plan;
  readonly #counts = Array.from({ length: PLAYERS }, () => ({ data: 0, message: 0, private: 0 }));

  static async open(client: Client, name: string, plan: Plan, portOf: Connecting['portOf']): Promise<ActingRoom> {
    const installs = Array.from({ length: PLAYERS }, (_, place) => `${name}-${place}`);
    const state = 'x'.repeat(plan.stateBytes ?? 0);
    const { room } = await client.need('/v1/rooms', { installId: installs[0], maxPlayers: PLAYERS, state });
    for (const installId of installs.slice(1)) await client.need(`/v1/rooms/${room.code}/join`, { installId });
    const connecting = { portOf, hearsAll: plan.directed !== true };
    const players = installs.map((installId, place) => new ActingPlayer(room.code, installId, place, connecting));
    await Promise.all(players.map((player) => player.join()));
    return new ActingRoom(room.code, players, plan);
  }

  private constructor(code: string, players: readonly ActingPlayer[], plan: Plan) {
    [this.code, this.players, this.plan] = [code, players, plan];
  }

  /** The number of private parts set by `acted` acts. */
  get secrets(): number {
    return this.players[0]!.last.private.acted * PLAYERS;
  }

  /** Every player sends bursts until `isOver` is true. */
  async play(isOver: () => boolean): Promise<void> {
    await Promise.all(
      this.players.map(async (player, place) => {
        await delay(Math.random() * this.plan.everyMs);
        for (; !isOver(); await delay(this.plan.everyMs * (0.5 + Math.random()))) this.#burst(player, place);
      }),
    );
  }

  #burst(player: ActingPlayer, place: number): void {
    const { data, messages, secrets, textBytes, directed } = this.plan;
    const count = this.#counts[place]!;
    for (let index = 0; index < data; index++) {
      const n = ++count.data;
      player.act({ action: 'data', n, data: { n, text: 'x'.repeat(textBytes) } });
    }
    for (let index = 0; index < messages; index++) player.act(this.#message(++count.message, directed === true && index % 2 === 0));
    for (let index = 0; place === 0 && index < secrets; index++) {
      const n = ++count.private;
      const seats = Object.fromEntries(this.players.map(({ id }) => [id, { secret: `secret-${this.code}-${id}-${n}` }]));
      player.act({ action: 'private', n, seats });
    }
  }

  #message(n: number, isDirected: boolean): Act {
    const to = `p${1 + Math.floor(Math.random() * PLAYERS)}`;
    return { action: 'message', n, ...(isDirected ? { data: { n, only: `only-${this.code}-${to}-${n}` }, to: [to] } : { data: { n } }) };
  }

  /** Waits until every act has its answer. */
  async answered(): Promise<void> {
    const pending = (): number => sum(this.players.map((player) => player.pending));
    for (let [left, at] = [pending(), performance.now()]; left > 0; await delay(20)) {
      if (pending() < left) [left, at] = [pending(), performance.now()];
      else if (performance.now() > at + SETTLED_WITHIN_MS) return;
    }
  }

  /** Compares what the players have with the room in Redis. @returns the faults, one sentence each */
  async settled({ room, messages }: Standing): Promise<string[]> {
    await this.answered();
    const found = this.players.flatMap(({ faults }) => faults);
    const fault = (text: string): unknown => found.push(`room ${this.code}: ${text}`);
    for (const player of this.players) if (player.pending > 0) fault(`acts without an answer: ${player.standing}`);
    const nOf = (shown: Standing['room'], place: number): number => shown.players[place]?.data?.n ?? 0;
    for (const [place, { id, last }] of this.players.entries())
      if (!last.data.mayStand(nOf(room, place))) fault(`the data of ${id} is ${nOf(room, place)} instead of ${last.data.lastN}`);
    const acted = sum(this.players.map(({ last }) => last.message.acted));
    const most = acted + sum(this.players.map(({ last }) => last.message.unknown.size));
    if (messages < acted) fault(`${acted - messages} messages that were acted are lost`);
    if (messages > most) fault(`${messages - most} messages were done twice`);
    const hasAll = ({ state, secretAt }: ActingPlayer): boolean => {
      const shown = (JSON.parse(state) as Standing).room;
      return this.players[0]!.last.private.mayStand(secretAt) && this.players.every((_, place) => nOf(shown, place) === nOf(room, place));
    };
    const haveAll = (): boolean => this.players.every(hasAll);
    await eventually(haveAll, SETTLED_WITHIN_MS).catch(() => fault('a player does not have the last state, or its last private part'));
    return found;
  }
}

/** The content of a room in Redis. */
interface Standing {
  readonly room: { readonly players: readonly { readonly data: { readonly n: number } | null }[] };
  /** Number of messages so far. */
  readonly messages: number;
}

/** Players of rooms on several processes, whose links are slow and break now and then. No byte may reach somebody else. */
export function acting(options: ActingOptions): Scenario['load'] {
  return async (stand, place) => {
    const client = new Client(() => place.url());
    stand.closing.push(() => client.close());
    const portOf = (): number => Number(new URL(place.url()).port);
    const name = `acts-${stand.history.file.replaceAll(/\W+/g, '-').slice(-30)}`;
    const rooms = await Promise.all(options.plans.map((plan, index) => ActingRoom.open(client, `${name}-${index}`, plan, portOf)));
    stand.closing.push(() => rooms.forEach(({ players }) => players.forEach((player) => player.leave())));
    return new ActingRooms(stand, place, { rooms, client, options });
  };
}

class ActingRooms implements Load {
  readonly #stand: Stand;
  readonly #place: Place;
  readonly #rooms: readonly ActingRoom[];
  readonly #client: Client;
  readonly #options: ActingOptions;
  #heard = 0;

  constructor(
    stand: Stand,
    place: Place,
    { rooms, client, options }: { rooms: readonly ActingRoom[]; client: Client; options: ActingOptions },
  ) {
    [this.#stand, this.#place, this.#rooms, this.#client, this.#options] = [stand, place, rooms, client, options];
  }

  get done(): number {
    return sum(this.#rooms.map(({ secrets }) => secrets));
  }

  get keys(): string[] {
    return this.#rooms.map(({ code }) => roomKeys.room(code));
  }

  async run(isOver: () => boolean): Promise<void> {
    const { secrets = Infinity, cutEveryMs } = this.#options;
    const hasEnded = (): boolean => isOver() || this.done >= secrets * this.#stand.size;
    await this.#listen();
    const cutting = async (): Promise<void> => {
      for (; cutEveryMs !== undefined && !hasEnded(); await delay(cutEveryMs)) {
        const { players } = this.#rooms[Math.floor(Math.random() * this.#rooms.length)]!;
        players[Math.floor(Math.random() * players.length)]!.cut();
      }
    };
    const slowing = async (): Promise<void> => {
      const slow = this.#rooms.filter(({ plan }) => plan.isSlow === true).flatMap(({ players }) => players.slice(PLAYERS / 2));
      while (slow.length > 0 && !hasEnded()) {
        for (const player of slow) player.pause();
        for (const until = performance.now() + SLOW_MS; performance.now() < until && !hasEnded();) await delay(100);
        for (const player of slow) player.resume();
      }
    };
    await Promise.all([...this.#rooms.map((room) => room.play(hasEnded)), cutting(), slowing()]);
  }

  /** Counts what one Redis publishes about private parts: their text never travels by Pub/Sub. */
  async #listen(): Promise<void> {
    const subscriber = this.#place.redis?.duplicate();
    if (subscriber === undefined) return;
    subscriber.on('pmessage', (_pattern: string, _channel: string, message: string) => {
      if (message.includes('secret-')) this.#heard++;
    });
    await subscriber.psubscribe('*');
    this.#stand.closing.push(() => subscriber.disconnect());
  }

  async compare(): Promise<Record<string, number>> {
    const settled = async (room: ActingRoom): Promise<string[]> => {
      await room.answered();
      const [answer, messages] = [
        await this.#client.until(`/v1/rooms/${room.code}`, { method: 'GET' }),
        await this.#place.command('HGET', roomKeys.room(room.code), 'messages'),
      ];
      return room.settled({ room: answer!.body.room, messages: Number(messages ?? 0) });
    };
    const found = (await Promise.all(this.#rooms.map(settled))).flat();
    for (const fault of found.slice(0, 10)) console.log(`    ${fault}`);
    const players = this.#rooms.flatMap((room) => room.players);
    const total = (what: keyof ActingPlayer['counts']): number => sum(players.map(({ counts }) => counts[what]));
    const outcomes = players.flatMap(({ last }) => Object.values(last));
    const { figures } = this.#stand;
    figures.report(`rooms of ${PLAYERS} players; private parts set`, `${this.#rooms.length}; ${this.done}`);
    figures.report(
      'acts that were acted; replayed; refused over a budget',
      `${sum(outcomes.map(({ acted }) => acted))}; ${total('replayed')}; ${total('refused')}`,
    );
    figures.report('acts whose outcome the service did not know', sum(outcomes.map(({ unknown }) => unknown.size)));
    figures.report('messages heard; missed, and named so', `${total('messages')}; ${total('missed')}`);
    figures.report('reconnections', total('reconnects'));
    figures.report('megabytes looked through for what is for others', total('bytes') / 1e6);
    return {
      'acts lost, done twice or out of order, and private bytes to others': found.length,
      'messages of Redis with private bytes': this.#heard,
      'private bytes in logs': Number(this.#place.output.includes('secret-')),
    };
  }
}
