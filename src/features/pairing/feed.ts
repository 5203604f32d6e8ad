import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { Feed, State } from '../../server/live/feed-types.ts';
import { pairKeys, type PairStatusWord } from './model.ts';
import { read } from '../../redis/reads.ts';

/** The place of each status in the order in which a pairing has them. Statuses at position 3 are final. */
const positions: Record<PairStatusWord, number> = { pending: 1, scanned: 2, claimed: 3, denied: 3, expired: 3 };

export function positionOf(status: PairStatusWord): number {
  return positions[status];
}

/**
 * The feed of pairings. `claim.lua` publishes each new status. No script publishes that a pairing has expired, so the state has the time of
 * its expiry in `changesAt`.
 */
export function pairFeed(scripts: ScriptRunner, now: () => number): Feed {
  return {
    channel: pairKeys.pair,
    take: (message) => {
      const [status = '', expiresAt = ''] = message.split(' ');
      return stateOf(status as PairStatusWord, Number(expiresAt));
    },
    fetch: (known) =>
      Promise.all(
        known.map(async ({ id, state: before }) => {
          const [status, expiresAt, forgottenAt] = await read(scripts, 'HMGET', pairKeys.pair(id), 'status', 'expiresAt', 'forgottenAt');
          if (status === '' || now() >= Number(forgottenAt)) return undefined;
          const open = status === 'pending' || status === 'scanned';
          const state = stateOf(open && now() >= Number(expiresAt) ? 'expired' : (status as PairStatusWord), Number(expiresAt));
          return { state: state.position === before?.position ? 'same' : state, relayed: 0 };
        }),
      ),
  };
}

function stateOf(status: PairStatusWord, expiresAt: number): State {
  const position = positions[status];
  return {
    position,
    stamp: '',
    privateAt: 0,
    isFinal: position === 3,
    changesAt: position === 3 ? Infinity : expiresAt,
    encode: () => `{"type":"pair","status":"${status}"}`,
  };
}
