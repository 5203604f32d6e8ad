import { randomBytes } from 'node:crypto';
import { SESSION_LIFE_MS, type SessionKind } from '../../accounts/session-list.ts';
import { cookieValue, setCookie, type CookieScope } from './cookies.ts';
import { detached } from '../detached-text.ts';
import { LruCache } from '../lru-cache.ts';
import type { TokenClaims, TokenSigner } from './signed-token.ts';

export const SESSION_COOKIE = 'svc_session';

/** A session, as its token describes it. Only a script can tell whether the session was signed out since the token was issued. */
export interface Session {
  readonly token: string;
  readonly accountId: string;
  /**
   * `<generation>.<random>`: the generation of the account's sessions in which this session started
   * (`accounts/check-caller.lua`), and a random part that makes the id unique.
   */
  readonly id: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /**
   * How the session started. `pairing`: the device that claimed the pairing has chosen the account. Tokens of older versions say `login` in
   * place of `store`.
   */
  readonly kind: SessionKind;
  /** A new token for the same session, once the session is past half its life. */
  readonly renewal: StartedSession | undefined;
}

/** A signed token, and the end of the session's life in milliseconds since 1970, rounded to whole seconds. */
export interface StartedSession {
  readonly token: string;
  readonly expiresAt: number;
}

interface Remembered {
  readonly token: string;
  /**
   * The session of the token. Undefined: the session is known to have ended. Such an entry saves each request with the token a round trip
   * to Redis.
   */
  readonly session: Session | undefined;
  readonly until: number;
}

/** The data that a new session needs: the account, and the generation of the account's sessions. */
export interface SessionStart {
  readonly accountId: string;
  /** The present generation of the account's sessions, from the answer of a script. Signing out everywhere raises the generation. */
  readonly generation: string;
  readonly kind: SessionKind;
  /** The id (`sessionIdOf`), only for a session that is put on the account's list of sessions before it starts. */
  readonly id?: string;
}

/**
 * The id of a session of this generation. The account's owner may see it, because the id without the signature is no token.
 * @param name makes the id unique: 16 characters of base64url
 */
export function sessionIdOf(generation: string, name = randomBytes(12).toString('base64url')): string {
  return `${generation}.${name}`;
}

/**
 * Sessions are signed tokens, which clients send as a cookie or as a bearer. Redis keeps only the ids of signed-out sessions.
 *
 * The service remembers verified tokens: verifying a token takes 7 µs of CPU, as much as a whole request of bare uWS, and remembering it
 * takes 1 µs. `npm run bench:micro` measures both ("cookie: cached", "cookie: not cached").
 */
export class Sessions {
  readonly #signer: TokenSigner;
  readonly #now: () => number;
  /** The remembered tokens, by their last characters (`endOf`). An entry is used only if the whole token is the same. */
  readonly #remembered = new LruCache<string, Remembered>(REMEMBERED_TOKENS);

  constructor(signer: TokenSigner, options: { now: () => number }) {
    this.#signer = signer;
    this.#now = options.now;
  }

  start({ accountId, generation, kind, id = sessionIdOf(generation) }: SessionStart): StartedSession {
    const now = this.#now();
    return this.#signed({ subject: accountId, id, issuedAt: now, expiresAt: now + SESSION_LIFE_MS, kind });
  }

  /** The session that the cookie in a Cookie header names. Undefined as with `find`, or without the cookie. */
  ofCookies(header: string): Session | undefined {
    const token = cookieValue(header, SESSION_COOKIE);
    return token === undefined ? undefined : this.find(token);
  }

  /** The session of a token. Undefined if the token does not verify, or if this process knows that its session has ended. */
  find(token: string): Session | undefined {
    const remembered = this.#recall(token);
    if (remembered === undefined) return this.#verify(token);
    const { session, until } = remembered;
    if (session === undefined) return undefined;
    const now = this.#now();
    return now < until && now < session.expiresAt ? session : this.#verify(token);
  }

  /** Remembers that the session has ended, so that this process no longer accepts its token. Other processes find that in Redis. */
  markEnded(session: Session): void {
    this.#remember({ token: session.token, session: undefined, until: Infinity });
  }

  /** Whether this process knows that the token's session has ended. False for a token that does not verify. */
  isKnownToHaveEnded(token: string): boolean {
    const remembered = this.#recall(token);
    return remembered !== undefined && remembered.session === undefined;
  }

  #recall(token: string): Remembered | undefined {
    const remembered = this.#remembered.get(endOf(token));
    return remembered?.token === token ? remembered : undefined;
  }

  #remember(remembered: Remembered): void {
    this.#remembered.set(endOf(remembered.token), remembered);
  }

  #verify(token: string): Session | undefined {
    const now = this.#now();
    const claims = this.#signer.verify('session', token, now);
    if (claims === undefined) return undefined;
    const { subject: accountId, id, issuedAt, expiresAt, kind = 'login' } = claims;
    // A copy, because the token is a slice of a header, which clients can make 16 KiB long.
    const kept = detached(token);
    const session: Session = { token: kept, accountId, id, issuedAt, expiresAt, kind, renewal: this.#renewal(claims, now) };
    this.#remember({ token: kept, session, until: now + REMEMBERED_MS });
    return session;
  }

  /** The renewed token keeps the id of the session, and with it the generation. So a sign-out ends both the old and the new token. */
  #renewal(claims: TokenClaims, now: number): StartedSession | undefined {
    if (now < (claims.issuedAt + claims.expiresAt) / 2) return undefined;
    return this.#signed({ ...claims, issuedAt: now, expiresAt: now + SESSION_LIFE_MS });
  }

  #signed(claims: TokenClaims): StartedSession {
    return { token: this.#signer.sign('session', claims), expiresAt: Math.floor(claims.expiresAt / 1000) * 1000 };
  }
}

/**
 * The last characters of a token, which belong to its signature. They are the key under which a token is remembered. Hashing 22 characters
 * and comparing the rest is 0.3 µs faster than hashing all 250.
 */
function endOf(token: string): string {
  return token.slice(-22);
}

/** The Set-Cookie values that carry a session's token. */
export function sessionCookie(token: string, scope: CookieScope): string[] {
  return setCookie(SESSION_COOKIE, token, { maxAgeSeconds: SESSION_LIFE_MS / 1000 }, scope);
}

/** The Set-Cookie values that delete the session's cookie. */
export function clearedSessionCookie(scope: CookieScope): string[] {
  return setCookie(SESSION_COOKIE, '', { maxAgeSeconds: 0 }, scope);
}

/**
 * The longest time, in milliseconds, for which a verified token is accepted without another check. After that a token whose key was removed
 * from SESSION_KEYS is refused.
 */
const REMEMBERED_MS = 60_000;

/** The most remembered tokens: a few MB. */
const REMEMBERED_TOKENS = 20_000;
