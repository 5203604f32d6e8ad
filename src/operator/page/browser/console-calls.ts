import type { Offered } from '../offered.ts';

/** The operator who is signed in to the console. */
export interface Operator {
  /** As the log names the operator. */
  readonly by: string;
  /** The provider of the sign-in. Undefined: the operator typed a key. */
  readonly provider?: string;
  readonly name: string;
  readonly role: Role;
  readonly game?: string;
  /** The operations that the operator may run. */
  readonly operations: readonly Offered[];
  /** The names of all changes, for the filter of the log. */
  readonly actions: readonly string[];
  /** When the session ends. */
  readonly endsAt?: string;
}

const ROLES = ['viewer', 'support', 'economist', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Whether to show a button that needs this role. The service checks the role in any case. */
export const mayAct = ({ role }: Operator, least: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(least);

/** A refusal by the service, or the lack of an answer. */
export class Failed extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }

  /** Whether the change may have happened. */
  get isUnknown(): boolean {
    return this.code === 'lost' || this.code === 'internal' || this.details['outcome'] === 'unknown';
  }

  /** Whether the session has ended. */
  get isSignedOut(): boolean {
    return this.code === 'bad_key' || this.code === 'server_only';
  }
}

/** The reply of an operation. Only the service knows its shape. */
// oxlint-disable-next-line no-explicit-any
export type Answer = any;

interface Sent {
  readonly body?: object;
  /** The value of the header x-console: `look`, or the question that was confirmed. No other site can send it. */
  readonly says?: string;
  /** A typed key. */
  readonly key?: string;
  readonly signal?: AbortSignal;
}

/** Milliseconds that the page waits for an answer. The slowest answer of the service takes less. */
const PATIENCE_MS = 30_000;

/** @throws Failed */
export async function call(path: string, { body, says = 'look', key, signal }: Sent = {}): Promise<Answer> {
  const headers: Record<string, string> = { 'x-console': says };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (key !== undefined) headers['authorization'] = `Bearer ${key}`;
  const text = body === undefined ? undefined : JSON.stringify(body);
  // The service stores or logs a reason, a ticket and a search text, so these must not contain a key.
  if (text?.includes('coinop_sk_') === true) throw new Failed('secret', 'A field that would be stored contains a key. Nothing was sent.');
  const patience = AbortSignal.timeout(PATIENCE_MS);
  let response: Response;
  let answer: Answer;
  try {
    response = await fetch(path, {
      method: text === undefined ? 'GET' : 'POST',
      headers,
      ...(text === undefined ? {} : { body: text }),
      signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
    });
    answer = await response.json();
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Failed('lost', 'The service did not answer.');
  }
  if (answer?.ok === true) return answer;
  const { code = 'lost', message = `The service answered ${response.status}.`, ...details } = answer?.error ?? {};
  throw new Failed(code, message, details);
}

/** A path, with a query of those fields that have a value. */
export function pathWith(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '');
  return given.length === 0 ? path : `${path}?${String(new URLSearchParams(given))}`;
}

export const admin = (path: string, query: Readonly<Record<string, string | undefined>> = {}, signal?: AbortSignal): Promise<Answer> =>
  call(pathWith(`/v1/admin${path}`, query), signal === undefined ? {} : { signal });
