import { pairsOf } from '../redis/pairs.ts';
import { standingLibrary } from './standing.ts';
import { defineLibrary, defineScript } from '../redis/script.ts';
import { defineFormat, letters, rest, whole, type Parsed } from '../redis/text-format.ts';
import type { CallerScripts, ScriptCaller } from './caller-scripts.ts';
import { standingKey } from './account-keys.ts';
import { runWhereItIs } from './standing-reader.ts';
import { checksCaller, refusesNobody } from './prologues.ts';

/** 30 days. The docs tell operators to keep an old key of SESSION_KEYS for this long. */
export const SESSION_LIFE_MS = 30 * 86_400_000;

/** How a session started: by an installId, a pairing, or a sign-in with the app store. */
export type SessionKind = 'login' | 'pairing' | 'store';

/**
 * The kinds that `list-session.lua` lists. A login writes nothing, so it is not listed. `passed`: a pairing that was claimed with the
 * session of another pairing. The owner of the account sees no difference, but when a list is full, these sessions end first.
 */
export type ListedKind = Exclude<SessionKind, 'login'> | 'passed';

const LISTED_KINDS: readonly string[] = ['pairing', 'store', 'passed'] satisfies ListedKind[];

/** Most sessions in a list: enough for one person's browsers. */
export const MOST_SESSIONS = 50;

/** Characters of the User-Agent header that are kept, for people to read. */
export const USER_AGENT_LIMIT = 200;

/** Shortest time between two updates of a session's last use. */
const REST_MS = 3_600_000;

/** An entry of the list, by the session's id. Times are milliseconds since 1970. */
export const sessionEntry = defineFormat('session', '<kind> <createdAt> <lastSeenAt> <endsAt> <userAgent>', {
  /** A `ListedKind`. */
  kind: letters,
  createdAt: whole,
  /** Accurate to the hour. */
  lastSeenAt: whole,
  endsAt: whole,
  /** The browser's User-Agent: any text. */
  userAgent: rest,
});

/** Lua functions for the list. */
export const sessionLibrary = defineLibrary(new URL('session-list.lua', import.meta.url), {
  formats: [sessionEntry],
  constants: { MOST_SESSIONS },
});

/** Key of the list of an account's sessions that began by a pairing or by a sign-in with the app store. */
export function sessionsKey(accountId: string): string {
  return `{${accountId}}:sessions`;
}

const listScript = defineScript({
  file: new URL('list-session.lua', import.meta.url),
  keys: ['standing', 'sessions'],
  args: ['id', 'kind', 'createdAt', 'endsAt', 'userAgent', 'lifeSeconds'],
  answers: ['open', 'closed', 'moving'],
  library: [standingLibrary, sessionLibrary],
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
  args: [],
  answers: ['sessions'],
  prologue: checksCaller,
  library: sessionLibrary,
  readOnly: true,
});

const readForOperator = defineScript({
  file: new URL('read-sessions.lua', import.meta.url),
  keys: ['sessions'],
  args: [],
  answers: ['sessions'],
  prologue: refusesNobody,
  library: sessionLibrary,
  readOnly: true,
});

export interface NewSession {
  readonly accountId: string;
  readonly id: string;
  readonly kind: ListedKind;
  readonly userAgent: string;
}

/**
 * Lists a session before its token is handed out, so that every session of these kinds is listed. Listing it again changes nothing.
 * @returns `closed`: the account moved or was deleted
 * @throws Refusal `store_unavailable` if the account is moving for longer than a request waits
 */
export async function listSession(
  { accountId, id, kind, userAgent }: NewSession,
  { scripts, now }: { readonly scripts: CallerScripts; readonly now: () => number },
): Promise<'open' | 'closed'> {
  const keys = { standing: standingKey(accountId), sessions: sessionsKey(accountId) };
  const args = { id, kind, ...timesOf(now()), userAgent: userAgent.slice(0, USER_AGENT_LIMIT), lifeSeconds: SESSION_LIFE_MS / 1000 };
  const { word } = await runWhereItIs(accountId, scripts, () => scripts.run(listScript, keys, args));
  return word;
}

/** The times of a new session. */
export function timesOf(now: number): { createdAt: number; endsAt: number } {
  return { createdAt: now, endsAt: now + SESSION_LIFE_MS };
}

/** A session as its token describes it. */
interface Seen {
  readonly id: string;
  readonly kind: SessionKind;
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly renewal: { readonly expiresAt: number } | undefined;
}

/**
 * Records the use of the caller's session, at most once an hour. This must happen before a renewed token is handed out, because the token
 * outlives the old entry. Lists a session that an older version started. Does nothing for a login.
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

/** The caller's listed sessions that have not ended, in no order. */
export async function listedSessions(
  caller: ScriptCaller & { readonly accountId: string },
  { scripts }: { readonly scripts: CallerScripts },
): Promise<ListedSession[]> {
  const [, ...words] = await scripts.runAs(caller, readScript, { sessions: sessionsKey(caller.accountId) }, {});
  return pairsOf(words).flatMap(([id, text]) => parseSession(id, text) ?? []);
}

/** As `listedSessions`, whatever the standing of the account. @param operator in place of the account's caller */
export async function sessionsForOperator(
  operator: ScriptCaller & { readonly accountId: string },
  { scripts }: { readonly scripts: CallerScripts },
): Promise<ListedSession[]> {
  const [, ...words] = await scripts.runAs(operator, readForOperator, { sessions: sessionsKey(operator.accountId) }, {});
  return pairsOf(words).flatMap(([id, text]) => parseSession(id, text) ?? []);
}

/** Undefined: the text is not an entry. */
export function parseSession(id: string, text: string): ListedSession | undefined {
  const entry = sessionEntry.parse(text);
  if (entry === undefined || !LISTED_KINDS.includes(entry.kind)) return undefined;
  return { ...entry, id, kind: entry.kind === 'store' ? 'store' : 'pairing' };
}
