import { Redis } from 'ioredis';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { roomKeys } from '../../src/features/rooms/model.ts';
import type { ScriptConnection } from '../../src/redis/script-runner.ts';
import { callerFrom } from '../../src/server/identity/caller.ts';
import { roomActsOf } from './direct-services.ts';
import type { FullRoom } from './full-rooms.ts';
import { playerId, standingText, type Move, type PlayerEvents, type Playing } from './player-moves.ts';

/**
 * A floor without a server: the script of an act, run by EVALSHA with ready-made words, and a subscriber of the room's channel in Redis.
 * The first player acts, the last one receives.
 */
class BareRoom {
  readonly players: readonly Playing[];
  readonly #events: PlayerEvents;
  #move: Move | null = null;

  constructor(redis: Redis, template: Template, places: number, events: PlayerEvents) {
    this.#events = events;
    this.players = Array.from({ length: places }, () => this.#player(redis, template, places));
  }

  heard(message: string): void {
    const [, text] = /\np1\.data\n(.*)\n/.exec(message) ?? [];
    if (text === undefined) return;
    this.#move = JSON.parse(text) as Move;
    this.#events.pushed(this.players.at(-1)!);
  }

  #player(redis: Redis, template: Template, places: number): Playing {
    const refusals: string[] = [];
    const player = {
      opened: Promise.resolve(),
      pushes: 0,
      faults: 0,
      isClosed: false,
      answered: 0,
      refusals,
      move: (move: Move): void => {
        redis.call('EVALSHA', template.words(JSON.stringify(move))).then(
          (answers) => {
            player.answered++;
            this.#events.answered();
            const [word] = (answers as string[][])[0]!;
            if (word !== 'done') refusals.push(word!);
          },
          (error: Error) => refusals.push(error.message),
        );
      },
      seen: () => [this.#move?.n ?? 0],
      standing: () => standingText(Array.from({ length: places }, (_, place) => [playerId(place), place === 0 ? this.#move : null])),
      close() {},
    };
    return player;
  }
}

/** The words of a command that runs the script, with places for the words that differ between acts. */
class Template {
  readonly #words: (string | number)[];
  readonly #orderAt: number;
  readonly #textAt: number;
  #order = FIRST_ORDER;

  constructor(words: readonly (string | number)[]) {
    this.#words = [...words];
    this.#orderAt = words.indexOf(FIRST_ORDER);
    this.#textAt = words.indexOf(MARK);
    if (this.#orderAt < 0 || this.#textAt < 0) throw new Error('the words of an act have another form');
  }

  words(text: string): (string | number)[] {
    const words = [...this.#words];
    // After the keys comes the time.
    words[2 + Number(words[1])] = Date.now();
    words[this.#orderAt] = this.#order++;
    words[this.#textAt] = text;
    return words;
  }
}

const FIRST_ORDER = 1_000_001;
const MARK = '"the data"';

export async function joinBare(path: string, rooms: readonly FullRoom[], events: PlayerEvents): Promise<Playing[][]> {
  const [redis, subscriber] = [new Redis({ path }), new Redis({ path })];
  const joined = new Map<string, BareRoom>();
  for (const { code, installIds } of rooms) {
    const template = new Template(await wordsOf(code, installIds[0]!, redis));
    joined.set(`0:${roomKeys.room(code)}`, new BareRoom(redis, template, installIds.length, events));
  }
  subscriber.on('message', (channel: string, message: string) => joined.get(channel)!.heard(message));
  await subscriber.subscribe(...joined.keys());
  return [...joined.values()].map(({ players }) => [...players]);
}

/** Lets the service's own code make an act over a channel, and keeps the words of its command. One act loads the script itself. */
async function wordsOf(code: string, installId: string, redis: Redis): Promise<(string | number)[]> {
  const act = (connection: ScriptConnection, data: string, order: number) => {
    const scripts = new CallerScripts(connection, { now: Date.now });
    const acts = roomActsOf(scripts);
    const by = callerFrom({ address: '127.0.0.1' }, accountIdOf(installId), undefined, undefined);
    return acts.perform({
      code,
      action: 'data',
      body: { data, order, tab: 'bench' },
      by,
      seatId: 'p1',
      isWhole: false,
      address: '127.0.0.1',
    });
  };
  await act(redis, 'null', 1);
  return new Promise((found, failed) => {
    const recording: ScriptConnection = {
      call(_command, words) {
        found(words);
        // The act gets no answer.
        return new Promise(() => {});
      },
    };
    act(recording, MARK, FIRST_ORDER).catch(failed);
  });
}
