import type { Credential } from './identity.ts';
import type { SendOnce } from './request.ts';
import type { Result } from './routes.ts';
import type { Followed, Message } from './watched.ts';
import type { Wire } from './wire.ts';

// Only types are imported, because `client.js` loads this module when a page watches its account: shared code would be there twice.

/** The account of the player, as `watchAccount` shows it. */
export interface WatchedAccount {
  /** Left out while the network blocks WebSockets. */
  accountId?: string;
  balanceCoins: number;
  /** Coins that the account owes after a refund. */
  debtCoins?: number;
  entitlement: Pick<Wire['GET /v1/entitlement']['reply'], 'state' | 'access' | 'expiresAt'>;
}

/** Milliseconds between two reads of the account if the network blocks WebSockets. */
const POLL_MS = 4000;

/**
 * How long a watch that lost its caller waits for the next caller, in milliseconds: the service ends the watch of a guest that signs in
 * before the sign-in is answered. A hello that is younger may have come too late for the connection.
 */
const NEXT_CALLER_MS = 3000;

const wait = (ms: number, signal?: AbortSignal): Promise<unknown> =>
  new Promise<unknown>((done) => {
    const timer = setTimeout(done, ms);
    if (signal) signal.onabort = () => done(clearTimeout(timer));
  });

/** What to watch of the caller's account. Accounts have no positions, so each one that differs from the last gets the next number. */
export function watchedAccount(
  onAccount: (account: WatchedAccount) => void,
  to: SendOnce,
  credential: () => Promise<Credential>,
): Omit<Followed, 'path'> {
  let position = 0;
  let last = '';
  let accountId: unknown;
  /** The last hello; the hello before it on the same connection, if there was one; and when the last one was sent. */
  let greeted = '';
  let before = '';
  let greetedAt = 0;
  let isNew = true;
  const callerNow = async (): Promise<string> => {
    const { 'x-install-id': installId, authorization } = await credential();
    return JSON.stringify({ type: 'hello', installId, sessionToken: authorization?.slice(7) });
  };
  const textOf = ({ accountId: id = accountId, balanceCoins, debtCoins, entitlement }: Message): string =>
    JSON.stringify([id, balanceCoins, debtCoins, entitlement]);
  return {
    async poll(waitSeconds, _, signal) {
      if (waitSeconds) await wait(POLL_MS, signal);
      const known = position;
      const by = await credential();
      const balance = await to('GET /v1/balance', {}, by, signal);
      if (!balance.ok) return balance;
      const reply = await to('GET /v1/entitlement', {}, by, signal);
      // The socket has brought news since.
      if (!reply.ok || position > known) return reply.ok ? { ok: true } : reply;
      const { state, access, expiresAt } = reply as unknown as WatchedAccount['entitlement'];
      return { ...balance, entitlement: { state, access, expiresAt } } as Result;
    },
    positionOf: (message) => (message['entitlement'] ? position + +(textOf(message) !== last) : undefined),
    deliver(message) {
      last = textOf(message);
      position++;
      accountId = message['accountId'] ?? accountId;
      const { type: _, ok: __, version: ___, ...account } = message;
      onAccount({ accountId, ...account } as unknown as WatchedAccount);
      return false;
    },
    opened() {
      isNew = true;
    },
    async hello() {
      const hello = await callerNow();
      if (hello !== greeted) {
        accountId = undefined;
        before = isNew ? '' : greeted;
        greetedAt = performance.now();
      }
      isNew = false;
      return (greeted = hello);
    },
    async goesOn() {
      // The service may have closed the connection of the former caller before it got the hello of the present one.
      const lost = before && performance.now() - greetedAt < NEXT_CALLER_MS ? before : greeted;
      before = '';
      for (let waited = 0; waited < NEXT_CALLER_MS; waited += 100) {
        if ((await callerNow()) !== lost) return true;
        await wait(100);
      }
      return false;
    },
  };
}
