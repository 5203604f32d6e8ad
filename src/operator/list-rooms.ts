import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { GameId } from '../features/catalogue/model.ts';
import { Room } from '../features/rooms/model.ts';
import { indexedRooms, type IndexedRoom, type IndexPlace } from '../features/rooms/room-index.ts';
import { operation } from './operation.ts';
import { AFTER_A_PAGE, Limit, limitOf } from './page-limit.ts';
import { RoomRow, rowOf, type Row } from './room-row.ts';
import { more, table } from './shown/cells.ts';
import { roomRows } from './shown/shown-rooms.ts';

/** The number of rooms that are read at once, in some 0.5 ms of Redis's time. */
const ROOMS_AT_ONCE = 50;

/** The most rooms that one page reads, in some 10 ms of Redis's time. */
const MOST_READ = 1000;

/** The most entries of the index that one page passes, those of other games included. Redis reads them in some 1 ms. */
const MOST_PASSED = 5000;

/** Pause between the parts, so that other requests are served in between. */
const REST_MS = 1;

const CURSOR = /^(\d{1,15})\.(\d{1,9})$/;

const yesOrNo = (description: string) => z.enum(['true', 'false'], 'Must be true or false').optional().meta({ description });

export const listRooms = operation({
  name: 'rooms list',
  method: 'GET',
  path: '/v1/admin/rooms',
  operationId: 'listAllRooms',
  role: 'viewer',
  reach: 'own',
  costly: true,
  summary: 'Lists all rooms, private and ended ones included, the newest first.',
  description:
    'A key of one game gets the rooms of its game. A page reads 1,000 rooms and passes 5,000 rooms of other games at most. So with a filter ' +
    'it may be short, or empty, and still have a `nextCursor`. A room that is older than ROOM_TTL_SECONDS stands where it would stand if it ' +
    'had been created up to ROOM_TTL_SECONDS ago. It moves to the front at the end of this time, so whoever reads pages just then may ' +
    'miss it. A room whose data is damaged is listed whatever the filter is, and has a `problem`.',
  input: z.object({
    game: GameId.optional().meta({ description: 'Only rooms of this game.' }),
    phase: Room.shape.phase.optional().meta({ description: 'Only rooms in this phase.' }),
    seats: z
      .enum(['full', 'free', 'empty'])
      .optional()
      .meta({ description: 'Rooms without a free seat, with free seats, or without a player.' }),
    present: yesOrNo('Rooms in which somebody has a connection on the live channel, or nobody.'),
    private: yesOrNo('Rooms that the list of public rooms never shows, or the others.'),
    limit: Limit,
    cursor: z.string().regex(CURSOR, 'Must be the nextCursor of an earlier page').optional().meta(AFTER_A_PAGE),
  }),
  reply: z.object({
    rooms: z.array(RoomRow),
    looked: z.int().meta({ description: 'Number of rooms that were read for this page.' }),
    nextCursor: z.string().optional(),
  }),
  errors: ['invalid_request'],
  example: `curl -s "$base/v1/admin/rooms?game=pebble-drop&present=true" -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ rooms, nextCursor }) => [table(roomRows, rooms), ...more(nextCursor)],
  async prepare({ limit: most, cursor, game: named, ...filter }, services, { key, isGone }) {
    const limit = limitOf(most);
    const game = key?.game ?? named;
    const found = new Map<string, Row>();
    let [looked, passed] = [0, 0];
    let place = placeIn(cursor);
    /** Reads a part. True once the page is full. */
    const isFullWith = async (part: readonly IndexedRoom[]): Promise<boolean> => {
      const rows = await Promise.all(part.map((indexed) => rowOf(indexed, services)));
      for (const [index, row] of rows.entries()) {
        place = part[index]!.place;
        looked++;
        if (row !== undefined && fits(row, filter)) found.set(row.code, row);
        if (found.size === limit) return true;
      }
      await pause(REST_MS);
      return false;
    };
    let part: IndexedRoom[] = [];
    const page = (isEnd: boolean) => ({
      reply: {
        rooms: [...found.values()],
        looked,
        ...(isEnd || place === undefined ? {} : { nextCursor: `${place.dueAt}.${place.skip}` }),
      },
    });
    for await (const indexed of indexedRooms(services.scripts, place)) {
      passed++;
      if (game === undefined || indexed.game === game) part.push(indexed);
      if (part.length === ROOMS_AT_ONCE) {
        if (await isFullWith(part)) return page(false);
        part = [];
      }
      if (passed < MOST_PASSED && looked < MOST_READ && isGone?.() !== true) continue;
      if (!(await isFullWith(part))) place = indexed.place;
      return page(false);
    }
    return page(!(await isFullWith(part)));
  },
});

function placeIn(cursor: string | undefined): IndexPlace | undefined {
  const [, dueAt, skip] = CURSOR.exec(cursor ?? '') ?? [];
  return dueAt === undefined ? undefined : { dueAt: Number(dueAt), skip: Number(skip) };
}

type Filter = Omit<z.output<typeof listRooms.input>, 'limit' | 'cursor' | 'game'>;

function fits(row: Row, { phase, seats, present, private: isPrivate }: Filter): boolean {
  if (row.problem !== undefined) return true;
  const { players = 0, maxPlayers = 0 } = row;
  if (phase !== undefined && row.phase !== phase) return false;
  if (seats === 'empty' && players > 0) return false;
  if (seats === 'full' && players < maxPlayers) return false;
  if (seats === 'free' && players >= maxPlayers) return false;
  const isSomebodyHere = row.present! > 0 || row.server === 'present';
  if (present !== undefined && isSomebodyHere !== (present === 'true')) return false;
  return isPrivate === undefined || row.private === (isPrivate === 'true');
}
