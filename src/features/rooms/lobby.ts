import { randomInt } from 'node:crypto';
import { opensAccount } from '../../accounts/prologues.ts';
import { refuse } from '../../errors.ts';
import { onAnyPrimary } from '../../redis/any-primary.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { Services } from '../../declare.ts';
import { CODE_COUNT, codeOf, roomKeys, roomLibrary, roomTimes, SEATS_KEPT_SECONDS, type RoomDoc } from './model.ts';

const createScript = defineScript({
  file: new URL('create.lua', import.meta.url),
  keys: ['room', 'seats'],
  args: ['code', 'head', 'doc', 'state', 'accountId', 'ttlMs'],
  answers: ['created', 'taken'],
  prologue: opensAccount,
  shared: ['seatsKeptSeconds'],
  slotOf: 'room',
  lists: { index: 'seats', member: 'code', keptSeconds: SEATS_KEPT_SECONDS },
  library: roomLibrary,
});

/** With half of all codes taken, one creation in a million fails after this many tries. */
const CODE_TRIES = 20;

export interface LobbySettings {
  game?: string | undefined;
  minPlayers: number;
  maxPlayers: number;
  /** Name of the creator's player. */
  name?: string | undefined;
  stateText: string;
}

export type LobbyServices = Pick<Services, 'scripts' | 'config' | 'now'>;

/**
 * Opens a room under a free code, with the caller as host and first player.
 * @throws Refusal `overloaded` if all of CODE_TRIES random codes were taken
 */
export async function openLobby(caller: Caller, settings: LobbySettings, { scripts, config, now }: LobbyServices): Promise<RoomDoc> {
  const at = now();
  const { nowText, ttlMs, expiresText } = roomTimes(at, config);
  const create = async (code: string): Promise<RoomDoc | undefined> => {
    const doc: RoomDoc = {
      code,
      game: settings.game,
      phase: 'lobby',
      seq: 1,
      hostId: 'p1',
      minPlayers: settings.minPlayers,
      maxPlayers: settings.maxPlayers,
      locked: false,
      players: [{ id: 'p1', name: settings.name ?? 'Player 1', ready: false, connected: false, host: true, joinedAt: nowText }],
      createdAt: nowText,
      updatedAt: nowText,
      expiresAt: expiresText,
    };
    const [word] = await scripts.runAs(
      caller,
      createScript,
      { room: roomKeys.room(code), seats: roomKeys.seats(caller.accountId, at) },
      {
        code,
        seatsKeptSeconds: SEATS_KEPT_SECONDS,
        head: `${doc.seq} ${doc.phase} ${at + ttlMs}`,
        doc: JSON.stringify(doc),
        state: settings.stateText,
        accountId: caller.accountId,
        ttlMs,
      },
    );
    return word === 'created' ? doc : undefined;
  };
  for (let tries = 0; tries < CODE_TRIES; tries++) {
    const doc = await onAnyPrimary({ draw: () => codeOf(randomInt(CODE_COUNT)), keyOf: roomKeys.room, run: create }, scripts);
    if (doc !== undefined) return doc;
  }
  throw refuse('overloaded', { retryAfterMs: 1000 });
}
