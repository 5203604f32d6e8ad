import { randomBytes } from 'node:crypto';
import { cookieValue, setCookie } from './cookies.ts';
import { Recent } from '../recent.ts';
import type { TokenClaims, TokenSigner } from './signed-token.ts';

export const SESSION_COOKIE = 'svc_session';

/** 30 days. */
export const SESSION_LIFE_MS = 30 * 86_400_000;

/** A signed-in caller, as the cookie says. Whether it was signed out since, only the scripts can tell. */
export interface Session {
  readonly token: string;
  readonly accountId: string;
  /** "<generation>.<random>": the account's generation at the start of the session (`redis/script.ts`), and what makes the id unique. */
  readonly id: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** It came from a pairing: whoever claimed that chose the account. */
  readonly isPaired: boolean;
  /** The token that carries the session on, once past half its life. */
  renewal: string | undefined;
}

type Remembered = { session: Session; until: number } | typeof ENDED;

/** What a session starts from. */
export interface SessionStart {
  readonly accountId: string;
  /** The account's generation of sessions, as the script that let the caller in answered it. */
  readonly generation: string;
  readonly isPaired?: boolean;
}

/** A cookie that was signed out: remembered as such, so that sending it again costs no second round trip. */
const ENDED = Symbol('ended');

/**
 * Sessions are signed cookies; Redis keeps only the ids of those that were signed out.
 * A jose check costs some hundred microseconds, so a cookie that verified a moment ago is remembered.
 */
export class Sessions {
  readonly #signer: TokenSigner;
  readonly #now: () => number;
  readonly #remembered = new Recent<string, Remembered>(REMEMBERED_COOKIES);

  constructor(signer: TokenSigner, options: { now: () => number }) {
    this.#signer = signer;
    this.#now = options.now;
  }

  /** Signs in. The cookie is the value of a Set-Cookie header. */
  async start({ accountId, generation, isPaired = false }: SessionStart, secure: boolean): Promise<{ cookie: string; expiresAt: number }> {
    const now = this.#now();
    const id = `${generation}.${randomBytes(12).toString('base64url')}`;
    const claims = { subject: accountId, id, issuedAt: now, expiresAt: now + SESSION_LIFE_MS, isPaired };
    return { cookie: sessionCookie(await this.#signer.sign('session', claims), secure), expiresAt: wholeSecond(claims.expiresAt) };
  }

  /** The session that a Cookie header brings, if any. */
  ofCookies(header: string): Session | undefined | Promise<Session | undefined> {
    const token = cookieValue(header, SESSION_COOKIE);
    return token === undefined ? undefined : this.find(token);
  }

  /** The session a cookie value stands for. At once where it is remembered, else after a signature check. */
  find(token: string): Session | undefined | Promise<Session | undefined> {
    const remembered = this.#remembered.get(token);
    if (remembered === ENDED) return undefined;
    const now = this.#now();
    if (remembered !== undefined && now < remembered.until && now < remembered.session.expiresAt) return remembered.session;
    return this.#verify(token);
  }

  /** What a script reported: this session was signed out. */
  forget(session: Session): void {
    this.#remembered.set(session.token, ENDED);
  }

  async #verify(token: string): Promise<Session | undefined> {
    const now = this.#now();
    const claims = await this.#signer.verify('session', token, now);
    if (claims === undefined) return undefined;
    const { subject: accountId, id, issuedAt, expiresAt, isPaired = false } = claims;
    const session: Session = { token, accountId, id, issuedAt, expiresAt, isPaired, renewal: await this.#renewal(claims, now) };
    if (this.#remembered.get(token) === ENDED) return undefined;
    this.#remembered.set(token, { session, until: now + REMEMBERED_MS });
    return session;
  }

  /** The renewed cookie keeps its session's id, and with it the generation: signing out ends both. */
  async #renewal(claims: TokenClaims, now: number): Promise<string | undefined> {
    if (now < (claims.issuedAt + claims.expiresAt) / 2) return undefined;
    return this.#signer.sign('session', { ...claims, issuedAt: now, expiresAt: now + SESSION_LIFE_MS });
  }
}

/** Set-Cookie with a session's token. */
export function sessionCookie(token: string, secure: boolean): string {
  return setCookie(SESSION_COOKIE, token, { maxAgeSeconds: SESSION_LIFE_MS / 1000, secure });
}

/** Set-Cookie that takes the session's cookie away. */
export function clearedSessionCookie(secure: boolean): string {
  return setCookie(SESSION_COOKIE, '', { maxAgeSeconds: 0, secure });
}

/** A minute bounds how long a key taken out of SESSION_KEYS could matter; the number bounds memory to a few MB. */
const REMEMBERED_MS = 60_000;
const REMEMBERED_COOKIES = 20_000;

function wholeSecond(milliseconds: number): number {
  return Math.floor(milliseconds / 1000) * 1000;
}
