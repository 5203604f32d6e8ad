import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { RawSocket } from '../realtime/raw-socket.ts';
import type { Message } from '../realtime/watcher.ts';
import { times } from './client.ts';
import { now } from './history.ts';
import { AtPlace, type Load } from './scenario.ts';

/** How long a player may wait in a room whose other players are all gone, in milliseconds. */
const GHOST_MS = 16_000;

const PLAYERS = 100;
const DOOMED = 30;

/** When players begin and when those who go do so, in milliseconds from the start. */
const BEGIN_WITHIN_MS = 8000;
const GONE_WITHIN_MS = 20_000;

/** How long two players play at most, in milliseconds. Then both look for another partner. */
const PLAYED_MS = 25_000;

/** How long a player waits for the channel of a partner who has just taken the seat, in milliseconds. */
const ARRIVES_MS = 3000;

const LOOK_MS = 100;

/**
 * Players who look for partners by quick matches of two. Some go at random times: they close the connection, or lose the network, so that the
 * service hears nothing more. Nobody who stays may wait for long in a room whose other player is gone.
 */
export class Ghosts extends AtPlace implements Load {
  done = 0;
  readonly #game = `ghosts-${randomUUID().slice(0, 8)}`;
  /** When a player went, by room and player id. */
  readonly #goneAt = new Map<string, number>();
  #longestMs = 0;
  #isOver = false;

  async run(isOver: () => boolean): Promise<void> {
    const startedAt = now();
    const ending = (async () => {
      while (!isOver()) await pause(LOOK_MS);
      this.#isOver = true;
    })();
    const players = times(PLAYERS, (index) => {
      const goesAt = index < DOOMED ? startedAt + BEGIN_WITHIN_MS + Math.random() * (GONE_WITHIN_MS - BEGIN_WITHIN_MS) : Infinity;
      return this.#live(goesAt, index % 2 === 0);
    });
    await Promise.all([ending, ...players]);
  }

  async compare(): Promise<Record<string, number>> {
    this.stand.figures.report('longest wait with a player who is gone, in milliseconds', Math.round(this.#longestMs));
    return { 'players who waited too long with one who is gone': this.#longestMs > GHOST_MS ? 1 : 0 };
  }

  /** @param closes whether the player closes the connection in the end, rather than to lose the network */
  async #live(goesAt: number, closes: boolean): Promise<void> {
    const installId = randomUUID();
    await pause(Math.random() * BEGIN_WITHIN_MS);
    while (!this.#isOver) {
      const seat = await this.#match(installId);
      if (seat === undefined) {
        await pause(500);
        continue;
      }
      const hasGone = await this.#sit(installId, seat, goesAt, closes);
      this.done++;
      if (hasGone) return;
    }
  }

  async #match(installId: string): Promise<{ code: string; playerId: string } | undefined> {
    const { status, body } = await this.#post('/v1/rooms/match', { installId, game: this.#game, maxPlayers: 2, startWhenFull: true });
    return status === 200 ? { code: body.room.code, playerId: body.you.playerId } : undefined;
  }

  async #post(path: string, body: object): Promise<{ status: number; body: Message }> {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${this.place.url()}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: reply.status, body: (await reply.json()) as Message };
  }

  /** Takes part in one room. @returns whether the player has gone for good */
  async #sit(installId: string, { code, playerId }: { code: string; playerId: string }, goesAt: number, closes: boolean): Promise<boolean> {
    let room: Message;
    const socket = await RawSocket.open(Number(new URL(this.place.url()).port), `/v1/rooms/${code}/live`, {}, (text) => {
      const message = JSON.parse(text.toString()) as Message;
      if (message.type === 'room') ({ room } = message);
    });
    if (socket.status !== 101) return false;
    socket.text({ type: 'hello', installId, tab: 'prove' });
    const playedMs = Math.random() * PLAYED_MS;
    const arrived = new Set<string>();
    let [partnerSince, ghostSince]: (number | undefined)[] = [];
    for (; !this.#isOver; await pause(LOOK_MS)) {
      const at = now();
      if (at >= goesAt) {
        this.#goneAt.set(`${code} ${playerId}`, at);
        if (closes) socket.destroy();
        else socket.pause();
        return true;
      }
      if (room?.phase === 'ended' || socket.isClosed) break;
      const others: Message[] = room?.players.filter(({ id }: { id: string }) => id !== playerId) ?? [];
      const isGhost = others.length > 0 && others.every(({ id }) => this.#goneAt.has(`${code} ${id}`));
      if (isGhost) ghostSince ??= at;
      else ghostSince = undefined;
      if (ghostSince !== undefined) this.#longestMs = Math.max(this.#longestMs, at - ghostSince);
      if (room?.phase !== 'playing') continue;
      partnerSince ??= at;
      for (const { id, connected } of others) if (connected === true) arrived.add(id as string);
      // A game shows that the partner is away. The player looks for another one.
      const isAway = others.some(({ id, connected }) => connected === false && (arrived.has(id) || at - partnerSince! > ARRIVES_MS));
      if (at - partnerSince > playedMs || isAway || others.length === 0) break;
    }
    await this.#post(`/v1/rooms/${code}/leave`, { installId });
    socket.destroy();
    return false;
  }
}
