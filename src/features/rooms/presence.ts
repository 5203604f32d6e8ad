import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { checksCaller } from '../../accounts/prologues.ts';
import type { Config } from '../../config.ts';
import { defineScript } from '../../redis/script.ts';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import type { Subscriptions } from '../../redis/subscriber.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { roomKeys, roomLibrary, roomPrelude, roomTimeArgs, roomTimes } from './model.ts';

const presenceScript = defineScript({
  file: new URL('presence.lua', import.meta.url),
  keys: ['room', 'leases', 'due'],
  args: ['event', 'code', 'accountId', 'members', 'leaseMs', 'graceMs', 'now', ...roomTimeArgs],
  answers: ['seated', 'looked', 'room_not_found', 'not_in_room'],
  prologue: checksCaller,
  library: roomLibrary,
  prelude: roomPrelude,
});

/** How long a connection counts after its process last renewed it, so how soon the players of a dead process are away. */
const LEASE_MS = 10_000;
const RENEW_INTERVAL_MS = 3000;

/** How often every process looks for rooms that are due. The first one does the work; for the others the script changes nothing. */
const LOOK_INTERVAL_MS = 1000;
const ROOMS_A_LOOK = 1000;

/** Calls sent at a time: enough to fill a round trip, few enough that requests get in between. */
const ROOMS_AT_ONCE = 100;

/** The channel on which `move.lua` publishes the account id of a guest that moved. */
const MOVES_CHANNEL = 'moves';

export interface PresenceParts {
  readonly redis: Redis;
  readonly subscriber: Subscriptions;
  readonly scripts: CallerScripts;
  readonly config: Config;
  readonly log: Logger;
  readonly now: () => number;
}

/** Called at most once, when the account moved and the connection no longer counts for a player. */
type Lost = () => void;

/** Holds leases in Redis for the players connected to this process, and handles rooms whose leases ran out. */
export class Presence {
  readonly #parts: PresenceParts;
  /** This process's leases by room code and member. */
  readonly #members = new Map<string, Map<string, Lost>>();
  readonly #timers: NodeJS.Timeout[];

  constructor(parts: PresenceParts) {
    this.#parts = parts;
    const { subscriber } = parts;
    // A published move takes effect at once. Moves published while the subscriber is disconnected show at the next renewal.
    subscriber.on('message', (channel, accountId) => channel === MOVES_CHANNEL && void this.#renewRoomsOf(accountId));
    subscriber.on('ready', () => void subscriber.subscribe(MOVES_CHANNEL).catch(() => {}));
    this.#timers = [setInterval(() => void this.#renew(), RENEW_INTERVAL_MS), setInterval(() => void this.#look(), LOOK_INTERVAL_MS)];
  }

  /**
   * Marks the caller connected in a room, until `bye` or until the account moves.
   * @throws SessionEnded if the caller's session was signed out
   * @throws Refusal `sign_in_required` if the caller's account moved into another
   */
  async hello(
    code: string,
    caller: Caller,
    connectionId: string,
    lost: Lost,
  ): Promise<{ playerId: string; host: boolean } | 'not_in_room' | 'room_not_found'> {
    const member = memberOf(caller.accountId, connectionId);
    const [word, playerId, isHost] = await this.#parts.scripts.runAs(
      caller,
      presenceScript,
      this.#keys(code),
      this.#args('hello', code, [member], caller.accountId),
    );
    if (word !== 'seated') return word === 'not_in_room' ? word : 'room_not_found';
    const members = this.#members.get(code) ?? new Map<string, Lost>();
    this.#members.set(code, members.set(member, lost));
    return { playerId: playerId!, host: isHost === '1' };
  }

  /** Ends a connection's lease. The player stays connected while another connection of the account is open. */
  async bye(code: string, accountId: string, connectionId: string): Promise<void> {
    const member = memberOf(accountId, connectionId);
    this.#drop(code, member);
    await this.#update('bye', code, [member]);
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #renew(): Promise<void> {
    await inBatches([...this.#members], ([code, members]) => this.#renewRoom(code, [...members.keys()]));
  }

  async #renewRoomsOf(accountId: string): Promise<void> {
    const isOf = (member: string): boolean => member.startsWith(`${accountId}:`);
    const rooms = [...this.#members].map(([code, members]) => [code, [...members.keys()].filter(isOf)] as const);
    await inBatches(
      rooms.filter(([, members]) => members.length > 0),
      ([code, members]) => this.#renewRoom(code, members),
    );
  }

  async #renewRoom(code: string, members: readonly string[]): Promise<void> {
    const moved = new Set(await this.#update('renew', code, members));
    for (const member of moved.size === 0 ? [] : members) {
      if (moved.has(member.slice(0, member.indexOf(':')))) this.#drop(code, member)?.();
    }
  }

  #drop(code: string, member: string): Lost | undefined {
    const members = this.#members.get(code);
    const lost = members?.get(member);
    members?.delete(member);
    if (members?.size === 0) this.#members.delete(code);
    return lost;
  }

  async #look(): Promise<void> {
    const { redis, now, log } = this.#parts;
    if (redis.status !== 'ready') return;
    try {
      const codes = await redis.zrangebyscore(roomKeys.due, '-inf', now(), 'LIMIT', 0, ROOMS_A_LOOK);
      await inBatches(codes, async (code) => void (await this.#update('look', code, [])));
    } catch (error) {
      log.debug({ reason: (error as Error).message }, 'could not read the rooms that are due');
    }
  }

  /**
   * Best effort: after a failed call the next renewal, or the end of the leases, corrects the room.
   * @returns the accounts of these members that moved
   */
  async #update(event: 'bye' | 'renew' | 'look', code: string, members: readonly string[]): Promise<string[]> {
    try {
      const [, ...moved] = await this.#parts.scripts.run(presenceScript, this.#keys(code), this.#args(event, code, members, ''));
      return moved;
    } catch (error) {
      this.#parts.log.debug({ reason: (error as Error).message }, 'could not update the presence in a room');
      return [];
    }
  }

  #keys(code: string) {
    return { room: roomKeys.room(code), leases: roomKeys.leases(code), due: roomKeys.due };
  }

  #args(event: string, code: string, members: readonly string[], accountId: string) {
    const { config, now } = this.#parts;
    const at = now();
    return {
      event,
      code,
      accountId,
      members: members.join(' '),
      leaseMs: LEASE_MS,
      graceMs: config.HOST_GRACE_SECONDS * 1000,
      now: at,
      ...roomTimes(at, config),
    };
  }
}

async function inBatches<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += ROOMS_AT_ONCE) await Promise.all(items.slice(start, start + ROOMS_AT_ONCE).map(work));
}

function memberOf(accountId: string, connectionId: string): string {
  return `${accountId}:${connectionId}`;
}
