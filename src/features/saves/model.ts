import { z } from 'zod';
import { keyOfAccount } from '../../accounts/account-keys.ts';
import { isoTime } from '../../accounts/merge-rules.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { plainText } from '../../accounts/plain-text.ts';
import { rateLimited, refuse, type Refusal } from '../../errors.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { defineLibrary } from '../../redis/script.ts';
import { CompactJson } from '../../server/http/compact-field.ts';
import type { RequestMeta } from '../../server/http/endpoint.ts';
import { defineFormat, restOfLine, whole, word, type Parsed } from '../../redis/text-format.ts';
import { GameId } from '../catalogue/model.ts';
import { FreeJson } from '../rooms/model.ts';

/** The number of versions of a save that are kept, including the current version. */
export const KEPT_VERSIONS = 5;

/** The most saves of an account in a game. */
export const MOST_NAMES = 16;

/** The most bytes of the current versions of an account's saves in a game. */
export const MOST_GAME_BYTES = 256 * 1024;

/** The most bytes of all versions of all saves of an account. */
export const MOST_ACCOUNT_BYTES = 1024 * 1024;

/**
 * A smaller version counts as this many bytes for the account and for the client address. A version takes about 200 bytes of memory besides
 * its text. Without this bound, a million saves of one byte each would take 200 times the memory that they count for.
 */
export const LEAST_BYTES = 256;

/** The most bytes in the body of a request that writes a save: 64 KiB of compact JSON, and room for blanks and the other fields. */
export const BODY_BYTES = 80 * 1024;

/** With the header of a string of Redis exactly 16 KiB: a text of 17 KiB in one piece would take 20 KiB of memory. */
export const PIECE_BYTES = 16_378;

/** The most levels to which a save's data may nest. */
export const MOST_DEPTH = 32;

/** The two hashes of an account: its saves with their versions, and the texts of these versions in pieces (`saves.lua`). */
export const keysOf = (accountId: string) => ({
  saves: keyOfAccount(accountId, 'saves'),
  texts: keyOfAccount(accountId, 'saves:texts'),
});

/** One version of a save: a line of the save's field in the account's hash of saves. The current version is the first line. */
export const saveVersion = defineFormat('save', '<version> <sizeBytes> <at> <sum> <other> <device>\n', {
  version: whole,
  /** Bytes of the text, in UTF-8. */
  sizeBytes: whole,
  /** The time at which the version was written, in milliseconds since 1970. */
  at: whole,
  /** `SavedText.sum` of the text. */
  sum: whole,
  /** The version with the data of a guest that moved in, until a save is written with `ifVersion`. 0 if there is none. */
  other: whole,
  /** The name that the client gave its device. */
  device: restOfLine,
});

/** The last version of a save that was deleted. */
export const endedSave = defineFormat('ended', '<place> <version>\n', { place: word, version: whole });

export type SaveVersion = Parsed<typeof saveVersion>;

export const saveLibrary = defineLibrary(new URL('saves.lua', import.meta.url), {
  formats: [saveVersion, endedSave],
  constants: { KEPT_VERSIONS, MOST_NAMES, MOST_GAME_BYTES, MOST_ACCOUNT_BYTES, LEAST_BYTES, PIECE_BYTES },
});

/** A save with its versions. The current version is the first. */
export interface Save {
  readonly game: string;
  readonly name: string;
  readonly versions: readonly [standing: SaveVersion, ...older: SaveVersion[]];
}

/** Parses the versions from the lines of a save's field. */
export function versionsIn(lines: string): Save['versions'] {
  const versions = lines.split(/(?<=\n)/).map((line) => saveVersion.parse(line));
  return versions.filter((version) => version !== undefined) as unknown as Save['versions'];
}

/** Finds the saves among fields of an account's hash of saves. @param words field, value, field, value … */
export function savesIn(words: readonly string[]): Save[] {
  return pairsOf(words).flatMap(([field, lines]) => {
    const [, game, name] = /^([a-z0-9][\w-]*)\/([\w-]+)$/.exec(field) ?? [];
    return game === undefined || name === undefined ? [] : [{ game, name, versions: versionsIn(lines) }];
  });
}

/** The field of a save. */
export const fieldOf = ({ game, name }: Pick<Save, 'game' | 'name'>): string => `${game}/${name}`;

/** The data of a save as it is kept. */
export interface SavedText {
  readonly text: string;
  readonly sizeBytes: number;
  /**
   * The sum of the squared bytes. If only the order of members in objects differs, two texts have the same bytes, and so the same sum and size.
   */
  readonly sum: number;
}

/** @param bytes the text in UTF-8 */
export function savedText(text: string, bytes: Buffer = Buffer.from(text)): SavedText {
  let sum = 0;
  for (let index = 0; index < bytes.length; index++) sum += bytes[index]! * bytes[index]!;
  return { text, sizeBytes: bytes.length, sum };
}

/** The number of bytes that a save counts for its account and for the daily budget of the client address. */
export const countedBytes = ({ sizeBytes }: { readonly sizeBytes: number }): number => Math.max(sizeBytes, LEAST_BYTES);

const SaveName = GameId.meta({ description: 'The name of the save, which the game chooses.', example: 'slot-1' });

export const GameParams = z.object({ game: GameId });
export const SaveParams = z.object({ game: GameId, name: SaveName });

export const Version = z
  .number()
  .int()
  .min(1)
  .meta({ description: 'The number of the version. It rises by one with each change of the save, and never begins again.', example: 3 });

export const IfVersion = z
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER)
  .optional()
  .meta({ description: 'Refuses with `stale_save` unless this is the current version. With 0, refuses unless there is no save.' });

export const Device = plainText(64).meta({
  description: 'The name that people know for the device that wrote the save.',
  example: 'Ada’s tablet',
});

export const SaveData = FreeJson.refine((value) => value !== undefined, 'Must be sent')
  .transform((value) => (value instanceof CompactJson ? savedText(value.text, value.bytes) : savedText(JSON.stringify(value))))
  .meta({
    description: 'Any JSON of at most SAVE_BYTES bytes as compact UTF-8 (64 KiB), nested at most 32 levels deep.',
    example: { level: 3 },
  });

export const SaveBody = z.object({ installId: OptionalInstallId, data: SaveData, ifVersion: IfVersion, device: Device.optional() });

export const Listed = z
  .object({
    name: SaveName,
    version: Version,
    sizeBytes: z.number().int().meta({ description: 'Bytes of the data as compact JSON in UTF-8.' }),
    updatedAt: z.iso.datetime(),
    device: Device.optional(),
  })
  .meta({
    id: 'ListedSave',
    example: { name: 'slot-1', version: 3, sizeBytes: 11, updatedAt: '2026-11-22T12:00:00.000Z', device: 'Ada’s tablet' },
  });

/** What a list shows of a version. */
export function listed({ version, sizeBytes, at, device }: SaveVersion) {
  return { version, sizeBytes, updatedAt: isoTime(at)!, device: device === '' ? undefined : device };
}

/**
 * Counts work on a long text as further requests. @param meta undefined: an operator's work is not counted
 * @throws Refusal `rate_limited`
 */
export function chargeFor(bytes: number, meta: Pick<RequestMeta, 'charge'> | undefined): void {
  const waitMs = meta?.charge(Math.floor(bytes / BYTES_A_REQUEST)) ?? 0;
  if (waitMs > 0) throw rateLimited(waitMs);
}

/**
 * @param words the version that stands, when it was written, and its data; version 0: none stands
 * @param meta counts the long answer to a short request
 * @throws Refusal `rate_limited`
 */
export function refuseStale([version, at, text = '']: readonly string[], meta?: Pick<RequestMeta, 'charge'>): Refusal<'stale_save'> {
  chargeFor(text.length, meta);
  const standing = text === '' ? {} : { updatedAt: isoTime(at)!, data: JSON.parse(text) as unknown };
  return refuse('stale_save', { version: Number(version), ...standing });
}

/** Each further 16 KiB count as another request, as for the answers to reads. */
const BYTES_A_REQUEST = 16 * 1024;

/** The limit on the player's saves that a save would exceed. */
const full = {
  names: `A player has at most ${MOST_NAMES} saves in a game.`,
  game: `The saves of a player in a game have at most ${MOST_GAME_BYTES} bytes together.`,
  account: `All versions of a player's saves have at most ${MOST_ACCOUNT_BYTES} bytes together. A deleted save has no versions.`,
};

/** @param limit a word of `save.lua` */
export function refuseFull(limit: string): Refusal<'save_limit'> {
  return refuse('save_limit', { message: full[limit as keyof typeof full], field: limit === 'names' ? 'name' : 'data' });
}
