import { z } from 'zod';
import { AccountId, InstallId } from '../../accounts/ids.ts';
import { channel, type Services } from '../../declare.ts';
import { refuse, type Refusal } from '../../errors.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { ChannelSocket } from '../../server/live/channel.ts';
import { closeCodes } from '../../server/live/close-codes.ts';
import { BalanceCoins, DebtCoins } from '../coins/model.ts';
import { Entitlement } from '../entitlement/model.ts';
import { SessionToken } from '../sessions/model.ts';
import type { WatchingCaller } from './callers.ts';

/** How long a connection may stay open without watching an account, in milliseconds. */
const NAMED_WITHIN_MS = 10_000;

const Hello = z
  .object({ type: z.literal('hello'), sessionToken: SessionToken.optional(), installId: InstallId.optional() })
  .refine(({ sessionToken, installId }) => (sessionToken ?? installId) !== undefined, {
    path: ['installId'],
    message: 'Is needed, or a sessionToken',
  });

export const liveAccount = channel({
  path: '/v1/account/live',
  summary: "Sends the caller's balance and entitlement, at once and after every change.",
  description: [
    'The session of the upgrade names the caller, or else a `hello`. Every `account` has the whole balance and entitlement, whoever changed',
    'them: this device, another one, a refund, a prize, an operator, a guest that moved in. `version` rises with each message. The service',
    'sends at most four a second: it may skip values in between, never the latest. The end of a trial or of access is a change too. A',
    'connection for which nobody names a caller within 10 seconds is closed with 4502. When the session ends, or the account moves into',
    'another, is banned or deleted, the service sends the error (`session_required`, `sign_in_required`, `account_banned`,',
    '`account_deleted`) and closes with 4503. Both are final: connect again as another caller.',
  ].join(' '),
  takesSession: true,
  headers: {
    authorization:
      '`Bearer <sessionToken>`, optional: in place of the cookie, for clients that can send it. An invalid one refuses the upgrade.',
    cookie: 'The session cookie, optional: it names the caller without `hello`. A session that has ended counts as none.',
  },
  sends: {
    account: z
      .object({
        type: z.literal('account'),
        accountId: AccountId,
        balanceCoins: BalanceCoins,
        debtCoins: DebtCoins,
        entitlement: Entitlement.pick({ state: true, access: true, expiresAt: true }),
        version: z.number().int().min(1).meta({ description: 'The version rises with each message of a connection.' }),
      })
      .meta({ description: 'The account as it is now.' }),
  },
  receives: {
    hello: Hello.meta({
      description:
        'Names the caller, in place of the one before. A `sessionToken` comes before an `installId`. The answer is `account`, or an error, ' +
        'after which the connection stays as it was and another `hello` may follow; after `sign_in_required`, `account_banned` and ' +
        '`account_deleted` the service closes with 4503.',
    }),
  },
  errors: [],
  feed: ({ feeds }: AccountWatchServices) => feeds.account,
  memory: (): Connection => ({ watching: undefined, closesAt: Infinity, hasFailed: false }),
  async opened(socket, services: AccountWatchServices) {
    const { memory, sessionCaller: caller } = socket;
    memory.closesAt = services.monotonic() + NAMED_WITHIN_MS;
    if (caller === undefined) return;
    const refusal = await watchAs(socket, caller, services).catch((error: unknown) => {
      // The client cannot send a session again on this connection, so it has to connect again.
      memory.closesAt = -Infinity;
      throw error;
    });
    // A cookie whose session has ended counts as no session. The client may still send a `hello` with other credentials.
    if (refusal !== undefined && refusal.code !== 'session_required') end(socket, refusal);
  },
  async received(socket, message, services: AccountWatchServices) {
    const { type: _, ...credentials } = message as z.output<typeof Hello>;
    const refusal = await watchAs(socket, await socket.callerOf(credentials), services);
    if (refusal?.code === 'session_required') socket.refuse(refusal);
    else if (refusal !== undefined) end(socket, refusal);
  },
  checked(socket, { monotonic, now }: AccountWatchServices) {
    const { watching, closesAt, hasFailed } = socket.memory;
    // If the service could not check the caller, the client is not at fault, so it may connect again.
    if (watching === undefined && monotonic() >= closesAt)
      socket.end(hasFailed ? closeCodes.goingAway : closeCodes.callerMissing, 'nobody named');
    // The client may have a renewed token by now.
    else if ((watching?.caller.session?.expiresAt ?? Infinity) <= now()) socket.end(closeCodes.goingAway, 'the token has expired');
  },
  async closed(socket, { watchingCallers }: AccountWatchServices) {
    forget(socket, watchingCallers);
  },
});

type AccountWatchServices = Pick<Services, 'feeds' | 'watchingCallers' | 'monotonic' | 'now'>;

/** What the channel remembers of a connection. */
interface Connection {
  /** The caller whose account the connection watches. */
  watching: WatchingCaller | undefined;
  /** When the connection closes if it still watches nothing, by the monotonic clock. */
  closesAt: number;
  /** Whether the last attempt to watch failed because Redis did not answer. */
  hasFailed: boolean;
}

/**
 * Makes a connection watch the caller's account.
 * @returns why the caller may not
 * @throws Refusal `store_unavailable`, and the errors of scripts, if the caller could not be checked
 */
async function watchAs(
  socket: ChannelSocket<Connection>,
  caller: Caller,
  { watchingCallers }: AccountWatchServices,
): Promise<Refusal | undefined> {
  const { memory } = socket;
  const before = memory.watching?.caller;
  if (before?.accountId === caller.accountId && before.session?.id === caller.session?.id) return undefined;
  let refusal: Refusal | undefined;
  const watching: WatchingCaller = {
    caller,
    isChecked: false,
    lost(reason) {
      refusal = reason;
      if (memory.watching !== watching) return;
      forget(socket, watchingCallers);
      end(socket, reason);
    },
  };
  // The read for this watcher checks all callers that watch the account, so this caller has to be added before the read.
  watchingCallers.add(watching);
  memory.hasFailed = true;
  let isWatching = false;
  try {
    isWatching = await socket.watch(caller.accountId, () => watching.isChecked && refusal === undefined);
    memory.hasFailed = !isWatching && refusal === undefined;
  } finally {
    if (!isWatching) watchingCallers.remove(watching);
  }
  if (isWatching) {
    forget(socket, watchingCallers);
    memory.watching = watching;
  } else if (memory.hasFailed && socket.isOpen) throw refuse('store_unavailable');
  return refusal;
}

/** Tells the client why the caller may not watch the account any more, and closes the connection. */
function end(socket: ChannelSocket<Connection>, reason: Refusal): void {
  socket.refuse(reason);
  socket.end(closeCodes.callerLost, 'the caller may watch no longer');
}

function forget({ memory }: ChannelSocket<Connection>, watchingCallers: Services['watchingCallers']): void {
  if (memory.watching !== undefined) watchingCallers.remove(memory.watching);
  memory.watching = undefined;
}
