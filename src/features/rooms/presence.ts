import type { Logger } from 'pino';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { refuseBanned } from '../../accounts/ban-end.ts';
import { moveOf } from '../../accounts/move-state.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import type { Config } from '../../config.ts';
import { refuse, type Refusal } from '../../errors.ts';
import { DueQueue } from '../../redis/due-queue.ts';
import { defineScript } from '../../redis/script.ts';
import type { Subscriptions } from '../../redis/subscriber.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { roomKeys, roomLibrary, roomPrelude, roomTimeArgs, roomTimes } from './model.ts';

const presenceScript = defineScript({
  file: new URL('presence.lua', import.meta.url),
  keys: ['room', 'leases'],
  args: ['event', 'accountId', 'members', 'leaseMs', 'graceMs', 'now', ...roomTimeArgs],
  answers: ['seated', 'looked', 'room_not_found', 'not_in_room'],
  prologue: checksCaller,
  slotOf: 'room',
  library: roomLibrary,
  prelude: roomPrelude,
});

/** How long a connection counts after its process last renewed it, so how soon the players of a dead process are away. */
const LEASE_MS = 10_000;
const RENEW_INTERVAL_MS = 3000;

/** How often every process looks for rooms that are due, and how many of them it then takes. */
const LOOK_INTERVAL_MS = 1000;
const ROOMS_A_LOOK = 1000;

/** After a look that failed another one follows. A command fails once Redis is silent for 3 s. */
export const LOOK_LEASE_MS = 5000;

/** Calls sent at a time: enough to fill a round trip, few enough that requests get in between. */
const ROOMS_AT_ONCE = 100;

/** The channel on which scripts publish the account id of a guest that moved, and of an account that was banned or deleted. */
const MOVES_CHANNEL = 'moves';

export interface PresenceParts {
  readonly subscriber: Subscriptions;
  readonly scripts: CallerScripts;
  readonly config: Config;
  readonly log: Logger;
  readonly now: () => number;
}

/** Called at most once, with the reason, when the account is not open any more and the connection no longer counts for a player. */
type Lost = (reason: NotOpen) => void;

type NotOpen = Refusal<'sign_in_required' | 'account_banned' | 'account_deleted'>;

/**
 * Holds leases in Redis for the players connected to this process, and handles rooms whose leases ran out.
 *
 * A room with leases is in the queue, due no later than the first of them ends: then any process looks at the room. No script
 * writes both, so the order keeps this true if a process dies between two steps. Before `hello` grants a lease, the queue holds an
 * entry of this connection, due before the lease ends; once it is due, a look makes the room due at the end of its first lease, and
 * so does every later look. A renewal only moves the end of a lease away: the look then comes early, and goes on to the later time.
 * A `bye` that is lost shows when the lease ends.
 */
export class Presence {
  readonly #parts: PresenceParts;
  readonly #queue: DueQueue;
  /** This process's leases by room code and member. */
  readonly #members = new Map<string, Map<string, Lost>>();
  readonly #timer: NodeJS.Timeout;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
    const { subscriber } = parts;
    // A published move takes effect at once. Moves published while the subscriber is disconnected show at the next renewal.
    subscriber.on('message', (channel, accountId) => channel === MOVES_CHANNEL && void this.#renewRoomsOf(accountId));
    subscriber.on('ready', () => void subscriber.subscribe(MOVES_CHANNEL).catch(() => {}));
    this.#timer = setInterval(() => void this.#renew(), RENEW_INTERVAL_MS);
    this.#queue = new DueQueue({
      ...parts,
      name: roomKeys.due,
      work: (code) => this.#look(code),
      leaseMs: LOOK_LEASE_MS,
      lookIntervalMs: LOOK_INTERVAL_MS,
      atOnce: ROOMS_AT_ONCE,
      mostALook: ROOMS_A_LOOK,
    });
  }

  /**
   * Marks the caller connected in a room, until `bye` or until the account moves, is banned or deleted.
   * @throws SessionEnded if the caller's session was signed out
   * @throws Refusal `sign_in_required` if the caller's account moved into another, `account_banned`, `account_deleted`
   */
  async hello(
    code: string,
    caller: Caller,
    connectionId: string,
    lost: Lost,
  ): Promise<{ playerId: string; host: boolean } | 'not_in_room' | 'room_not_found'> {
    const member = memberOf(caller.accountId, connectionId);
    const { scripts, now } = this.#parts;
    await this.#queue.ahead(code, now() + LEASE_MS, connectionId);
    const args = this.#args('hello', [member], caller.accountId);
    const [word, playerId, isHost, handOverAt = ''] = await scripts.runAs(caller, presenceScript, this.#keys(code), args);
    if (word !== 'seated') return word === 'not_in_room' ? word : 'room_not_found';
    const members = this.#members.get(code) ?? new Map<string, Lost>();
    this.#members.set(code, members.set(member, lost));
    await this.#lookAt(code, handOverAt);
    return { playerId: playerId!, host: isHost === '1' };
  }

  /** Ends a connection's lease. The player stays connected while another connection of the account is open. */
  async bye(code: string, accountId: string, connectionId: string): Promise<void> {
    const member = memberOf(accountId, connectionId);
    this.#drop(code, member);
    await this.#end(code, [member]);
  }

  /** Resolves when the looks under way have ended. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#queue.close();
  }

  async #renew(): Promise<void> {
    await inBatches([...this.#members], ([code, members]) => this.#renewRoom(code, [...members.keys()]));
  }

  async #renewRoomsOf(accountId: string): Promise<void> {
    const isOf = (member: string): boolean => accountOf(member) === accountId;
    const rooms = [...this.#members].map(([code, members]) => [code, [...members.keys()].filter(isOf)] as const);
    await inBatches(
      rooms.filter(([, members]) => members.length > 0),
      ([code, members]) => this.#renewRoom(code, members),
    );
  }

  /**
   * Renews the leases of these members. It ends those of a guest that moved into a store account, because the guest's installId
   * and sessions are no longer valid, and those of banned and deleted accounts. If the process dies before that, these leases run out.
   */
  async #renewRoom(code: string, members: readonly string[]): Promise<void> {
    const accounts = [...new Set(members.map(accountOf))];
    const reasons = await Promise.all(accounts.map((account) => this.#notOpen(account)));
    const closed = new Map(accounts.flatMap((account, index) => (reasons[index] === undefined ? [] : [[account, reasons[index]]])));
    const gone = members.filter((member) => closed.has(accountOf(member)));
    for (const member of gone) this.#drop(code, member)?.(closed.get(accountOf(member))!);
    // A connection that ended since the look must not get a lease again.
    const staying = members.filter((member) => this.#members.get(code)?.has(member) === true);
    await Promise.all([
      gone.length > 0 && this.#end(code, gone),
      staying.length > 0 && this.#update('renew', code, staying).catch((error: unknown) => this.#failed(error)),
    ]);
  }

  /** An account that cannot be looked at keeps its leases: its data may lie on another primary than the room's. */
  async #notOpen(accountId: string): Promise<NotOpen | undefined> {
    try {
      const state = await moveOf(accountId, this.#parts.scripts);
      if (state.word === 'moved') return refuse('sign_in_required');
      if (state.word === 'deleted') return refuse('account_deleted');
      return state.word === 'stays' && state.ban !== undefined ? refuseBanned(state.ban) : undefined;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  #drop(code: string, member: string): Lost | undefined {
    const members = this.#members.get(code);
    const lost = members?.get(member);
    members?.delete(member);
    if (members?.size === 0) this.#members.delete(code);
    return lost;
  }

  /** Best effort: after a failed call the end of the leases corrects the room. */
  async #end(code: string, members: readonly string[]): Promise<void> {
    try {
      const [, , handOverAt = ''] = await this.#update('bye', code, members);
      await this.#lookAt(code, handOverAt);
    } catch (error) {
      this.#failed(error);
    }
  }

  /**
   * Best effort: makes the room due when an absent host's time is over. Without it the host's role is passed on when a lease ends,
   * some seconds later.
   */
  async #lookAt(code: string, handOverAt: string): Promise<void> {
    if (handOverAt !== '') await this.#queue.bring(code, Number(handOverAt)).catch((error: unknown) => this.#failed(error));
  }

  async #look(code: string): Promise<number | undefined> {
    const [, nextLook = ''] = await this.#update('look', code, []);
    return nextLook === '' ? undefined : Number(nextLook);
  }

  #update(event: 'bye' | 'renew' | 'look', code: string, members: readonly string[]) {
    return this.#parts.scripts.run(presenceScript, this.#keys(code), this.#args(event, members, ''));
  }

  #failed(error: unknown): void {
    this.#parts.log.debug({ reason: (error as Error).message }, 'could not update the presence in a room');
  }

  #keys(code: string) {
    return { room: roomKeys.room(code), leases: roomKeys.leases(code) };
  }

  #args(event: string, members: readonly string[], accountId: string) {
    const { config, now } = this.#parts;
    const at = now();
    return {
      event,
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

function accountOf(member: string): string {
  return member.slice(0, member.indexOf(':'));
}
