import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../measure/clock.ts';
import { ready } from '../processes/parent.ts';
import { joinBare } from './bare-player.ts';
import { joinColyseus } from './colyseus-player.ts';
import type { FullRoom } from './full-rooms.ts';
import { moveOf, standingOf, type PlayerEvents, type Playing } from './player-moves.ts';
import { Posts } from './posts.ts';
import { ServicePlayer } from './service-player.ts';

/** A child process with the players of some rooms. They change their data at a steady rate and see each other's. */

export interface SeatsToTake {
  /** The server's address, or for `bare` the path of Redis's socket. */
  readonly url: string;
  /**
   * `patched`: players of the service who ask for patches in place of whole rooms. `http`: players who act over HTTP and watch over their
   * channels. `bare`: no server, only the service's script.
   */
  readonly dialect: 'plain' | 'patched' | 'http' | 'colyseus' | 'bare';
  readonly rooms: readonly FullRoom[];
  /** Connections of the players who act over HTTP. */
  readonly connections: number;
}

export interface Game {
  /** How many players of each room change their data, from the first place on. */
  readonly movers: number;
  readonly seconds: number;
  /** Changes a second of all of them in this process. Left out: each answer triggers the next change. */
  readonly rate?: number;
  /** Changes that are under way at a time, if there is no rate. */
  readonly inFlight?: number;
}

export interface Played {
  readonly changes: number;
  /** Changes a second, until the last one was answered. */
  readonly perSecond: number;
  readonly pushes: number;
  /** From the due time of a change until the last player of its room has it or a newer one of the same player, in ms. */
  readonly latencies: Float32Array;
  readonly problems: readonly string[];
}

const SETTLED_WITHIN_MS = 10_000;

/** Due times of the last changes of a player, by their numbers. */
const DUE_TIMES = 1024;

class Room {
  readonly code: string;
  readonly players: readonly Playing[];
  readonly #last: number[];
  readonly #seen: number[];
  readonly #due: Float64Array[];

  constructor(code: string, players: readonly Playing[]) {
    this.code = code;
    this.players = players;
    this.#last = players.map(() => 0);
    this.#seen = players.map(() => 0);
    this.#due = players.map(() => new Float64Array(DUE_TIMES));
  }

  move(place: number, dueMs: number): void {
    const n = ++this.#last[place]!;
    this.#due[place]![n % DUE_TIMES] = dueMs;
    this.players[place]!.move(moveOf(place, n));
  }

  /** The last player has a newer state. */
  arrived(latencies: number[]): void {
    const now = monotonicMs();
    for (const [place, n] of this.players.at(-1)!.seen().entries()) {
      if (n > this.#seen[place]!) latencies.push(now - this.#due[place]![n % DUE_TIMES]!);
      this.#seen[place] = n;
    }
  }

  /** Number of players who do not have the last change of each player. */
  behind(): number {
    const standing = standingOf(this.#last);
    return this.players.filter((player) => player.standing() !== standing).length;
  }
}

let rooms: Room[] = [];
let latencies: number[] = [];
let posts: Posts | undefined;
const roomOf = new Map<Playing, Room>();

const events: PlayerEvents = {
  pushed: (player) => roomOf.get(player)?.arrived(latencies),
  answered: () => onAnswer?.(),
};
let onAnswer: (() => void) | undefined;

async function take(wanted: SeatsToTake): Promise<void> {
  const players = await join(wanted);
  await Promise.all(players.flat().map(({ opened }) => opened));
  rooms = players.map((ofRoom, index) => new Room(wanted.rooms[index]!.code, ofRoom));
  for (const room of rooms) roomOf.set(room.players.at(-1)!, room);
}

async function join({ url, dialect, rooms: wanted, connections }: SeatsToTake): Promise<Playing[][]> {
  const codes = wanted.map(({ code }) => code);
  if (dialect === 'colyseus') return joinColyseus(url, codes, wanted[0]!.installIds.length, events);
  if (dialect === 'bare') return joinBare(url, wanted, events);
  if (dialect === 'http') posts = await Posts.open(url, connections);
  const address = new URL(url);
  return wanted.map(({ code, installIds }) =>
    installIds.map((installId) => new ServicePlayer(address, code, installId, events, { takesPatches: dialect === 'patched', posts })),
  );
}

async function play({ seconds, movers, rate, inFlight = 0 }: Game): Promise<Played> {
  const all = rooms.flatMap(({ players }) => players);
  const sumOf = (figure: (player: Playing) => number): number => all.reduce((sum, player) => sum + figure(player), 0);
  const [pushesBefore, answeredBefore] = [sumOf(({ pushes }) => pushes), sumOf(({ answered }) => answered)];
  latencies = [];
  const startedAt = monotonicMs();
  const changes = rate === undefined ? await onAnswers(inFlight, seconds, movers) : await onTime(rate, seconds, movers);
  const took = (monotonicMs() - startedAt) / 1000;
  const pushes = sumOf((player) => player.pushes) - pushesBefore;
  const problems = await settled(answeredBefore + changes);
  return { changes, perSecond: changes / took, pushes, latencies: Float32Array.from(latencies), problems };
}

/** The players take turns, so that the changes of each of them come evenly. */
function moveNext(movers: number, dueMs: number): void {
  const seat = turn++ % (rooms.length * movers);
  rooms[seat % rooms.length]!.move(Math.floor(seat / rooms.length), dueMs);
}

let turn = 0;

/** Each tick makes the changes that are due. */
async function onTime(rate: number, seconds: number, movers: number): Promise<number> {
  const startedAt = monotonicMs();
  const count = Math.round(rate * seconds);
  for (let number = 0; number < count;) {
    for (const due = Math.min(count, ((monotonicMs() - startedAt) * rate) / 1000); number < due; number++)
      moveNext(movers, startedAt + (number * 1000) / rate);
    await delay(1);
  }
  return count;
}

/** Makes the next change for each answer. */
async function onAnswers(inFlight: number, seconds: number, movers: number): Promise<number> {
  const endsAt = monotonicMs() + seconds * 1000;
  let [sent, answered] = [0, 0];
  const next = (): void => {
    sent++;
    moveNext(movers, monotonicMs());
  };
  await new Promise<void>((done) => {
    onAnswer = () => {
      answered++;
      if (monotonicMs() < endsAt) next();
      else if (answered === sent) done();
    };
    for (let number = 0; number < inFlight; number++) next();
  });
  onAnswer = undefined;
  return sent;
}

/** Waits until every player has the last change of each other player, and every act its answer. */
async function settled(answers: number): Promise<string[]> {
  const all = rooms.flatMap(({ players }) => players);
  const missing = (): number => answers - all.reduce((sum, { answered }) => sum + answered, 0);
  const behind = (): number => rooms.reduce((sum, room) => sum + room.behind(), 0);
  const giveUpAt = monotonicMs() + SETTLED_WITHIN_MS;
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

/** Leaves all rooms but these. */
function keep(codes: readonly string[]): void {
  const kept = new Set(codes);
  for (const { code, players } of rooms) if (!kept.has(code)) for (const player of players) player.close();
  rooms = rooms.filter(({ code }) => kept.has(code));
}

/** The ports of each room's players, by code. Only for plain sockets. */
function ports(): [code: string, ports: (number | undefined)[]][] {
  return rooms.map(({ code, players }) => [code, players.map(({ localPort }) => localPort)]);
}

ready({}, { take, play, keep, ports });
