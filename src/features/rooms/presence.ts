import type { Logger } from 'pino';
import { checkCaller } from '../../accounts/account.ts';
import { SessionEnded, type CallerScripts } from '../../accounts/caller-scripts.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import type { Config } from '../../config.ts';
import { Refusal } from '../../errors.ts';
import { DueQueue } from '../../redis/due-queue.ts';
import { defineScript } from '../../redis/script.ts';
import type { Subscriptions } from '../../redis/subscriber.ts';
import { invalidBearer } from '../../server/http/refusals.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { roomKeys, roomLibraries, ttlMsOf, type OwnSeat } from './model.ts';
import { privateOf } from './record.ts';

const presenceScript = defineScript({
  file: new URL('presence.lua', import.meta.url),
  keys: ['room', 'leases'],
  args: ['event', 'accountId', 'tab', 'members', 'leaseMs', 'graceMs', 'ttlMs'],
  answers: ['seated', 'looked', 'room_not_found', 'not_in_room'],
  prologue: checksCaller,
  slotOf: 'room',
  library: roomLibraries,
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

/** The channel on which scripts publish the id of an account that moved, was banned or deleted, or of which a session ended. */
const STANDINGS_CHANNEL = 'standings';

export interface PresenceParts {
  readonly subscriber: Subscriptions;
  readonly scripts: CallerScripts;
  readonly config: Config;
  readonly log: Logger;
  readonly now: () => number;
  /** How often this process renews its leases, in milliseconds. Default: RENEW_INTERVAL_MS. */
  readonly renewalMs?: number;
}

/** Called at most once, with the reason, when the caller may not act any more and the connection no longer counts for a player. */
type Lost = (reason: Refusal) => void;

/** A connection that counts for a player. */
interface Connected {
  readonly caller: Caller;
  readonly lost: Lost;
}

/** A hello under way. */
interface Greeting {
  /** Whether its account was published meanwhile: its script may have looked at the caller before. */
  isTold: boolean;
}

/** The refusals after which a caller may not act any more. */
const CLOSED: ReadonlySet<string> = new Set(['sign_in_required', 'account_banned', 'account_deleted']);

/**
 * Holds leases in Redis for the players connected to this process, and handles rooms whose leases ran out.
 *
 * A room with leases is in the queue, due no later than the first of them ends: then any process looks at the room. No script
 * writes both, so the order keeps this true if a process dies between two steps. Before `hello` grants a lease, the queue holds an
 * entry of this connection, due before the lease ends; once it is due, a look makes the room due at the end of its first lease, and
 * so does every later look. A renewal only moves the end of a lease away: the look then comes early, and goes on to the later time. It
 * grants none: a process that was cut off from Redis for longer than a lease puts the room into the queue first, as for a hello.
 * A `bye` that is lost shows when the lease ends.
 */
export class Presence {
  readonly #parts: PresenceParts;
  readonly #queue: DueQueue;
  /** This process's leases by room code and member. */
  readonly #members = new Map<string, Map<string, Connected>>();
  /** How many of them each account has. Most published account ids have none here. */
  readonly #counts = new Map<string, number>();
  /** The hellos under way by account. Their connections do not count yet. */
  readonly #greetings = new Map<string, Set<Greeting>>();
  /** Accounts whose rooms are renewed because they were published, and whether they were published again meanwhile. */
  readonly #toldAgain = new Map<string, boolean>();
  readonly #timer: NodeJS.Timeout;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
    const { subscriber } = parts;
    // What is published takes effect at once. What was published while the subscriber was disconnected shows at the next renewal.
    subscriber.on('message', (channel, accountId) => channel === STANDINGS_CHANNEL && this.#told(accountId));
    subscriber.on('ready', () => void subscriber.subscribe(STANDINGS_CHANNEL).catch(() => {}));
    this.#timer = setInterval(() => void this.#renew(), parts.renewalMs ?? RENEW_INTERVAL_MS);
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
   * Marks the caller connected in a room, until `bye`, or until the session ends or the account moves, is banned or deleted.
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
      const { scripts, now } = this.#parts;
      await this.#queue.ahead(code, now() + LEASE_MS, connectionId);
      const args = { ...this.#args('hello', [member]), accountId, tab: tab ?? '' };
      const [word, playerId, isHost, handOverAt = '', own = '', order = ''] = await scripts.runAs(
        caller,
        presenceScript,
        this.#keys(code),
        args,
      );
      if (word !== 'seated') return word === 'not_in_room' ? word : 'room_not_found';
      await this.#lookAt(code, handOverAt);
      while (greeting.isTold) await this.#lookAgain(greeting, caller, code, member);
      // From here to the return nothing waits: what is published next finds the connection, and the connection knows its caller.
      this.#drop(code, member);
      const members = this.#members.get(code) ?? new Map<string, Connected>();
      this.#members.set(code, members.set(member, { caller, lost }));
      this.#counts.set(accountId, (this.#counts.get(accountId) ?? 0) + 1);
      return { playerId: playerId!, host: isHost === '1', private: privateOf(own), order: tab === undefined ? undefined : Number(order) };
    } finally {
      greetings.delete(greeting);
      if (greetings.size === 0) this.#greetings.delete(accountId);
    }
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

  #told(accountId: string): void {
    for (const greeting of this.#greetings.get(accountId) ?? []) greeting.isTold = true;
    if (this.#counts.has(accountId)) void this.#renewTold(accountId);
  }

  /** One renewal of an account at a time. However often it is published meanwhile, one more follows. */
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

  /** Looks at the caller of a hello again, and ends the lease that the hello has got if the caller may not act any more. */
  async #lookAgain(greeting: Greeting, caller: Caller, code: string, member: string): Promise<void> {
    greeting.isTold = false;
    try {
      await this.#parts.scripts.runAs(caller, checkCaller, {}, {});
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
   * Renews the leases of these members. It ends the connections of ended sessions, of banned and deleted accounts, and of guests that
   * moved into a store account: a moved guest's installId and sessions are no longer valid. If the process dies before that, these leases
   * run out.
   */
  async #renewRoom(code: string, members: readonly string[]): Promise<void> {
    const connected = new Map(members.flatMap((member) => this.#connected(code, member) ?? []));
    const callers = new Map([...connected.values()].map(({ caller }) => [keyOf(caller), caller]));
    const looks = [...callers].map(async ([key, caller]) => [key, await this.#refusalOf(caller)] as const);
    const reasons = new Map(await Promise.all(looks));
    const gone: string[] = [];
    for (const [member, { caller, lost }] of connected) {
      const reason = reasons.get(keyOf(caller));
      // A connection that said hello as somebody else since the look stays.
      if (reason === undefined || this.#members.get(code)?.get(member)?.caller !== caller) continue;
      this.#drop(code, member);
      gone.push(member);
      lost(reason);
    }
    // A connection that ended since the look must not get a lease again.
    const staying = members.filter((member) => this.#members.get(code)?.has(member) === true);
    await Promise.all([
      gone.length > 0 && this.#end(code, gone),
      staying.length > 0 && this.#renewLeases(code, staying).catch((error: unknown) => this.#failed(error)),
    ]);
  }

  async #renewLeases(code: string, members: readonly string[]): Promise<void> {
    const [, , , without = ''] = await this.#update('renew', code, members);
    if (without === '') return;
    const dueAt = this.#parts.now() + LEASE_MS;
    await Promise.all(without.split(' ').map((member) => this.#queue.ahead(code, dueAt, connectionOf(member))));
    // A connection that ended meanwhile must not get a lease again.
    const staying = without.split(' ').filter((member) => this.#members.get(code)?.has(member) === true);
    if (staying.length > 0) await this.#update('grant', code, staying);
  }

  /** Why the caller may not act any more. A caller that cannot be looked at keeps its leases: its data may lie on another primary. */
  async #refusalOf(caller: Caller): Promise<Refusal | undefined> {
    try {
      await this.#parts.scripts.runAs(caller, checkCaller, {}, {});
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

  #drop(code: string, member: string): void {
    const members = this.#members.get(code);
    if (members?.delete(member) !== true) return;
    if (members.size === 0) this.#members.delete(code);
    const accountId = accountOf(member);
    const left = this.#counts.get(accountId)! - 1;
    if (left === 0) this.#counts.delete(accountId);
    else this.#counts.set(accountId, left);
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

  #update(event: 'bye' | 'renew' | 'grant' | 'look', code: string, members: readonly string[]) {
    return this.#parts.scripts.run(presenceScript, this.#keys(code), this.#args(event, members));
  }

  #failed(error: unknown): void {
    this.#parts.log.debug({ reason: (error as Error).message }, 'could not update the presence in a room');
  }

  #keys(code: string) {
    return { room: roomKeys.room(code), leases: roomKeys.leases(code) };
  }

  #args(event: string, members: readonly string[]) {
    const { config } = this.#parts;
    return {
      event,
      accountId: '',
      tab: '',
      members: members.join(' '),
      leaseMs: LEASE_MS,
      graceMs: config.HOST_GRACE_SECONDS * 1000,
      ttlMs: ttlMsOf(config),
    };
  }
}

async function inBatches<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += ROOMS_AT_ONCE) await Promise.all(items.slice(start, start + ROOMS_AT_ONCE).map(work));
}

function memberOf(accountId: string, connectionId: string): string {
  return `${accountId}:${connectionId}`;
}

/** Callers with the same key are refused for the same reasons. */
function keyOf({ accountId, session }: Caller): string {
  return `${accountId} ${session?.id ?? ''}`;
}

function accountOf(member: string): string {
  return member.slice(0, member.indexOf(':'));
}

function connectionOf(member: string): string {
  return member.slice(member.indexOf(':') + 1);
}
