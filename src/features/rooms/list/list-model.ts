import { z } from 'zod';
import { invalid, type Refusal } from '../../../errors.ts';
import { MOST_TAGS, TAG_NAME, TAG_LENGTH } from '../model.ts';
import { seatedIn, type RoomFields } from '../record.ts';
import { defineLibrary } from '../../../redis/script.ts';
import { capitals, defineFormat, padded, rest, whole, word, type Parsed } from '../../../redis/text-format.ts';

/**
 * The entry of a room in lists: the time of its creation, and its code. Entries sort by creation. A later room with the same code has
 * another entry.
 */
export const listEntry = defineFormat('list_entry', '<createdAt><code>', {
  /** The time at which the room was created, in milliseconds since 1970. Always 13 digits, as times have until the year 2286. */
  createdAt: padded(13),
  code: capitals(5),
});

/** The text that a list keeps for each entry: the room's seq and summary. The summary is '' for a room that is not open. */
export const listedRoom = defineFormat('listed', '<seq> <summary>', { seq: whole, summary: rest });

/** The summary of an open room. It has all that lists show of the room. */
export const roomSummary = defineFormat('summary', '<players> <maxPlayers> <game> <tags>', {
  players: whole,
  maxPlayers: whole,
  /** The game's id, or `-` for a room without a game. */
  game: word,
  /** The room's tags, as JSON text (`tagsText`). */
  tags: rest,
});

/** Lua functions that read and write a list. The header of `listed.lua` describes the keys. */
export const listLibrary = defineLibrary(new URL('listed.lua', import.meta.url), { formats: [listEntry, listedRoom, roomSummary] });

/** The name of the list of all games. No game has this name. */
export const ALL_GAMES = '*';

/** The keys for reading the list of a game, or of ALL_GAMES. All keys of a list are in one slot. */
export function listKeys(game: string) {
  const order = `{listed:${game}}`;
  return { order, untils: `${order}:untils`, rooms: `${order}:rooms`, version: `${order}:version` };
}

export const listKeyNames = ['order', 'untils', 'rooms', 'version'] as const;

/** The keys for writing a list. Scripts use `free`, `reserved` and `taken` only in the list of a game, for quick matches. */
export function writtenKeys(game: string) {
  const keys = listKeys(game);
  const { order } = keys;
  return { ...keys, free: `${order}:free`, reserved: `${order}:reserved`, taken: `${order}:taken` };
}

export const writtenKeyNames = [...listKeyNames, 'free', 'reserved', 'taken'] as const;

/**
 * The argument `matches` of the scripts. The argument is '1' for the list of a game, because quick matches use that list. It is '' for
 * ALL_GAMES.
 */
export function matchesIn(game: string): '1' | '' {
  return game === ALL_GAMES ? '' : '1';
}

/** The key of a text: the entry of the room that an account got in its last quick match. It expires after some seconds. */
export function askedKey(game: string, accountId: string): string {
  return `{listed:${game}}:match:${accountId}`;
}

/** The entry under which lists have a room. @param fields of the room */
export function entryOf(fields: RoomFields): string {
  return listEntry.write({ createdAt: Number(fields.get('createdAt')), code: fields.get('code')! });
}

const ENTRY = /^\d{13}[BCDFGHJKLMNPQRSTVWXZ]{5}$/;

/** The summary of a room for lists, or '' if the room is not open. */
export function summaryOf(fields: RoomFields): string {
  const seated = seatedIn(fields.get('players')!).length;
  const maxPlayers = Number(fields.get('maxPlayers'));
  const isOpen =
    fields.get('public') === 'true' && fields.get('phase') === 'lobby' && fields.get('locked') === 'false' && seated < maxPlayers;
  return isOpen ? roomSummary.write({ players: seated, maxPlayers, game: fields.get('game') ?? '-', tags: fields.get('tags')! }) : '';
}

/** A room of a list, as JSON text. @param text what the list keeps for the entry (`listedRoom`), of a room that is open */
export function listedJson(entry: string, text: string): string {
  const { players, maxPlayers, game, tags } = summaryIn(text);
  const ofGame = game === '-' ? '' : `,"game":"${game}"`;
  const { code, createdAt } = listEntry.parse(entry)!;
  const at = new Date(createdAt).toISOString();
  return `{"code":"${code}"${ofGame},"players":${players},"maxPlayers":${maxPlayers},"tags":${tags},"createdAt":"${at}"}`;
}

/** The tags of a room in a list. @param text what the list keeps for the room's entry (`listedRoom`), of a room that is open */
export function tagsOf(text: string): Readonly<Record<string, string | number | boolean>> {
  return JSON.parse(summaryIn(text).tags) as Record<string, string | number | boolean>;
}

function summaryIn(text: string): Parsed<typeof roomSummary> {
  return roomSummary.parse(listedRoom.parse(text)!.summary)!;
}

/** A room of a list, as clients see it. */
export const ListedRoom = z
  .object({
    code: z.string(),
    game: z.string().optional(),
    players: z.number().int().min(0),
    maxPlayers: z.number().int(),
    tags: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    createdAt: z.iso.datetime(),
  })
  .meta({
    id: 'ListedRoom',
    description: 'A room that anybody may join.',
    example: {
      code: 'BCDFG',
      game: 'pebble-drop',
      players: 1,
      maxPlayers: 4,
      tags: { mode: 'duel' },
      createdAt: '2026-11-22T12:00:00.000Z',
    },
  });

/** The cursor of a list: the entry after which the page begins. */
export const ListCursor = z.string().regex(ENTRY, 'Must be the nextCursor of a page').meta({
  description: 'The `nextCursor` of the page before.',
  example: '1795348800000BCDFG',
});

/** The schema of the query parameters that filter by tags, for the API description. `tagFilterOf` checks the parameters. */
export const TagParameters = z.string().meta({
  title: 'tags',
  description: 'Parameters `tag.NAME=TEXT`: only rooms with these tags. Numbers and booleans are compared as text.',
  example: { 'tag.mode': 'duel' },
});

const TAG_PARAMETER = /^tag\./;

/**
 * The tags by which a query filters, from parameters such as `tag.mode=duel`. Other undeclared parameters are ignored, as in every
 * endpoint.
 */
export function tagFilterOf(query: Readonly<Record<string, string | undefined>>): TagFilter | Refusal<'invalid_request'> {
  const wanted: [name: string, text: string][] = [];
  for (const [parameter, text = ''] of Object.entries(query)) {
    if (!TAG_PARAMETER.test(parameter)) continue;
    const name = parameter.replace(TAG_PARAMETER, '');
    if (!TAG_NAME.test(name)) return invalid('tag', 'Must be tag. and the name of a tag');
    if (text.length > TAG_LENGTH) return invalid(parameter, `Must be at most ${TAG_LENGTH} characters`);
    if (wanted.push([name, text]) > MOST_TAGS) return invalid('tag', `Must be at most ${MOST_TAGS} tags`);
  }
  return new TagFilter(wanted);
}

/** The tags that a listed room must have. Tags are compared as texts: `tag.level=3` finds the number 3 and the text "3". */
export class TagFilter {
  /** The wanted tags, sorted by name, so that the order of the query's parameters makes no difference. */
  readonly wanted: readonly (readonly [name: string, text: string])[];

  constructor(wanted: readonly (readonly [name: string, text: string])[]) {
    this.wanted = wanted.toSorted(([one], [other]) => (one < other ? -1 : 1));
  }

  /**
   * The filter for `page.lua`. The filter has a line for each wanted tag, with texts separated by tabs. A summary passes if it contains one
   * of the texts of each line. JSON escapes tabs and line breaks, so no text contains them.
   */
  get needles(): string {
    const choices = this.wanted.map(([name, text]) => {
      const [asText, bare] = [`"${name}":${JSON.stringify(text)}`, `"${name}":${text}`];
      return isBare(text) ? [asText, `${bare},`, `${bare}}`] : [asText];
    });
    return choices.map((texts) => texts.join('\t')).join('\n');
  }
}

/** Whether the text is the JSON text of a number or of a boolean. */
function isBare(text: string): boolean {
  return text === 'true' || text === 'false' || (text !== '' && JSON.stringify(Number(text)) === text);
}
