import { randomBytes } from 'node:crypto';
import { SESSION_LIFE_MS, type SessionKind } from '../../accounts/session-list.ts';
import { cookieValue, setCookie, type CookieScope } from './cookies.ts';
import { copyOf } from '../copy.ts';
import { LruCache } from '../lru-cache.ts';
import type { TokenClaims, TokenSigner } from './signed-token.ts';

export const SESSION_COOKIE = 'svc_session';

/** A session as its token describes it. Only a script can check whether it has been signed out since. */
export interface Session {
  readonly token: string;
  readonly accountId: string;
  /**
   * `<generation>.<random>`: the generation of the account's sessions in which this session started
   * (`accounts/prologue-check.lua`), and a random part that makes the id unique.
   */
  readonly id: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** `pairing`: the device that claimed the pairing chose the account. Tokens of older versions say `login` for `store` too. */
  readonly kind: SessionKind;
  /** A new token for the same session, once past half its life. */
  readonly renewal: StartedSession | undefined;
}

/** A signed token, and the end of its life: milliseconds since 1970, whole seconds. */
export interface StartedSession {
  readonly token: string;
  readonly expiresAt: number;
}

interface Remembered {
  readonly token: string;
  /** Undefined: the session has ended. Without that mark, the same token would cost a round trip each time. */
  readonly session: Session | undefined;
  readonly until: number;
}

/** The account and the generation of a new session. */
export interface SessionStart {
  readonly accountId: string;
  /** The present generation of the account's sessions, from the answer of a script. */
  readonly generation: string;
  readonly kind: SessionKind;
  /** From `sessionIdOf`, for a session that is listed before it starts. */
  readonly id?: string;
}

/**
 * The id of a session of this generation. The account's owner may see it, because an id without the signature is no token.
 * @param name makes the id unique: 16 characters of base64url
 */
export function sessionIdOf(generation: string, name = randomBytes(12).toString('base64url')): string {
  return `${generation}.${name}`;
}

/**
 * Sessions are signed tokens, which clients send as a cookie or as a bearer. Redis keeps only the ids of signed-out sessions.
 *
 * The service remembers verified tokens: to verify one takes 7 µs of CPU, as much as a whole request of bare uWS, and to remember it 1 µs.
 * `npm run bench:micro` measures both ("cookie: cached", "cookie: not cached").
 */
export class Sessions {
  readonly #signer: TokenSigner;
  readonly #now: () => number;
  /** Keyed by `endOf` the token. An entry counts only if the whole token is the same. */
  readonly #remembered = new LruCache<string, Remembered>(REMEMBERED_TOKENS);

  constructor(signer: TokenSigner, options: { now: () => number }) {
    this.#signer = signer;
    this.#now = options.now;
  }

  start({ accountId, generation, kind, id = sessionIdOf(generation) }: SessionStart): StartedSession {
    const now = this.#now();
    return this.#signed({ subject: accountId, id, issuedAt: now, expiresAt: now + SESSION_LIFE_MS, kind });
  }

  /** The session of a Cookie header, as `find` returns it. */
  ofCookies(header: string): Session | undefined {
    const token = cookieValue(header, SESSION_COOKIE);
    return token === undefined ? undefined : this.find(token);
  }

  /** The session of a token. Undefined if the token does not verify or its session is known to have ended. */
  find(token: string): Session | undefined {
    const remembered = this.#recall(token);
    if (remembered === undefined) return this.#verify(token);
    const { session, until } = remembered;
    if (session === undefined) return undefined;
    const now = this.#now();
    return now < until && now < session.expiresAt ? session : this.#verify(token);
  }

  /** Remembers that the session has ended, so that its token counts as no session here. Other processes find the mark in Redis. */
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
    // The token is a part of a header, which clients can fill with 16 KiB.
    const kept = copyOf(token);
    const session: Session = { token: kept, accountId, id, issuedAt, expiresAt, kind, renewal: this.#renewal(claims, now) };
    this.#remember({ token: kept, session, until: now + REMEMBERED_MS });
    return session;
  }

  /** The new token keeps the session's id, and with it the generation: signing out ends the old and the new token. */
  #renewal(claims: TokenClaims, now: number): StartedSession | undefined {
    if (now < (claims.issuedAt + claims.expiresAt) / 2) return undefined;
    return this.#signed({ ...claims, issuedAt: now, expiresAt: now + SESSION_LIFE_MS });
  }

  #signed(claims: TokenClaims): StartedSession {
    return { token: this.#signer.sign('session', claims), expiresAt: Math.floor(claims.expiresAt / 1000) * 1000 };
  }
}

/**
 * The last characters of a token, which belong to its signature. To hash all 250 characters for the look-up takes 0.3 µs more than
 * to hash these and to compare the rest.
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

/** Bounds how long a token could still count after its key left SESSION_KEYS. */
const REMEMBERED_MS = 60_000;

/** Bounds the memory for remembered tokens to a few MB. */
const REMEMBERED_TOKENS = 20_000;
