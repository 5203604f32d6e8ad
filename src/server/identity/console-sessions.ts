import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { refuse, Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { cookieValue } from './cookies.ts';
import { refuseBadKey } from './key-check.ts';
import { BadKey, type KeyRing } from './key-ring.ts';
import type { Origins } from './origin.ts';
import { PERSON_ID } from './people.ts';
import { roles, type Role } from './roles.ts';
import type { ConsoleSession, ServerKey } from './server-keys.ts';
import type { TokenSigner } from './signed-token.ts';

/** Milliseconds after which a session of the console ends, even if it is in use: nobody stays signed in overnight. */
export const CONSOLE_SESSION_MS = 3_600_000;

/** Milliseconds after typing the key in which an operator may make changes that cannot be undone. */
export const CONFIRMED_MS = 300_000;

/**
 * The most open sessions of one server key. A further sign-in ends the oldest session, so that the holder of a key cannot fill Redis with
 * sessions.
 */
const MOST_SESSIONS = 20;

/** The interval, in milliseconds, at which the identity provider is asked again for a person's groups. */
export const ASK_EVERY_MS = 900_000;

/**
 * Milliseconds for which one process may ask the identity provider about a session, while the others wait. Longer than the provider may
 * take.
 */
const ASKING_MS = 12_000;

/** Milliseconds between two checks whether another process has finished asking. */
const WAIT_MS = 100;

/**
 * The Redis key of a hash: the id of each session of a server key or a person → when the session ends, and until when its operator counts
 * as having typed the key. For a person the hash also holds when the identity provider was last asked, and, encrypted, the data needed to
 * ask it again.
 * @param operator the id of the key or of the person
 */
export const consoleSessionsKey = (operator: string): string => `{console:${operator}}`;

/** The Redis key of a text that exists while a process asks the identity provider about a session. */
const askingKey = (operator: string, session: string): string => `${consoleSessionsKey(operator)}:asking:${session}`;

/** The keys of all sessions, for the audit. */
export const CONSOLE_KEYS = /^\{console:(?:person:[a-z0-9]{16}|[a-z0-9]{8})\}$/;
export const ASKING_KEYS = /^\{console:person:[a-z0-9]{16}\}:asking:[\w-]{22}$/;

const startScript = defineScript({
  file: new URL('start-console-session.lua', import.meta.url),
  keys: ['sessions'],
  args: ['id', 'endsAt', 'confirmedUntil', 'asked', 'most'],
  answers: ['started'],
});

/**
 * Tells whether a session of the console is open, and until when its operator may make changes that cannot be undone. Answers
 * open(confirmed_until, asked_at, held), ended. For a session of a server key the last two are ''.
 */
const readScript = defineScript({
  name: 'identity/read-console-session',
  lua: `local ends, confirmed, asked_at, held = string.match(redis.call('HGET', sessions, id) or '', '^(%d+) (%d+) ?(%d*) ?(%S*)$')
    if not ends or tonumber(ends) <= tonumber(now) then return {'ended'} end
    return {'open', confirmed, asked_at, held}`,
  keys: ['sessions'],
  args: ['id'],
  answers: ['open', 'ended'],
  readOnly: true,
});

/** Notes that an operator in a session of the console has typed the server key once more. */
const confirmScript = defineScript({
  name: 'identity/confirm-console-session',
  lua: `local ends, asked = string.match(redis.call('HGET', sessions, id) or '', '^(%d+) %d+(.*)$')
    if not ends or tonumber(ends) <= tonumber(now) then return {'ended'} end
    redis.call('HSET', sessions, id, ends .. ' ' .. confirmed_until .. asked)
    return {'confirmed'}`,
  keys: ['sessions'],
  args: ['id', 'confirmedUntil'],
  answers: ['confirmed', 'ended'],
});

/** Lets only one process at a time ask the identity provider about a session. */
const askScript = defineScript({
  name: 'identity/ask-for-console-session',
  lua: `if redis.call('SET', asking, '1', 'NX', 'PX', asking_ms) then return {'ask'} end
    return {'asked'}`,
  keys: ['asking'],
  args: ['askingMs'],
  answers: ['ask', 'asked'],
});

/**
 * Notes the identity provider's answer about the person of a session. `ended` ends the session. After '', which stands for no answer, the
 * next process asks.
 */
const saidScript = defineScript({
  name: 'identity/note-console-session',
  lua: `local before = redis.call('HGET', sessions, id)
    if said == 'ended' then redis.call('HDEL', sessions, id)
    elseif said ~= '' and before then redis.call('HSET', sessions, id, string.match(before, '^%d+ %d+') .. ' ' .. said) end
    redis.call('DEL', asking)
    return {'noted'}`,
  keys: ['sessions', 'asking'],
  args: ['id', 'said'],
  answers: ['noted'],
  durable: true,
});

/** Ends a session of the console. Does nothing if the session has ended already. */
const endScript = defineScript({
  name: 'identity/end-console-session',
  lua: `redis.call('HDEL', sessions, id)
    return {'ended'}`,
  keys: ['sessions'],
  args: ['id'],
  answers: ['ended'],
  // If a failover lost a sign-out, a copy of the cookie would be valid again.
  durable: true,
});

/** The parts of a request that show whether it comes from the console's page, and in which session. */
export interface ConsoleRequest {
  readonly cookie: string;
  /** The header x-console. Only a page of the service's own origin can send it, because no preflight allows it to other origins. */
  readonly console: string;
  readonly origin: string;
  readonly host: string;
  /** The header Sec-Fetch-Site. */
  readonly fetchSite: string;
}

/** The content of a session cookie of the console whose signature was verified. */
interface Held {
  /** The id of the server key or of the person. */
  readonly operator: string;
  readonly id: string;
  readonly role: string;
  readonly endsAt: number;
}

/** Asks the identity provider again about a person who is signed in. */
export interface Vouching {
  /**
   * @param held what the session keeps for this question
   * @returns undefined if the provider does not vouch for the person any more
   * @throws Refusal while the provider does not answer
   */
  again(person: string, held: string): Promise<{ readonly role: Role | undefined; readonly held: string } | undefined>;
}

interface ConsoleSessionsOptions {
  /** Undefined: operators type server keys into the page. Else people sign in at a provider, and a typed key starts no session. */
  readonly vouching?: Vouching | undefined;
  readonly signer: TokenSigner;
  readonly keys: Pick<KeyRing, 'isKnown' | 'byId'>;
  readonly scripts: ScriptRunner;
  /** The present time, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * The sessions of operators who typed a server key into the console, or who signed in at a provider of CONSOLE_SIGN_IN.
 *
 * The cookie is a signed token that names the server key or the person, and the session. So a forged cookie costs no trip to Redis, and the
 * request counts against the limits of the key before its body is read. The signed token does not prove that the session is open. A hash in
 * Redis lists the open sessions, so that a sign-out also ends a copy of the cookie. A session that Redis loses has ended.
 *
 * The first request after ASK_EVERY_MS makes the service ask the provider of a person again. Until it has answered, the session gives
 * access to nothing.
 */
export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;
  /** The requests to providers that are under way, by session. */
  readonly #asking = new Map<string, Promise<Refusal | undefined>>();

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
  }

  /** Whether people sign in at a provider. The page then takes no server keys. */
  get takesPeople(): boolean {
    return this.#options.vouching !== undefined;
  }

  /**
   * The server key that the cookie of a request stands for, or a refusal if the session has ended. Undefined for a request without a
   * cookie, and for a request that does not come from the console's page.
   *
   * `confirmed` checks later whether the session is still open. All sessions of a key end when the key ends or its role changes.
   * @param secure whether the cookie was set on a connection over TLS
   */
  keyOf(request: ConsoleRequest, origins: Pick<Origins, 'isOwn'>, secure: boolean): ServerKey | Refusal | undefined {
    if (!isFromConsole(request, origins)) return undefined;
    if (cookieValue(request.cookie, cookieName(secure)) === undefined) return undefined;
    const { keys } = this.#options;
    const held = this.heldBy(request.cookie, secure);
    const isOfPerson = held !== undefined && PERSON_ID.test(held.operator);
    if (held !== undefined && isOfPerson !== this.takesPeople) return refuseEnded();
    if (!isOfPerson && !keys.isKnown)
      return refuse('store_unavailable', { message: 'The server keys were not read yet: try again.', retryAfterMs: 1000 });
    if (held === undefined) return refuseEnded();
    const { id, endsAt, role, operator } = held;
    const session = { id, endsAt, says: request.console, confirmedUntil: 0 };
    if (isOfPerson) {
      const known = roles.find((each) => each === role);
      if (known === undefined) return refuseEnded();
      return { id: operator, isPerson: true, name: operator, scopes: ['admin'], role: known, game: undefined, console: session };
    }
    const key = keys.byId(operator);
    if (key instanceof BadKey) return refuseBadKey(key);
    return key.role === role ? { ...key, console: session } : refuseEnded();
  }

  /**
   * The verified content of a browser's cookie, whether or not its session is still open. Undefined without a cookie that this service has
   * signed.
   */
  heldBy(cookies: string, secure: boolean): Held | undefined {
    const { signer, now } = this.#options;
    const claims = signer.verify('console', cookieValue(cookies, cookieName(secure)) ?? '', now());
    if (claims === undefined) return undefined;
    const [role = '', id = ''] = claims.id.split('.');
    return { operator: claims.subject, id, role, endsAt: claims.expiresAt };
  }

  /** The key, with the state of its session in Redis, or a refusal if the session has ended. */
  async confirmed(key: ServerKey, session: ConsoleSession): Promise<ServerKey | Refusal> {
    const found = await this.#read(key.id, session.id);
    if (found === undefined) return refuseEnded();
    if (found.askedAt !== undefined && this.#options.now() >= found.askedAt + ASK_EVERY_MS) {
      const refusal = await this.#askOnce(key, session.id);
      if (refusal !== undefined) return refusal;
    }
    return { ...key, console: { ...session, confirmedUntil: found.confirmedUntil } };
  }

  async #read(operator: string, id: string) {
    const keys = { sessions: consoleSessionsKey(operator) };
    const [word, confirmedUntil, askedAt = '', held = ''] = await this.#options.scripts.run(readScript, keys, { id });
    if (word === 'ended') return undefined;
    return { confirmedUntil: Number(confirmedUntil), askedAt: askedAt === '' ? undefined : Number(askedAt), held };
  }

  /** Like `#ask`, but at most once at a time for each session in this process: a view sends many requests together. */
  #askOnce(key: ServerKey, id: string): Promise<Refusal | undefined> {
    let under = this.#asking.get(id);
    if (under === undefined) {
      under = this.#ask(key, id).finally(() => this.#asking.delete(id));
      this.#asking.set(id, under);
    }
    return under;
  }

  /**
   * Asks the provider whether the person still has the role of the session. If another process is asking, waits for that process, because a
   * provider may give each refresh token only once.
   * @returns the refusal if the session ended, or nobody has an answer yet
   */
  async #ask(key: ServerKey, id: string): Promise<Refusal | undefined> {
    const { scripts, vouching, now } = this.#options;
    const [sessions, asking] = [consoleSessionsKey(key.id), askingKey(key.id, id)];
    for (let waited = 0; waited < ASKING_MS; waited += WAIT_MS) {
      const found = await this.#read(key.id, id);
      if (found === undefined) return refuseEnded();
      if (now() < found.askedAt! + ASK_EVERY_MS) return undefined;
      const [word] = await scripts.run(askScript, { asking }, { askingMs: ASKING_MS });
      if (word === 'ask') {
        const note = (said: string) => scripts.run(saidScript, { sessions, asking }, { id, said });
        try {
          const answer = await vouching?.again(key.id, found.held);
          // As with a server key, a session ends when its person's role changes.
          const stays = answer !== undefined && answer.role === key.role;
          await note(stays ? `${now()} ${answer.held}` : 'ended');
          return stays ? undefined : refuseEnded();
        } catch (error) {
          await note('');
          if (!(error instanceof Refusal)) throw error;
          if (error.code !== 'app_store_unavailable') return refuseEnded();
          return refuse('store_unavailable', { message: 'The provider of your sign-in does not answer: try again.', retryAfterMs: 1000 });
        }
      }
      await pause(WAIT_MS);
    }
    return refuse('store_unavailable', { message: 'The provider of your sign-in does not answer: try again.', retryAfterMs: 1000 });
  }

  /**
   * Starts a session. The key was just typed, so the session is confirmed for CONFIRMED_MS.
   * @returns its token, its end and the end of the confirmation, in milliseconds since 1970
   */
  start({ id, role = 'admin' }: Pick<ServerKey, 'id' | 'role'>): Promise<Started> {
    return this.#start(id, role, this.#options.now() + CONFIRMED_MS, '');
  }

  /**
   * Starts a session of a person whose groups the provider has just named.
   * @param authenticatedAt when the person last proved the identity at the provider, in milliseconds since 1970. Undefined: not known
   * @param held the data with which the provider can be asked again
   */
  startOf(person: string, role: Role, authenticatedAt: number | undefined, held: string): Promise<Started> {
    return this.#start(person, role, (authenticatedAt ?? -CONFIRMED_MS) + CONFIRMED_MS, ` ${this.#options.now()} ${held}`);
  }

  async #start(operator: string, role: Role, confirmed: number, asked: string): Promise<Started> {
    const { scripts, signer, now } = this.#options;
    const [id, issuedAt] = [randomBytes(16).toString('base64url'), now()];
    const [endsAt, confirmedUntil] = [issuedAt + CONSOLE_SESSION_MS, Math.max(0, Math.min(confirmed, issuedAt + CONFIRMED_MS))];
    const args = { id, endsAt, confirmedUntil, asked, most: MOST_SESSIONS };
    await scripts.run(startScript, { sessions: consoleSessionsKey(operator) }, args);
    const token = signer.sign('console', { subject: operator, id: `${role}.${id}`, issuedAt, expiresAt: endsAt });
    return { token, endsAt, confirmedUntil };
  }

  /**
   * Notes that the operator has typed the key once more.
   * @returns until when changes that cannot be undone are allowed, in milliseconds since 1970, or the refusal if the session has ended
   */
  async confirm(operator: string, session: Pick<ConsoleSession, 'id'>): Promise<number | Refusal<'bad_key'>> {
    const { scripts, now } = this.#options;
    const confirmedUntil = now() + CONFIRMED_MS;
    const args = { id: session.id, confirmedUntil };
    const [word] = await scripts.run(confirmScript, { sessions: consoleSessionsKey(operator) }, args);
    return word === 'confirmed' ? confirmedUntil : refuseEnded();
  }

  async end(operator: string, session: Pick<ConsoleSession, 'id'>): Promise<void> {
    await this.#options.scripts.run(endScript, { sessions: consoleSessionsKey(operator) }, { id: session.id });
  }
}

interface Started {
  readonly token: string;
  readonly endsAt: number;
  readonly confirmedUntil: number;
}

/**
 * Whether a request comes from a page of the service's own origin. The cookie's SameSite=Strict alone would also accept requests from pages
 * on every other port and every sibling domain. Browsers send Sec-Fetch-Site over TLS and to loopback addresses; elsewhere Origin and the
 * header x-console have to suffice.
 */
export function isFromConsole(
  { console, origin, host, fetchSite }: Omit<ConsoleRequest, 'cookie'>,
  origins: Pick<Origins, 'isOwn'>,
): boolean {
  return isFromOwnPage({ console, fetchSite }) && origins.isOwn(origin, host);
}

/**
 * Whether the console's page sent the request, as far as the browser's headers tell. Only the console's own origin can send x-console,
 * because no preflight allows it. If `isFromConsole` is false for such a request, a proxy has changed the Host header.
 */
export function isFromOwnPage({ console, fetchSite }: Pick<ConsoleRequest, 'console' | 'fetchSite'>): boolean {
  return console !== '' && (fetchSite === '' || fetchSite === 'same-origin');
}

export function refuseRewrittenHost({ origin, host }: Pick<ConsoleRequest, 'origin' | 'host'>): Refusal<'cross_site'> {
  const message =
    `This page is at ${origin.slice(0, MOST_SHOWN)}, but the request came to the host ${host}. Let the proxy pass the Host header on with its port ` +
    '(nginx: proxy_set_header Host $http_host), or set PUBLIC_URL to the address of this page.';
  return refuse('cross_site', { message });
}

/** The most characters of an Origin header that a message shows: room for the longest host name. */
const MOST_SHOWN = 270;

function refuseEnded(): Refusal<'bad_key'> {
  return refuse('bad_key', { message: 'This session of the console has ended: sign in again.' });
}

/** The prefix keeps a sibling domain, or a page over plain http, from setting the cookie (RFC 6265bis, section 4.1.3.2). */
const cookieName = (secure: boolean): string => (secure ? '__Host-svc_console' : 'svc_console');

/** The Set-Cookie value that carries a session's token. Without a token it deletes the cookie. */
export function consoleCookie(token: string, secure: boolean): string {
  const life = token === '' ? 0 : CONSOLE_SESSION_MS / 1000;
  return `${cookieName(secure)}=${token}; Path=/; Max-Age=${life}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}
