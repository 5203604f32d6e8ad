import type { Input } from './request.ts';
import type { PairStatus, Result } from './routes.ts';
import type { Followed, Message } from './watched.ts';

export interface Pairing {
  token: string;
  secret?: string;
}

/** The status of a pairing. With `claimed`, `claimedBy` has the name that the claimant gave. */
export interface WatchedPairing {
  status: PairStatus;
  claimedBy?: { name?: string };
}

export type OnPairStatus = (pairing: WatchedPairing) => void;

const positions: Record<string, number> = { pending: 1, scanned: 2 };
const positionOf = ({ status }: Message): number | undefined => positions[status as string] ?? (status ? 3 : undefined);

// Only types are imported, as in account.ts.

/**
 * What to watch of a pairing.
 * @param status the client's call `pairing.status`, which signs in when the pairing is claimed
 * @param closed aborts when the client closes
 */
export const watchedPairing = (
  { token, secret }: Pairing,
  onStatus: OnPairStatus,
  status: (input: Input, more: { signal: AbortSignal; timeoutMs: number }) => Promise<Result>,
  closed: AbortSignal,
): Omit<Followed, 'path'> => {
  let since: unknown;
  const read = (input: Input, signal: AbortSignal, timeoutMs = 30_000): Promise<Result> =>
    status({ token, secret, ...input }, { signal, timeoutMs });
  return {
    poll: (wait, _, signal) => read(wait ? { wait, since } : {}, signal),
    positionOf,
    async deliver(message) {
      since = message['status'];
      // The channel brings only the status. A read gives the session, which the service keeps for 10 minutes (6e5 ms).
      const { claimedBy } = (message['type'] && since === 'claimed' ? await read({}, closed, 6e5) : message) as Message;
      onStatus({ status: since, ...(claimedBy ? { claimedBy } : {}) } as WatchedPairing);
      return positionOf(message) === 3;
    },
  };
};
