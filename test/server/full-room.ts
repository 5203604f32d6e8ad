import type { Redis } from 'ioredis';
import { DATA_LIMIT_BYTES, MAX_PLAYERS, roomKeys, STATE_LIMIT_BYTES } from '../../src/features/rooms/model.ts';

/** Posts to a service, and answers with the body. It throws for a refusal. */
export type Post = (path: string, body: object) => Promise<any>; // oxlint-disable-line no-explicit-any

export interface FullRoom {
  readonly code: string;
  readonly host: string;
  /** The installIds of all players, the host first. */
  readonly players: readonly string[];
}

/** 24 characters of four bytes. */
export const LONGEST_NAME = '\u{1f600}'.repeat(24);

/** Data of a seat may have 16 KiB / 64 bytes. */
export const LONGEST_DATA = 'd'.repeat(254);

/** Kicked accounts that `room-action.lua` keeps, in its form: 16 KiB of ids. */
const KICKED = ` ${Array.from({ length: 712 }, (_, index) => String(index).padStart(22, 'k')).join(' ')} `;

/** The orders of a seat's newest 8 tabs, each as long as it can be. */
const TABS = Array.from({ length: 8 }, (_, tab) => `${Number.MAX_SAFE_INTEGER} ${String(tab).padStart(16, 't')}`).join('\n');

/**
 * Opens a room that is as full as one can be: 64 players with names, data, private parts and tabs, tags, kicked accounts and state of the
 * greatest length. Data that would take thousands of requests is written in the format of the scripts.
 * @param last installId of the player who joins last
 */
export async function openFullRoom(post: Post, redis: Redis, host: string, last = `${host}-player-${MAX_PLAYERS}`): Promise<FullRoom> {
  const tags = Object.fromEntries(Array.from({ length: 8 }, (_, tag) => [`${tag}`.padStart(32, 't'), '\u0001'.repeat(64)]));
  const state = 'x'.repeat(STATE_LIMIT_BYTES - 2);
  const room = { installId: host, name: LONGEST_NAME, game: 'g'.repeat(64), maxPlayers: MAX_PLAYERS, tags, state };
  const { code } = (await post('/v1/rooms', room)).room as { code: string };
  const key = roomKeys.room(code);
  const others = Array.from({ length: MAX_PLAYERS - 2 }, (_, index) => `${host}-player-${index + 2}`);
  const players = [host, ...others, last];
  // As if this many players had joined and left.
  await redis.hset(key, 'given', 1e15 - 1 - MAX_PLAYERS, 'seq', Number.MAX_SAFE_INTEGER - 10_000_000);
  for (const installId of players.slice(1)) await post(`/v1/rooms/${code}/join`, { installId, name: LONGEST_NAME });
  for (const installId of players) await post(`/v1/rooms/${code}/data`, { installId, data: LONGEST_DATA });
  await post(`/v1/rooms/${code}/lock`, { installId: host });
  const ids = (await redis.hget(key, 'players'))!.split(' ');
  const hand = JSON.stringify('h'.repeat(DATA_LIMIT_BYTES - 2));
  // A body of 16 KiB has hands for fifteen.
  for (let start = 0; start < ids.length; start += 15) {
    const seats = Object.fromEntries(ids.slice(start, start + 15).map((id) => [id, JSON.parse(hand) as string]));
    await post(`/v1/rooms/${code}/private`, { installId: host, seats });
  }
  await redis.hset(key, { kicked: KICKED, ...Object.fromEntries([...ids, 'server'].map((id) => [`${id}:tabs`, TABS])) });
  return { code, host, players };
}
