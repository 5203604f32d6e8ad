import type { Logger } from 'pino';
import { checkCaller } from '../../accounts/account.ts';
import { SessionEnded, type CallerScripts } from '../../accounts/caller-scripts.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import type { Config } from '../../config.ts';
import { Refusal } from '../../errors.ts';
import { DueQueue } from '../../redis/due-queue.ts';
import { defineScript } from '../../redis/script.ts';
import type { Subscriptions } from '../../redis/subscriber.ts';
import { invalidBearer } from '../../server/http/error-answer.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { ListWriter } from './list/list-writer.ts';
import { roomKeys, roomLibraries, ttlMsOf, type OwnSeat } from './model.ts';
import { fieldsOf, privatePart } from './record.ts';
import { ServedTime } from './channel-uptime.ts';

const presenceScript = defineScript({
  file: new URL('presence.lua', import.meta.url),
  keys: ['room', 'leases'],
  args: ['event', 'accountId', 'tab', 'members', 'leaseMs', 'graceMs', 'silentMs', 'servedSince', 'ttlMs'],
  answers: ['seated', 'checked', 'room_not_found', 'not_in_room'],
  prologue: checksCaller,
  slotOf: 'room',
  library: roomLibraries,
});

/**
 * How long a lease lasts after its last renewal, in milliseconds. The players of a process that died are marked as away after this time.
 */
const LEASE_MS = 10_000;

/** The interval at which a process renews its leases, in milliseconds. Two renewals may fail before a lease ends. */
const RENEW_INTERVAL_MS = 3000;

/** The interval at which each process polls the queue for due rooms, in milliseconds. */
const POLL_INTERVAL_MS = 1000;

/** The most due rooms that a process takes in one poll. */
const ROOMS_A_POLL = 1000;

/**
 * How long a process has the lease of a due room, in milliseconds. If its check of the room fails, another process takes the room after
 * this time. The lease is longer than 3 s, because a command fails after Redis has been silent for 3 s.
 */
export const CHECK_LEASE_MS = 5000;

/**
 * The number of rooms for which scripts are sent together. This number fills a round trip, and still leaves time to serve requests in
 * between.
 */
const ROOMS_AT_ONCE = 100;

/** The channel on which scripts publish the id of an account that moved, was banned or deleted, or whose session ended. */
const STANDINGS_CHANNEL = 'standings';

export interface PresenceOptions {
  readonly subscriber: Subscriptions;
  readonly scripts: CallerScripts;
  readonly config: Config;
  readonly log: Logger;
  readonly now: () => number;
  readonly listWriter: Pick<ListWriter, 'changed'>;
  /** Whether this process does not accept new channels any more. */
  readonly isDraining?: () => boolean;
  /** False while the private Redis would end at its next write. Default: true */
  readonly mayWrite?: () => boolean;
  /** The interval at which this process renews its leases, in milliseconds. Default: RENEW_INTERVAL_MS. */
  readonly renewalMs?: number;
}

/**
 * Called at most once for a connection: when its caller may not act any more, and its lease ends.
 * @param reason the refusal for the caller
 */
type Lost = (reason: Refusal) => void;

/** A connection of this process that has a lease. */
interface Connected {
  /** Undefined for a server. Its key is checked by its channel. */
  readonly caller: Caller | undefined;
  readonly lost: Lost;
}

/** The text that a server's connection has in place of an account id. No account has this id. */
export const SERVER = 'server';

/** A hello that is running. */
interface Greeting {
  /**
   * Whether the caller's account was published on STANDINGS_CHANNEL since the hello began. If so, the caller is checked again, because the
   * script of the hello may have checked the caller before the change.
   */
  isTold: boolean;
}

/** If the check of a caller fails with one of these error codes, the caller may not act any more. */
const CLOSED: ReadonlySet<string> = new Set(['sign_in_required', 'account_banned', 'account_deleted']);

/**
 * Keeps leases in Redis for the players and servers that are connected to this process, and checks rooms whose leases ran out, or in which
 * a player was away for too long.
 *
 * The rule is: a room with leases is in the queue, and is due at the latest when its first lease ends. When the room is due, any process
 * checks it. No script writes both the leases and the queue, so the order of the steps keeps the rule true if a process dies between two
 * steps. Before `hello` grants a lease, it puts an entry for the connection into the queue, due before the lease ends. Each check makes the
 * room due again at the end of its first lease. A renewal only extends a lease, so the room's next check comes early, and makes the room
 * due later. A renewal never grants a lease. If a process was cut off from Redis for longer than a lease, it first puts the room into the
 * queue, as for a hello. If a `bye` is lost, the lease runs out.
 */
export class Presence {
  readonly #options: PresenceOptions;
  readonly #queue: DueQueue;
  /** The connections of this process that have leases, by room code and by member of `leases` (`memberOf`). */
  readonly #members = new Map<string, Map<string, Connected>>();
  /** The number of this process's leases by account. Most accounts that are published on STANDINGS_CHANNEL have no lease here. */
  readonly #counts = new Map<string, number>();
  /** The running hellos by account. The connections of these hellos are not in `#members` yet. */
  readonly #greetings = new Map<string, Set<Greeting>>();
  /**
   * The accounts that were published on STANDINGS_CHANNEL and whose leases are now being renewed. The value says whether the account was
   * published again during the renewal.
   */
  readonly #toldAgain = new Map<string, boolean>();
  readonly #served: ServedTime;
  readonly #timer: NodeJS.Timeout;

  constructor(options: PresenceOptions) {
    this.#options = options;
    const { subscriber } = options;
    // If a change of an account is published, it takes effect at once. If the subscriber is disconnected, the next renewal finds the
    // change.
    subscriber.on('message', (channel, accountId) => channel === STANDINGS_CHANNEL && this.#told(accountId));
    subscriber.on('ready', () => void subscriber.subscribe(STANDINGS_CHANNEL).catch(() => {}));
    this.#served = new ServedTime(options);
    this.#timer = setInterval(() => void this.#renew(), options.renewalMs ?? RENEW_INTERVAL_MS);
    this.#queue = new DueQueue({
      ...options,
      name: roomKeys.due,
      work: (code) => this.#check(code),
      leaseMs: CHECK_LEASE_MS,
      pollIntervalMs: POLL_INTERVAL_MS,
      atOnce: ROOMS_AT_ONCE,
      mostAPoll: ROOMS_A_POLL,
    });
  }

  /**
   * Grants a connection a lease, and so marks the caller's player as connected in the room. The lease is renewed until `bye`, or until the
   * caller's session ends or the account moves, is banned or deleted.
   * @param connectionId the id of the connection, unique among all processes
   * @param tab the tab whose last order is wanted
   * @returns the caller's seat, or why the caller has none
   * @throws SessionEnded if the caller's session was signed out
   * @throws Refusal `sign_in_required` if the caller's account moved into another, `account_banned`, `account_deleted`
   */
  async hello(
    code: string,
    caller: Caller,
    connectionId: string,
    lost: Lost,
    tab?: string,
  ): Promise<OwnSeat | 'not_in_room' | 'room_not_found'> {
    const { accountId } = caller;
    const greeting: Greeting = { isTold: false };
    const greetings = this.#greetings.get(accountId) ?? new Set();
    this.#greetings.set(accountId, greetings.add(greeting));
    try {
      const member = memberOf(accountId, connectionId);
      const seat = await this.#seat(code, caller, member, tab);
      if (typeof seat === 'string') return seat;
      while (greeting.isTold) await this.#checkAgain(greeting, caller, code, member);
      // No `await` may follow in this function: the next published change has to find the connection and its caller in `#members`.
      this.#keep(code, member, { caller, lost });
      return seat;
    } finally {
      greetings.delete(greeting);
      if (greetings.size === 0) this.#greetings.delete(accountId);
    }
  }

  /** Does the same as `hello` for a connection of a server. The channel has checked the server's key. @returns the last order of the tab */
  async helloServer(code: string, connectionId: string, tab?: string): Promise<number | undefined | 'room_not_found'> {
    const member = memberOf(SERVER, connectionId);
    const seat = await this.#seat(code, undefined, member, tab);
    if (typeof seat === 'string') return 'room_not_found';
    this.#keep(code, member, { caller: undefined, lost: () => {} });
    return seat.order;
  }

  /** Runs the script of a hello. @param caller undefined for a server */
  async #seat(code: string, caller: Caller | undefined, member: string, tab = ''): Promise<OwnSeat | 'not_in_room' | 'room_not_found'> {
    const { scripts, now, listWriter } = this.#options;
    await this.#queue.ahead(code, now() + LEASE_MS, connectionOf(member));
    const args = { ...this.#args('hello', [member]), accountId: caller?.accountId ?? '', tab };
    const [word, playerId, isHost, dueAt = '', own = '', order = '', ...fields] = await scripts.runFor(
      caller,
      presenceScript,
      this.#keys(code),
      args,
    );
    if (word !== 'seated') return word === 'not_in_room' ? word : 'room_not_found';
    listWriter.changed(fieldsOf(fields));
    await this.#checkRoom(code, dueAt);
    return {
      playerId: playerId!,
      host: isHost === '1',
      private: privatePart.parse(own),
      order: tab === '' ? undefined : Number(order),
    };
  }

  /**
   * Ends a connection's lease. The player stays connected while another connection of the account is open.
   * @param accountId the id of the account, or SERVER
   * @param silentMs for how long nothing had come from the connection, because its network was down
   */
  async bye(code: string, accountId: string, connectionId: string, silentMs = 0): Promise<void> {
    const member = memberOf(accountId, connectionId);
    this.#drop(code, member);
    await this.#end(code, [member], silentMs);
  }

  /** Makes a room due within a second. Call it before a change of the room's settings. */
  async checkSoon(code: string): Promise<void> {
    await this.#queue.ahead(code, this.#options.now() + POLL_INTERVAL_MS);
  }

  /** Stops renewals and checks. Resolves when the running checks of rooms have ended. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#served.close();
    await this.#queue.close();
  }

  /** Handles a message on STANDINGS_CHANNEL: an account moved, or was banned or deleted, or one of its sessions ended. */
  #told(accountId: string): void {
    for (const greeting of this.#greetings.get(accountId) ?? []) greeting.isTold = true;
    if (this.#counts.has(accountId)) void this.#renewTold(accountId);
  }

  /**
   * Renews the leases of an account that was published on STANDINGS_CHANNEL. Only one renewal of an account runs at a time. If the account
   * is published again during the renewal, however often, one more renewal follows.
   */
  async #renewTold(accountId: string): Promise<void> {
    const isUnderWay = this.#toldAgain.has(accountId);
    this.#toldAgain.set(accountId, isUnderWay);
    if (isUnderWay) return;
    try {
      do {
        this.#toldAgain.set(accountId, false);
        await this.#renewRoomsOf(accountId);
      } while (this.#toldAgain.get(accountId) === true);
    } finally {
      this.#toldAgain.delete(accountId);
    }
  }

  /** Checks the caller of a hello again, and ends the lease of the hello if the caller may not act any more. */
  async #checkAgain(greeting: Greeting, caller: Caller, code: string, member: string): Promise<void> {
    greeting.isTold = false;
    try {
      await this.#options.scripts.runAs(caller, checkCaller, {}, {});
    } catch (error) {
      await this.#end(code, [member]);
      throw error;
    }
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
   * Renews the leases of some members in a room. Ends the leases of callers who may not act any more, because their session ended, because
   * their account was banned or deleted, or because they are guests that moved into a store account. If the process dies before it ends a
   * lease, the lease runs out.
   */
  async #renewRoom(code: string, members: readonly string[]): Promise<void> {
    const connected = new Map(members.flatMap((member) => this.#connected(code, member) ?? []));
    const callers = new Map([...connected.values()].flatMap(({ caller }) => (caller === undefined ? [] : [[keyOf(caller), caller]])));
    const refusals = [...callers].map(async ([key, caller]) => [key, await this.#refusalOf(caller)] as const);
    const reasons = new Map(await Promise.all(refusals));
    const gone: string[] = [];
    for (const [member, { caller, lost }] of connected) {
      const reason = caller && reasons.get(keyOf(caller));
      // If the connection has sent a hello as another caller since then, its lease stays.
      if (reason === undefined || this.#members.get(code)?.get(member)?.caller !== caller) continue;
      this.#drop(code, member);
      gone.push(member);
      lost(reason);
    }
    // If a connection closed during the check of its caller, it must not get a lease again.
    const staying = members.filter((member) => this.#members.get(code)?.has(member) === true);
    await Promise.all([
      gone.length > 0 && this.#end(code, gone),
      staying.length > 0 && this.#renewLeases(code, staying).catch((error: unknown) => this.#failed(error)),
    ]);
  }

  async #renewLeases(code: string, members: readonly string[]): Promise<void> {
    const { membersWithoutLease: without } = await this.#update('renew', code, members);
    if (without === '') return;
    const dueAt = this.#options.now() + LEASE_MS;
    await Promise.all(without.split(' ').map((member) => this.#queue.ahead(code, dueAt, connectionOf(member))));
    // If a connection closed while the room was put into the queue, it must not get a lease again.
    const staying = without.split(' ').filter((member) => this.#members.get(code)?.has(member) === true);
    if (staying.length > 0) await this.#update('grant', code, staying);
  }

  /**
   * The refusal for a caller who may not act any more. The result is undefined for any other caller. If the check itself fails, it is
   * undefined too, so that the caller keeps its leases while the primary of its account is down.
   */
  async #refusalOf(caller: Caller): Promise<Refusal | undefined> {
    try {
      await this.#options.scripts.runAs(caller, checkCaller, {}, {});
    } catch (error) {
      if (error instanceof SessionEnded) return invalidBearer();
      if (error instanceof Refusal && CLOSED.has(error.code)) return error;
      this.#failed(error);
    }
    return undefined;
  }

  #connected(code: string, member: string): [[string, Connected]] | undefined {
    const connected = this.#members.get(code)?.get(member);
    return connected && [[member, connected]];
  }

  /** Puts a connection into the memory of this process. */
  #keep(code: string, member: string, connected: Connected): void {
    this.#drop(code, member);
    const members = this.#members.get(code) ?? new Map<string, Connected>();
    this.#members.set(code, members.set(member, connected));
    const accountId = accountOf(member);
    this.#counts.set(accountId, (this.#counts.get(accountId) ?? 0) + 1);
  }

  /** Removes a connection from the memory of this process. */
  #drop(code: string, member: string): void {
    const members = this.#members.get(code);
    if (members?.delete(member) !== true) return;
    if (members.size === 0) this.#members.delete(code);
    const accountId = accountOf(member);
    const left = this.#counts.get(accountId)! - 1;
    if (left === 0) this.#counts.delete(accountId);
    else this.#counts.set(accountId, left);
  }

  /** Ends leases of members in a room. Never rejects: if the call fails, the leases run out. */
  async #end(code: string, members: readonly string[], silentMs = 0): Promise<void> {
    try {
      const { dueAt } = await this.#update('bye', code, members, { silentMs: Math.round(silentMs) });
      await this.#checkRoom(code, dueAt);
    } catch (error) {
      this.#failed(error);
    }
  }

  /**
   * Makes the room due at the time at which an absent host stops being the host, or an absent player loses the seat. Never rejects: if the
   * call fails, the room is checked some seconds later, when a lease ends.
   * @param dueAt milliseconds since 1970; '' if nobody is absent
   */
  async #checkRoom(code: string, dueAt: string): Promise<void> {
    if (dueAt !== '') await this.#queue.bring(code, Number(dueAt)).catch((error: unknown) => this.#failed(error));
  }

  /** Checks a due room. @returns when the room is due again, in milliseconds since 1970; undefined: never */
  async #check(code: string): Promise<number | undefined> {
    const servedSince = await this.#served.since(roomKeys.room(code));
    const { nextCheck } = await this.#update('check', code, [], { servedSince });
    return nextCheck === '' ? undefined : Number(nextCheck);
  }

  async #update(
    event: 'bye' | 'renew' | 'grant' | 'check',
    code: string,
    members: readonly string[],
    more: { readonly silentMs?: number; readonly servedSince?: number } = {},
  ) {
    const args = { ...this.#args(event, members), ...more };
    const answer = await this.#options.scripts.run(presenceScript, this.#keys(code), args);
    const [, nextCheck = '', dueAt = '', membersWithoutLease = '', ...fields] = answer;
    this.#options.listWriter.changed(fieldsOf(fields));
    return { nextCheck, dueAt, membersWithoutLease };
  }

  #failed(error: unknown): void {
    this.#options.log.debug({ reason: (error as Error).message }, 'could not update the presence in a room');
  }

  #keys(code: string) {
    return { room: roomKeys.room(code), leases: roomKeys.leases(code) };
  }

  #args(event: string, members: readonly string[]) {
    const { config } = this.#options;
    return {
      event,
      accountId: '',
      tab: '',
      members: members.join(' '),
      leaseMs: LEASE_MS,
      graceMs: config.HOST_GRACE_SECONDS * 1000,
      silentMs: 0,
      servedSince: 0,
      ttlMs: ttlMsOf(config),
    };
  }
}

async function inBatches<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += ROOMS_AT_ONCE) await Promise.all(items.slice(start, start + ROOMS_AT_ONCE).map(work));
}

/** The member of the sorted set `leases` for a connection of an account. */
function memberOf(accountId: string, connectionId: string): string {
  return `${accountId}:${connectionId}`;
}

/** A text for a caller's account and session. Callers with the same text are refused for the same reasons, so one check serves them all. */
function keyOf({ accountId, session }: Caller): string {
  return `${accountId} ${session?.id ?? ''}`;
}

function accountOf(member: string): string {
  return member.slice(0, member.indexOf(':'));
}

function connectionOf(member: string): string {
  return member.slice(member.indexOf(':') + 1);
}
