import type { After, Answer, Json } from '../case.ts';

type Fields = Record<string, Json>;

/** A success with these fields. */
export const ok = (fields: Fields = {}): Answer => [200, { ok: true, ...fields }];

/** A refusal in the form of the service. */
export const refused = (status: number, code: string, more: Fields = {}): Answer => [
  status,
  { ok: false, error: { code, message: code, ...more }, requestId: 'r-1' },
];

/** The failed result with the code of a refusal. */
export const failed = (status: number, code: string, more: Fields = {}, beside: Fields = {}) => ({
  ok: false,
  error: { code, ...more },
  status,
  ...beside,
});

/** The failed result of a call without an answer of the service. */
export const lost = (code: 'network' | 'timeout' | 'aborted' | 'not_coinop', beside: Fields = {}) => ({
  ok: false,
  error: { code },
  ...beside,
});

/**
 * The wait before the next try of a call: what the service asks for, a minute at most, and up to 300 ms, twice as long after each further
 * failure, 5 s at most.
 */
export const again = (tries = 0, retryAfterMs = 0, mostMs = 5000): After => [
  Math.min(retryAfterMs, 60_000),
  Math.min(retryAfterMs, 60_000) + Math.min(mostMs, 300 * 2 ** tries),
];

/** The same of coin operations: 15 s at most. */
export const operationAgain = (tries = 0, retryAfterMs = 0): After => again(tries, retryAfterMs, 15_000);

/**
 * The wait before the next try of a watch: what the service asks for, and up to a second in the first tries, later up to 3.5 s; at least
 * half of that.
 */
export const connectAgain = (tries = 0, retryAfterMs = 0): After => {
  const most = tries < 8 ? Math.min(1000, 250 * 2 ** tries) : 3500;
  return [retryAfterMs + most / 2, retryAfterMs + most];
};

export const INSTALL = 'install-of-the-case';
export const ME = { 'x-install-id': INSTALL, authorization: null };
export const bySession = (token: string) => ({ authorization: `Bearer ${token}`, 'x-install-id': null });
