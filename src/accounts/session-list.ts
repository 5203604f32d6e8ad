import { pairsOf } from '../redis/reply-pairs.ts';
import { standingLibrary } from './standing.ts';
import { defineLibrary, defineScript } from '../redis/script.ts';
import { defineFormat, letters, optional, rest, whole, word, type Parsed } from '../redis/text-format.ts';
import type { CallerScripts, ScriptCaller } from './caller-scripts.ts';
import { standingKey } from './account-keys.ts';
import { signInLibrary } from './sign-ins.ts';
import { runWhereItIs } from './standing-reader.ts';
import { checksCaller } from './prologues.ts';

/**
 * How long a session lasts after its start or its last renewal: 30 days. The docs tell operators to keep an old key of SESSION_KEYS for
 * this long.
 */
export const SESSION_LIFE_MS = 30 * 86_400_000;

/** How a session started: by an installId, a pairing, or a sign-in with the app store. */
export type SessionKind = 'login' | 'pairing' | 'store';

/**
 * The kinds of sessions in an account's list. A session of a login is not listed, because a login writes nothing. `passed`: a pairing that
 * was claimed with the session of another pairing. The owner of the account sees no difference, but when a list is full, the `passed`
 * sessions end first.
 */
export type ListedKind = Exclude<SessionKind, 'login'> | 'passed';

const LISTED_KINDS: readonly string[] = ['pairing', 'store', 'passed'] satisfies ListedKind[];

/** The most sessions in an account's list: enough for one person's browsers. */
export const MOST_SESSIONS = 50;

/** The most characters of the User-Agent header that an entry keeps, for people to read. */
export const USER_AGENT_LIMIT = 200;

/** Shortest time between two updates of a session's last use, in milliseconds. */
const REST_MS = 3_600_000;

/** The format of an entry in the list of sessions. Times are milliseconds since 1970. */
export const sessionEntry = defineFormat('session', '<kind>[:<signIn>] <createdAt> <lastSeenAt> <endsAt> <userAgent>', {
  /** The kind of the session: a `ListedKind`. */
  kind: letters,
  /**
   * The sign-in with which the session began. For the session of a pairing: the sign-in of the session that claimed the pairing. Older
   * sessions name none.
   */
  signIn: optional(word),
  createdAt: whole,
  /** When the session was last used, accurate to the hour. */
  lastSeenAt: whole,
  endsAt: whole,
  /** The browser's User-Agent: any text. */
  userAgent: rest,
});

/** Lua functions for scripts that read or change the list of sessions. */
export const sessionLibrary = defineLibrary(new URL('session-list.lua', import.meta.url), {
  formats: [sessionEntry],
  constants: { MOST_SESSIONS },
});

/** The Redis key of the list of an account's sessions that began by a pairing or by a sign-in with the app store. */
export function sessionsKey(accountId: string): string {
  return `{${accountId}}:sessions`;
}

const listScript = defineScript({
  file: new URL('list-session.lua', import.meta.url),
  keys: ['standing', 'sessions'],
  args: ['id', 'kind', 'signIn', 'provider', 'createdAt', 'endsAt', 'userAgent', 'lifeSeconds'],
  answers: ['open', 'closed', 'moving'],
  library: [standingLibrary, signInLibrary, sessionLibrary],
});

const noteScript = defineScript({
  file: new URL('note-session.lua', import.meta.url),
  keys: ['sessions'],
  args: ['id', 'kind', 'createdAt', 'at', 'endsAt', 'userAgent', 'restMs', 'lifeSeconds'],
  answers: ['noted'],
  prologue: checksCaller,
  library: sessionLibrary,
});

const readScript = defineScript({
  file: new URL('read-sessions.lua', import.meta.url),
  keys: ['sessions'],
  answers: ['sessions'],
  prologue: checksCaller,
  library: sessionLibrary,
  readOnly: true,
});

export interface NewSession {
  readonly accountId: string;
  readonly id: string;
  readonly kind: ListedKind;
  /** The sign-in with which the session began, or the sign-in of the session that claimed the pairing. '' or undefined: none. */
  readonly signIn?: string | undefined;
  /** The sign-in's provider, as account ids are computed from it (`Provider.key`). */
  readonly provider?: string;
  readonly userAgent: string;
}

/**
 * Adds a session to the account's list before the user gets the session's token, so that every session of a `ListedKind` is listed. Adding
 * it again changes nothing.
 * @returns `closed`: the account moved, was deleted, or has no such sign-in any more
 * @throws Refusal `store_unavailable` if the account is moving for longer than a request waits
 */
export async function listSession(
  { accountId, id, kind, signIn = '', provider = '', userAgent }: NewSession,
  { scripts, now }: { readonly scripts: CallerScripts; readonly now: () => number },
): Promise<'open' | 'closed'> {
  const keys = { standing: standingKey(accountId), sessions: sessionsKey(accountId) };
  const args = {
    id,
    kind,
    signIn,
    provider,
    ...timesOf(now()),
    userAgent: userAgent.slice(0, USER_AGENT_LIMIT),
    lifeSeconds: SESSION_LIFE_MS / 1000,
  };
  const { word } = await runWhereItIs(accountId, scripts, () => scripts.run(listScript, keys, args));
  return word;
}

/** The start and the end of a session that begins now, in milliseconds since 1970. */
export function timesOf(now: number): { createdAt: number; endsAt: number } {
  return { createdAt: now, endsAt: now + SESSION_LIFE_MS };
}

/** A session as its token describes it. Times are milliseconds since 1970. */
interface Seen {
  readonly id: string;
  readonly kind: SessionKind;
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly renewal: { readonly expiresAt: number } | undefined;
}

/**
 * Records the use of the caller's session in the account's list, at most once an hour. Call it before the user gets a renewed token,
 * because the token is valid for longer than the old entry says. Adds a session that an older version of the service started. Does nothing
 * for a login.
 * @throws as `runAs`
 */
export async function noteSession(
  caller: ScriptCaller & { readonly accountId: string; readonly session: Seen | undefined },
  userAgent: string,
  { scripts, now }: { readonly scripts: CallerScripts; readonly now: () => number },
): Promise<void> {
  const { accountId, session } = caller;
  if (session === undefined || session.kind === 'login') return;
  const { id, kind, issuedAt, expiresAt, renewal } = session;
  await scripts.runAs(
    caller,
    noteScript,
    { sessions: sessionsKey(accountId) },
    {
      id,
      kind,
      createdAt: issuedAt,
      at: now(),
      endsAt: (renewal ?? { expiresAt }).expiresAt,
      userAgent: userAgent.slice(0, USER_AGENT_LIMIT),
      restMs: REST_MS,
      lifeSeconds: SESSION_LIFE_MS / 1000,
    },
  );
}

export interface ListedSession extends Omit<Parsed<typeof sessionEntry>, 'kind'> {
  readonly id: string;
  readonly kind: SessionKind;
}

const readEntry = defineScript({
  name: 'accounts/read-session',
  lua: `return {'entry', redis.call('HGET', sessions, id) or ''}`,
  keys: ['sessions'],
  args: ['id'],
  answers: ['entry'],
  prologue: checksCaller,
  readOnly: true,
});

/** The sign-in with which the caller's session began. '': none, as with a login. @throws as `runAs` */
export async function signInOf(
  caller: ScriptCaller & { readonly accountId: string; readonly session: Pick<Seen, 'id' | 'kind'> | undefined },
  scripts: CallerScripts,
): Promise<string> {
  const { accountId, session } = caller;
  if (session === undefined || session.kind === 'login') return '';
  const [, text] = await scripts.runAs(caller, readEntry, { sessions: sessionsKey(accountId) }, { id: session.id });
  return parseSession(session.id, text!)?.signIn ?? '';
}

/** The sessions in the list of the caller's account that have not ended, in no order. */
export async function listedSessions(
  caller: ScriptCaller & { readonly accountId: string },
  { scripts }: { readonly scripts: CallerScripts },
): Promise<ListedSession[]> {
  const [, ...words] = await scripts.runAs(caller, readScript, { sessions: sessionsKey(caller.accountId) }, {});
  return pairsOf(words).flatMap(([id, text]) => parseSession(id, text) ?? []);
}

/** Parses an entry of the list of sessions. Undefined: the text is not an entry. */
export function parseSession(id: string, text: string): ListedSession | undefined {
  const entry = sessionEntry.parse(text);
  if (entry === undefined || !LISTED_KINDS.includes(entry.kind)) return undefined;
  return { ...entry, id, kind: entry.kind === 'store' ? 'store' : 'pairing' };
}
