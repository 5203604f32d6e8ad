import { setTimeout as delay } from 'node:timers/promises';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { ActingPlayer, type Act } from './acting-player.ts';
import { sum, times, type Client } from './client.ts';
import { within } from './history.ts';
import { anyOf, type Place } from './place.ts';
import type { Stand } from './proof.ts';
import { AtPlace, type Load, type Scenario } from './scenario.ts';

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

/** The content of a room in Redis. */
interface Content {
  readonly room: { readonly players: readonly { readonly data: { readonly n: number } | null }[] };
  /** Number of messages so far. */
  readonly messages: number;
}

/** Players of one room, who act at random in bursts. The first player is the host. */
class ActingRoom {
  readonly code: string;
  readonly players: readonly ActingPlayer[];
  readonly plan: Plan;
  readonly #counts = times(PLAYERS, () => ({ data: 0, message: 0, private: 0 }));

  static async open(client: Client, name: string, plan: Plan): Promise<ActingRoom> {
    const installs = times(PLAYERS, (place) => `${name}-${place}`);
    const state = 'x'.repeat(plan.stateBytes ?? 0);
    const { code } = (await client.need('/v1/rooms', { installId: installs[0], maxPlayers: PLAYERS, state })).room;
    for (const installId of installs.slice(1)) await client.need(`/v1/rooms/${code}/join`, { installId });
    const common = { code, portOf: () => Number(new URL(client.url).port), hearsAll: plan.directed !== true };
    const players = installs.map((installId, place) => new ActingPlayer({ ...common, installId, playerId: `p${place + 1}` }));
    await Promise.all(players.map((player) => player.join()));
    return new ActingRoom(code, players, plan);
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
    const { everyMs } = this.plan;
    const play = async (player: ActingPlayer, place: number): Promise<void> => {
      await delay(Math.random() * everyMs);
      for (; !isOver(); await delay(everyMs * (0.5 + Math.random()))) for (const act of this.#burst(place)) player.act(act);
    };
    await Promise.all(this.players.map(play));
  }

  #burst(place: number): Act[] {
    const { data, messages, secrets, textBytes, directed } = this.plan;
    const count = this.#counts[place]!;
    const change = (): Act => {
      const n = ++count.data;
      return { action: 'data', n, data: { n, text: 'x'.repeat(textBytes) } };
    };
    const message = (index: number): Act => {
      const n = ++count.message;
      const to = `p${1 + Math.floor(Math.random() * PLAYERS)}`;
      if (directed !== true || index % 2 === 1) return { action: 'message', n, data: { n } };
      return { action: 'message', n, data: { n, only: `only-${this.code}-${to}-${n}` }, to: [to] };
    };
    const deal = (): Act => {
      const n = ++count.private;
      const secretOf = ({ seated: { playerId } }: ActingPlayer) => [playerId, { secret: `secret-${this.code}-${playerId}-${n}` }] as const;
      return { action: 'private', n, seats: Object.fromEntries(this.players.map(secretOf)) };
    };
    return [...times(data, change), ...times(messages, message), ...times(place === 0 ? secrets : 0, deal)];
  }

  /** Waits until every act has its answer, as long as answers come. */
  async answered(): Promise<void> {
    const pending = (): number => sum(this.players.map((player) => player.pending.size));
    for (let left = pending(); left > 0; left = pending()) if (!(await within(SETTLED_WITHIN_MS, () => pending() < left, 20))) return;
  }

  /** Compares what the players have with the room in Redis. @returns the faults, one sentence each */
  async settled({ room, messages }: Content): Promise<string[]> {
    await this.answered();
    const found = this.players.flatMap(({ faults }) => faults);
    const fault = (text: string): unknown => found.push(`room ${this.code}: ${text}`);
    const nOf = (shown: Content['room'], place: number): number => shown.players[place]?.data?.n ?? 0;
    for (const [place, { seated, last, pending }] of this.players.entries()) {
      if (pending.size > 0) fault(`${pending.size} acts of ${seated.playerId} have no answer`);
      if (!last.data.mayStand(nOf(room, place)))
        fault(`the data of ${seated.playerId} is ${nOf(room, place)} instead of ${last.data.lastN}`);
    }
    const acted = sum(this.players.map(({ last }) => last.message.acted));
    const most = acted + sum(this.players.map(({ last }) => last.message.unknown.size));
    if (messages < acted) fault(`${acted - messages} messages that were acted are lost`);
    if (messages > most) fault(`${messages - most} messages were done twice`);
    const hasAll = ({ state, secretAt }: ActingPlayer): boolean => {
      const shown = (JSON.parse(state) as Content).room;
      return this.players[0]!.last.private.mayStand(secretAt) && this.players.every((_, place) => nOf(shown, place) === nOf(room, place));
    };
    const haveAll = await within(SETTLED_WITHIN_MS, () => this.players.every(hasAll));
    if (!haveAll) fault('a player does not have the last state, or its last private part');
    return found;
  }
}

/** Players of rooms on several processes, whose links are slow and break now and then. No byte may reach somebody else. */
export function acting(options: ActingOptions): Scenario['load'] {
  return async (stand, place) => {
    const name = `acts-${stand.history.file.replaceAll(/\W+/g, '-').slice(-30)}`;
    const rooms = await Promise.all(options.plans.map((plan, index) => ActingRoom.open(place.client, `${name}-${index}`, plan)));
    return new ActingRooms(stand, place, rooms, options);
  };
}

class ActingRooms extends AtPlace implements Load {
  readonly #rooms: readonly ActingRoom[];
  readonly #options: ActingOptions;
  #heard = 0;

  constructor(stand: Stand, place: Place, rooms: readonly ActingRoom[], options: ActingOptions) {
    super(stand, place);
    [this.#rooms, this.#options] = [rooms, options];
    stand.closing.push(() => this.#players.forEach((player) => player.leave()));
  }

  get done(): number {
    return sum(this.#rooms.map(({ secrets }) => secrets));
  }

  get keys(): string[] {
    return this.#rooms.map(({ code }) => roomKeys.room(code));
  }

  get #players(): ActingPlayer[] {
    return this.#rooms.flatMap(({ players }) => players);
  }

  async run(isOver: () => boolean): Promise<void> {
    const { secrets = Infinity, cutEveryMs = Infinity } = this.#options;
    const hasEnded = (): boolean => isOver() || this.done >= secrets * this.stand.size;
    await this.#listen();
    const cutting = async (): Promise<void> => {
      for (; cutEveryMs < Infinity && !hasEnded(); await delay(cutEveryMs)) anyOf(this.#players)!.cut();
    };
    const slowing = async (): Promise<void> => {
      const slow = this.#rooms.filter(({ plan }) => plan.isSlow === true).flatMap(({ players }) => players.slice(PLAYERS / 2));
      while (slow.length > 0 && !hasEnded()) {
        for (const player of slow) player.isReading = false;
        await within(SLOW_MS, hasEnded, 100);
        for (const player of slow) player.isReading = true;
      }
    };
    await Promise.all([...this.#rooms.map((room) => room.play(hasEnded)), cutting(), slowing()]);
  }

  /** Counts what one Redis publishes about private parts: their text never travels by Pub/Sub. */
  async #listen(): Promise<void> {
    const subscriber = this.place.redis?.duplicate();
    this.stand.closing.push(() => subscriber?.disconnect());
    subscriber?.on('pmessage', (_pattern: string, _channel: string, message: string) => {
      if (message.includes('secret-')) this.#heard++;
    });
    await subscriber?.psubscribe('*');
  }

  async compare(): Promise<Record<string, number>> {
    const settled = async (room: ActingRoom): Promise<string[]> => {
      await room.answered();
      const answer = await this.place.client.until(`/v1/rooms/${room.code}`, { method: 'GET' });
      const messages = await this.place.command('HGET', roomKeys.room(room.code), 'messages');
      return room.settled({ room: answer!.body.room, messages: Number(messages ?? 0) });
    };
    const found = (await Promise.all(this.#rooms.map(settled))).flat();
    for (const fault of found.slice(0, 10)) console.log(`    ${fault}`);
    this.#report();
    return {
      'acts lost, done twice or out of order, and private bytes to others': found.length,
      'messages of Redis with private bytes': this.#heard,
      'private bytes in logs': Number(this.place.output.includes('secret-')),
    };
  }

  #report(): void {
    const total = (what: keyof ActingPlayer['counts']): number => sum(this.#players.map(({ counts }) => counts[what]));
    const { figures } = this.stand;
    const outcomes = this.#players.flatMap(({ last }) => Object.values(last));
    figures.report('acts that were acted', sum(outcomes.map(({ acted }) => acted)));
    figures.report('  whose outcome the service did not know', sum(outcomes.map(({ unknown }) => unknown.size)));
    for (const what of ['replayed', 'refused', 'messages', 'missed', 'reconnects', 'bytes'] as const)
      figures.report(`  ${what}`, total(what));
  }
}
