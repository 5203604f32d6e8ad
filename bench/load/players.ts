import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../measure/clock.ts';
import { ready } from '../processes/parent.ts';
import { joinColyseus } from './colyseus-player.ts';
import { moveOf, PLAYERS_A_ROOM, standingOf, type Playing } from './player-moves.ts';
import { ServicePlayer } from './service-player.ts';

/** A child process with the players of some rooms, who all change their data at a steady rate and see each other's. */

export interface SeatsToTake {
  readonly url: string;
  readonly dialect: 'plain' | 'colyseus';
  /** The rooms, with the installs of their players in the service. */
  readonly rooms: readonly { readonly code: string; readonly installIds: readonly string[] }[];
}

export interface Game {
  /** Changes of each player a second. */
  readonly rate: number;
  readonly seconds: number;
}

export interface Played {
  readonly changes: number;
  readonly pushes: number;
  /** From the due time of a change until the first player of its room has a state with it or a newer one of the same player, in ms. */
  readonly latencies: Float32Array;
  readonly problems: readonly string[];
}

const SETTLED_WITHIN_MS = 10_000;

/** Due times of the last changes of a player, by their numbers. */
const DUE_TIMES = 1024;

class Room {
  readonly players: readonly Playing[];
  readonly #last = Array.from({ length: PLAYERS_A_ROOM }, () => 0);
  readonly #seen = Array.from({ length: PLAYERS_A_ROOM }, () => 0);
  readonly #due = Array.from({ length: PLAYERS_A_ROOM }, () => new Float64Array(DUE_TIMES));

  constructor(players: readonly Playing[]) {
    this.players = players;
  }

  move(place: number, dueMs: number): void {
    const n = ++this.#last[place]!;
    this.#due[place]![n % DUE_TIMES] = dueMs;
    this.players[place]!.move(moveOf(place, n));
  }

  /** The first player has a newer state. */
  arrived(latencies: number[]): void {
    const now = monotonicMs();
    for (const [place, n] of this.players[0]!.seen().entries()) {
      if (n > this.#seen[place]!) latencies.push(now - this.#due[place]![n % DUE_TIMES]!);
      this.#seen[place] = n;
    }
  }

  /** The players who do not have the last change of each player. */
  behind(): number {
    const standing = standingOf(this.#last);
    return this.players.filter((player) => player.standing() !== standing).length;
  }
}

let rooms: Room[] = [];
let latencies: number[] = [];
const roomOf = new Map<Playing, Room>();

function arrived(player: Playing): void {
  roomOf.get(player)?.arrived(latencies);
}

async function take({ url, dialect, rooms: wanted }: SeatsToTake): Promise<void> {
  const address = new URL(url);
  const players =
    dialect === 'colyseus'
      ? await joinColyseus(
          url,
          wanted.map(({ code }) => code),
          arrived,
        )
      : wanted.map(({ code, installIds }) => installIds.map((installId) => new ServicePlayer(address, code, installId, arrived)));
  await Promise.all(players.flat().map(({ opened }) => opened));
  rooms = players.map((ofRoom) => new Room(ofRoom));
  for (const room of rooms) roomOf.set(room.players[0]!, room);
}

/** Each tick sends the changes that are due. A player's changes come evenly, and those of all players are spread evenly. */
async function play({ rate, seconds }: Game): Promise<Played> {
  const all = rooms.flatMap(({ players }) => players);
  const before = all.reduce((sum, { pushes, answered }) => ({ pushes: sum.pushes + pushes, answered: sum.answered + answered }), {
    pushes: 0,
    answered: 0,
  });
  latencies = [];
  const seats = rooms.length * PLAYERS_A_ROOM;
  const count = Math.round(seats * rate * seconds);
  const startedAt = monotonicMs();
  for (let number = 0; number < count;) {
    for (const due = Math.min(count, ((monotonicMs() - startedAt) * seats * rate) / 1000); number < due; number++) {
      const seat = number % seats;
      rooms[seat % rooms.length]!.move(Math.floor(seat / rooms.length), startedAt + (number * 1000) / (seats * rate));
    }
    await delay(1);
  }
  const pushes = all.reduce((sum, player) => sum + player.pushes, -before.pushes);
  const problems = await settled(before.answered + count);
  return { changes: count, pushes, latencies: Float32Array.from(latencies), problems };
}

/** Waits until every player has the last change of each other player, and every act its answer. */
async function settled(answers: number): Promise<string[]> {
  const all = rooms.flatMap(({ players }) => players);
  const missing = (): number => answers - all.reduce((sum, { answered }) => sum + answered, 0);
  const giveUpAt = monotonicMs() + SETTLED_WITHIN_MS;
  const behind = (): number => rooms.reduce((sum, room) => sum + room.behind(), 0);
  while ((missing() > 0 || behind() > 0) && monotonicMs() < giveUpAt) await delay(20);
  const refusals = all.flatMap((player) => player.refusals);
  const counts = {
    'changes have no answer': missing(),
    'players do not have the last change of each player': behind(),
    'states were not newer than the one before': all.reduce((sum, { faults }) => sum + faults, 0),
    'players were disconnected': all.filter(({ isClosed }) => isClosed).length,
  };
  return [
    ...(refusals.length > 0 ? [`${refusals.length} changes were not done, the first: ${refusals[0]}`] : []),
    ...Object.entries(counts).flatMap(([what, number]) => (number === 0 ? [] : [`${number} ${what}`])),
  ];
}

function leave(): void {
  for (const { players } of rooms.splice(0)) for (const player of players) player.close();
  roomOf.clear();
}

ready({}, { take, play, leave });
