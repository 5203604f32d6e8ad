import { guarded } from './guarded.ts';
import type { Input } from './request.ts';
import type { PairStatus, Result } from './routes.ts';
import type { Followed, Message } from './watched.ts';

export interface Pairing {
  token: string;
  secret?: string;
}

export type OnPairStatus = (status: PairStatus, claimedBy?: { name?: string }) => void;

const positions: Record<string, number> = { pending: 1, scanned: 2 };
const positionOf = ({ status }: Message): number | undefined => positions[status as string] ?? (status ? 3 : undefined);

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
): Followed => {
  let since: unknown;
  const read = (input: Input, signal: AbortSignal, timeoutMs = 30_000): Promise<Result> =>
    status({ token, secret, ...input }, { signal, timeoutMs });
  return {
    path: `/v1/pair/live?token=${encodeURIComponent(token)}`,
    poll: (wait, _, signal) => read(wait ? { wait, since } : {}, signal),
    positionOf,
    async deliver(message) {
      since = message['status'];
      // The channel brings only the status. A read gives the session, which the service keeps for 10 minutes (6e5 ms).
      const { claimedBy } = (message['type'] && since === 'claimed' ? await read({}, closed, 6e5) : message) as Message;
      guarded(onStatus)(since as PairStatus, claimedBy as { name?: string });
      return positionOf(message) === 3;
    },
  };
};
