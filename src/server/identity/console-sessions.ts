import { randomBytes } from 'node:crypto';
import { refuse, Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { cookieValue } from './cookies.ts';
import { refuseBadKey } from './key-check.ts';
import { BadKey, type KeyRing } from './key-ring.ts';
import type { Origins } from './origin.ts';
import type { ConsoleSession, ServerKey } from './server-keys.ts';
import type { TokenSigner } from './signed-token.ts';

/** Milliseconds after which a session of the console ends, even if it is in use: nobody stays signed in overnight. */
export const CONSOLE_SESSION_MS = 3_600_000;

/** Milliseconds after typing the key in which an operator may make changes that cannot be undone. */
export const CONFIRMED_MS = 300_000;

/** The most open sessions of one server key. A further sign-in ends the oldest session, so that the holder of a key cannot fill Redis. */
const MOST_SESSIONS = 20;

/**
 * The Redis key of a hash: the id of each session of a server key → when the session ends, and until when its operator counts as having
 * typed the key.
 */
export const consoleSessionsKey = (keyId: string): string => `{console:${keyId}}`;

const startScript = defineScript({
  file: new URL('start-console-session.lua', import.meta.url),
  keys: ['sessions'],
  args: ['id', 'endsAt', 'confirmedUntil', 'most'],
  answers: ['started'],
});

/**
 * Tells whether a session of the console is open, and until when its operator may make changes that cannot be undone. Answers
 * open(confirmed_until), ended.
 */
const readScript = defineScript({
  name: 'identity/read-console-session',
  lua: `local ends, confirmed = string.match(redis.call('HGET', sessions, id) or '', '^(%d+) (%d+)$')
    if not ends or tonumber(ends) <= tonumber(now) then return {'ended'} end
    return {'open', confirmed}`,
  keys: ['sessions'],
  args: ['id'],
  answers: ['open', 'ended'],
  readOnly: true,
});

/** Notes that an operator in a session of the console has typed the server key once more. */
const confirmScript = defineScript({
  name: 'identity/confirm-console-session',
  lua: `local ends = string.match(redis.call('HGET', sessions, id) or '', '^(%d+) ')
    if not ends or tonumber(ends) <= tonumber(now) then return {'ended'} end
    redis.call('HSET', sessions, id, ends .. ' ' .. confirmed_until)
    return {'confirmed'}`,
  keys: ['sessions'],
  args: ['id', 'confirmedUntil'],
  answers: ['confirmed', 'ended'],
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

/** What a session cookie of the console says, once its signature was verified. */
interface Held {
  readonly keyId: string;
  readonly id: string;
  readonly role: string;
  readonly endsAt: number;
}

interface ConsoleSessionsOptions {
  readonly signer: TokenSigner;
  readonly keys: Pick<KeyRing, 'isKnown' | 'byId'>;
  readonly scripts: ScriptRunner;
  /** The present time, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * The sessions of operators who typed a key into the console.
 *
 * The cookie is a signed token with the id of the key and of the session. So a forged cookie costs no trip to Redis, and the request counts
 * against the limits of the key before its body is read. The signed token does not prove that the session is open. A hash in Redis lists
 * the open sessions, so that a sign-out also ends a copy of the cookie. A session that Redis loses has ended.
 */
export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
  }

  /**
   * The key for which the cookie of a request stands, or the refusal of a session that has ended. Undefined for a request without a cookie,
   * and for a request that does not come from the console's page.
   *
   * Whether the session is still open is checked later, by `confirmed`. All sessions of a key end when the key ends or its role changes.
   * @param secure whether the cookie was set on a connection over TLS
   */
  keyOf(request: ConsoleRequest, origins: Pick<Origins, 'isOwn'>, secure: boolean): ServerKey | Refusal | undefined {
    if (!isFromConsole(request, origins)) return undefined;
    if (cookieValue(request.cookie, cookieName(secure)) === undefined) return undefined;
    const { keys } = this.#options;
    if (!keys.isKnown) return refuse('store_unavailable', { message: 'The server keys were not read yet: try again.', retryAfterMs: 1000 });
    const held = this.heldBy(request.cookie, secure);
    if (held === undefined) return refuseEnded();
    const key = keys.byId(held.keyId);
    if (key instanceof BadKey) return refuseBadKey(key);
    if (key.role !== held.role) return refuseEnded();
    return { ...key, console: { id: held.id, endsAt: held.endsAt, says: request.console, confirmedUntil: 0 } };
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
    return { keyId: claims.subject, id, role, endsAt: claims.expiresAt };
  }

  /** The key, with the state of its session as Redis has it, or the refusal if the session has ended. */
  async confirmed(key: ServerKey, session: ConsoleSession): Promise<ServerKey | Refusal> {
    const { scripts } = this.#options;
    const [word, confirmedUntil] = await scripts.run(readScript, { sessions: consoleSessionsKey(key.id) }, { id: session.id });
    return word === 'open' ? { ...key, console: { ...session, confirmedUntil: Number(confirmedUntil) } } : refuseEnded();
  }

  /**
   * Starts a session. The key was just typed, so the session is confirmed for CONFIRMED_MS.
   * @returns its token, its end and the end of the confirmation, in milliseconds since 1970
   */
  async start({ id: keyId, role = 'admin' }: ServerKey): Promise<{ token: string; endsAt: number; confirmedUntil: number }> {
    const { scripts, signer, now } = this.#options;
    const [id, issuedAt] = [randomBytes(16).toString('base64url'), now()];
    const [endsAt, confirmedUntil] = [issuedAt + CONSOLE_SESSION_MS, issuedAt + CONFIRMED_MS];
    const args = { id, endsAt, confirmedUntil, most: MOST_SESSIONS };
    await scripts.run(startScript, { sessions: consoleSessionsKey(keyId) }, args);
    const token = signer.sign('console', { subject: keyId, id: `${role}.${id}`, issuedAt, expiresAt: endsAt });
    return { token, endsAt, confirmedUntil };
  }

  /**
   * Notes that the operator typed the key once more.
   * @returns until when changes that cannot be undone are allowed, in milliseconds since 1970, or the refusal if the session has ended
   */
  async confirm(keyId: string, session: Pick<ConsoleSession, 'id'>): Promise<number | Refusal<'bad_key'>> {
    const { scripts, now } = this.#options;
    const confirmedUntil = now() + CONFIRMED_MS;
    const args = { id: session.id, confirmedUntil };
    const [word] = await scripts.run(confirmScript, { sessions: consoleSessionsKey(keyId) }, args);
    return word === 'confirmed' ? confirmedUntil : refuseEnded();
  }

  async end(keyId: string, session: Pick<ConsoleSession, 'id'>): Promise<void> {
    await this.#options.scripts.run(endScript, { sessions: consoleSessionsKey(keyId) }, { id: session.id });
  }
}

/**
 * Whether a request comes from a page of the service's own origin. SameSite=Strict alone would also accept requests from pages on every
 * other port and every sibling domain. Browsers send Sec-Fetch-Site over TLS and to loopback addresses; elsewhere Origin and the header
 * x-console have to suffice.
 */
export function isFromConsole(
  { console, origin, host, fetchSite }: Omit<ConsoleRequest, 'cookie'>,
  origins: Pick<Origins, 'isOwn'>,
): boolean {
  return isFromOwnPage({ console, fetchSite }) && origins.isOwn(origin, host);
}

/**
 * Whether the console's page sent the request, by what the browser says. Only the console's own origin can send x-console, because no
 * preflight allows it. If `isFromConsole` is false all the same, a proxy has changed the Host header.
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
