import type { Redis } from 'ioredis';
import type { Feed, State } from '../../server/live/feed.ts';
import { pairKeys, type PairStatusWord } from './model.ts';

/** The order of the statuses. Those at position 3 are final. */
const positions: Record<PairStatusWord, number> = { pending: 1, scanned: 2, claimed: 3, denied: 3, expired: 3 };

export function positionOf(status: PairStatusWord): number {
  return positions[status];
}

/** The feed of pairings: `claim.lua` publishes each new status. An expiry is not published; `changesAt` announces it. */
export function pairFeed(redis: Redis, now: () => number): Feed {
  return {
    channel: pairKeys.pair,
    parse: (message) => {
      const [status = '', expiresAt = ''] = message.split(' ');
      return stateOf(status as PairStatusWord, Number(expiresAt));
    },
    async fetch(known) {
      const pipeline = redis.pipeline();
      for (const { id } of known) pipeline.hmget(pairKeys.pair(id), 'status', 'expiresAt', 'forgottenAt');
      const replies = (await pipeline.exec()) ?? [];
      return known.map(({ position }, index) => {
        const [error, kept] = replies[index] as [Error | null, (string | null)[]];
        if (error !== null) throw error;
        const [status, expiresAt, forgottenAt] = kept;
        if (status == null || now() >= Number(forgottenAt)) return undefined;
        const open = status === 'pending' || status === 'scanned';
        const state = stateOf(open && now() >= Number(expiresAt) ? 'expired' : (status as PairStatusWord), Number(expiresAt));
        return state.position === position ? 'same' : state;
      });
    },
  };
}

function stateOf(status: PairStatusWord, expiresAt: number): State {
  const position = positions[status];
  return {
    position,
    encode: () => ({
      message: `{"type":"pair","status":"${status}"}`,
      isFinal: position === 3,
      changesAt: position === 3 ? undefined : expiresAt,
    }),
  };
}
