import type { Child } from '../processes/child.ts';
import type { Bench } from '../scenario.ts';
import type { Game, Played, SeatsToTake } from './players.ts';

/** All players of a side. They run in separate processes (players.ts). */
export class Party {
  readonly #children: readonly Child[];
  #rooms: number[];

  /** Resolves once all players are in their rooms. */
  static async gather(bench: Bench, wanted: Omit<SeatsToTake, 'connections'>): Promise<Party> {
    const module = new URL('players.ts', import.meta.url);
    const children = await Promise.all(Array.from({ length: PROCESSES }, () => bench.child(module)));
    const shares = children.map((_, index) => wanted.rooms.filter((_room, room) => room % children.length === index));
    const connections = Math.ceil(bench.settings.connections / PROCESSES);
    await Promise.all(children.map((child, index) => child.ask('take', { ...wanted, rooms: shares[index], connections })));
    return new Party(
      children,
      shares.map(({ length }) => length),
    );
  }

  private constructor(children: readonly Child[], rooms: number[]) {
    this.#children = children;
    this.#rooms = rooms;
  }

  get rooms(): number {
    return this.#rooms.reduce((sum, rooms) => sum + rooms, 0);
  }

  /**
   * Leaves all rooms except those that `isKept` accepts.
   * @param isKept called with the ports of a room's players. Only for plain sockets
   */
  async keep(isKept: (ports: readonly number[]) => boolean): Promise<void> {
    this.#rooms = await Promise.all(
      this.#children.map(async (child) => {
        const ports = await child.ask<[code: string, ports: number[]][]>('ports');
        const kept = ports.filter(([, ofRoom]) => isKept(ofRoom)).map(([code]) => code);
        await child.ask('keep', kept);
        return kept.length;
      }),
    );
  }

  /** @param game its `rate` and `inFlight` are those of all processes together */
  async play({ rate, inFlight, ...game }: Game): Promise<Played> {
    const shareOf = (index: number) =>
      rate === undefined ? { inFlight: Math.ceil(inFlight! / PROCESSES) } : { rate: (rate * this.#rooms[index]!) / this.rooms };
    const parts = await Promise.all(this.#children.map((child, index) => child.ask<Played>('play', { ...game, ...shareOf(index) })));
    const sum = (figure: (part: Played) => number): number => parts.reduce((total, part) => total + figure(part), 0);
    return {
      changes: sum(({ changes }) => changes),
      perSecond: sum(({ perSecond }) => perSecond),
      pushes: sum(({ pushes }) => pushes),
      latencies: Float32Array.from(parts.flatMap(({ latencies }) => [...latencies])).sort(),
      problems: parts.flatMap(({ problems }) => [...problems]),
    };
  }

  async end(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()));
  }
}

/** One process of Colyseus's own clients would be busier than the server. */
const PROCESSES = 2;
