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

/** A session ends after this time even if it is in use: nobody stays signed in overnight. */
export const CONSOLE_SESSION_MS = 3_600_000;

/** How long after typing the key an operator may do what cannot be undone. */
export const CONFIRMED_MS = 300_000;

/** Most open sessions of one key. A further sign-in ends the oldest, so that the holder of a key cannot fill Redis. */
const MOST_SESSIONS = 20;

/** Hash: a session's id → its end, and until when it is confirmed. */
export const consoleSessionsKey = (keyId: string): string => `{console:${keyId}}`;

const startScript = defineScript({
  file: new URL('start-console-session.lua', import.meta.url),
  keys: ['sessions'],
  args: ['id', 'endsAt', 'confirmedUntil', 'most'],
  answers: ['started'],
});

const readScript = defineScript({
  file: new URL('read-console-session.lua', import.meta.url),
  keys: ['sessions'],
  args: ['id'],
  answers: ['open', 'ended'],
  readOnly: true,
});

const confirmScript = defineScript({
  file: new URL('confirm-console-session.lua', import.meta.url),
  keys: ['sessions'],
  args: ['id', 'confirmedUntil'],
  answers: ['confirmed', 'ended'],
});

const endScript = defineScript({
  file: new URL('end-console-session.lua', import.meta.url),
  keys: ['sessions'],
  args: ['id'],
  answers: ['ended'],
  // If a failover lost a sign-out, a copy of the cookie would be valid again.
  durable: true,
});

/** The parts of a request that the check reads. */
export interface ConsoleRequest {
  readonly cookie: string;
  /** x-console. Only a page of the service's own origin can send it, because a preflight does not allow it to other origins. */
  readonly console: string;
  readonly origin: string;
  readonly host: string;
  /** Sec-Fetch-Site */
  readonly fetchSite: string;
}

/** The content of a cookie. */
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
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * The sessions of operators who typed a key into the console.
 *
 * The cookie is a signed token with the id of the key and of the session. So a forged cookie costs no trip to Redis, and the limits of the
 * key hold before a body is read. The token is no proof that the session is open: a hash in Redis lists the open ones, because a sign-out
 * must end a copy of the cookie too. A session that Redis loses has ended.
 */
export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
  }

  /**
   * The key for which the cookie of a request stands, or the refusal of a session that has ended. Undefined for a request without a cookie,
   * and for one that does not come from the page itself.
   *
   * `confirmed` then tells whether the session is open. All sessions of a key end when the key ends or its role changes.
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

  /** The content of a browser's cookie, whether or not its session is open. Undefined without a cookie that this service has signed. */
  heldBy(cookies: string, secure: boolean): Held | undefined {
    const { signer, now } = this.#options;
    const claims = signer.verify('console', cookieValue(cookies, cookieName(secure)) ?? '', now());
    if (claims === undefined) return undefined;
    const [role = '', id = ''] = claims.id.split('.');
    return { keyId: claims.subject, id, role, endsAt: claims.expiresAt };
  }

  /** The key with the state of its session from Redis, or the refusal of a session that has ended. */
  async confirmed(key: ServerKey, session: ConsoleSession): Promise<ServerKey | Refusal> {
    const { scripts } = this.#options;
    const [word, confirmedUntil] = await scripts.run(readScript, { sessions: consoleSessionsKey(key.id) }, { id: session.id });
    return word === 'open' ? { ...key, console: { ...session, confirmedUntil: Number(confirmedUntil) } } : refuseEnded();
  }

  /** Starts a session, in which the key counts as just typed. @returns its token and its end, in milliseconds since 1970 */
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
   * Notes that the key was typed once more.
   * @returns until when that counts, or the refusal of a session that has ended
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
 * Whether a request comes from a page of the service's own origin. SameSite=Strict alone would let in every other port and every sibling
 * domain. Browsers send Sec-Fetch-Site over TLS and to loopback addresses; elsewhere Origin and the header x-console have to suffice.
 */
export function isFromConsole(
  { console, origin, host, fetchSite }: Omit<ConsoleRequest, 'cookie'>,
  origins: Pick<Origins, 'isOwn'>,
): boolean {
  return isFromOwnPage({ console, fetchSite }) && origins.isOwn(origin, host);
}

/**
 * Whether the page of the console sent the request, by all that the browser says: no preflight allows x-console to another origin. If
 * `isFromConsole` then says no, a proxy has changed the Host header.
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

/** Characters of an Origin header in a message: those of the longest host name. */
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
