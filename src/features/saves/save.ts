import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { ScriptCaller } from '../../accounts/caller-scripts.ts';
import { isoTime } from '../../accounts/merge-rules.ts';
import { opensAccount } from '../../accounts/prologues.ts';
import { endpoint, type Services } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { Encoded, type RequestMeta } from '../../server/http/endpoint.ts';
import {
  BODY_BYTES,
  chargeFor,
  countedBytes,
  keysOf,
  MOST_DEPTH,
  refuseFull,
  refuseStale,
  SaveBody,
  saveLibrary,
  SaveParams,
  Version,
} from './model.ts';
import type { SavedText } from './model.ts';

const saveScript = defineScript({
  file: new URL('save.lua', import.meta.url),
  keys: ['saves', 'texts'],
  args: ['game', 'name', 'text', 'sizeBytes', 'sum', 'ifVersion', 'device', 'sameAs', 'isBounded'],
  answers: ['saved', 'unchanged', 'compare', 'stale_save', 'save_limit', 'rate_limited'],
  prologue: opensAccount,
  library: saveLibrary,
  durable: true,
});

type Write = {
  readonly game: string;
  readonly name: string;
  readonly ifVersion?: number | undefined;
  readonly device?: string | undefined;
};

/** Writes a save for a caller. @param meta undefined for an operator, to whom the limits on names and bytes do not apply */
export async function writeSave(
  caller: ScriptCaller & { readonly accountId: string },
  { game, name, ifVersion, device = '' }: Write,
  data: SavedText,
  { scripts }: Pick<Services, 'scripts'>,
  meta?: Pick<RequestMeta, 'charge'>,
) {
  const args = { game, name, ...data, ifVersion: ifVersion ?? '', device, isBounded: meta === undefined ? 0 : 1 };
  const write = (sameAs: string) => scripts.runAs(caller, saveScript, keysOf(caller.accountId), { ...args, sameAs });
  let [word, version = '', ...rest] = await write('');
  if (word === 'compare') {
    chargeFor(COMPARED * data.sizeBytes, meta);
    const isSame = isDeepStrictEqual(JSON.parse(rest[0]!), JSON.parse(data.text));
    [word, version = '', ...rest] = await write(isSame ? version : '0');
  }
  if (word === 'stale_save') return refuseStale([version, ...rest], meta);
  return word === 'save_limit' ? refuseFull(version) : saved(Number(version), isoTime(rest[0])!, word === 'saved');
}

/** To parse and compare two texts takes as much CPU time as to receive this many texts of the same length. */
const COMPARED = 2;

export const save = endpoint({
  method: 'POST',
  path: '/v1/saves/{game}/{name}',
  operationId: 'writeSave',
  caller: 'required',
  keyScope: 'saves',
  reach: 'game',
  summary: 'Writes data of the player as the next version of a save.',
  description:
    'Data that equals what stands, by value, answers the standing version and changes nothing, so a repetition is harmless. `ifVersion` ' +
    'compares and sets: if another version stands, 409 `stale_save` has it. Without `ifVersion` the last writer wins, and the ' +
    `replaced version stays among the last five. 409 \`save_limit\`: at most 16 saves a game, 256 KiB a game as they stand, and 1 MiB an ` +
    'account with all versions, where a version counts at least 256 bytes. SAVE_BYTES_PER_DAY limits the bytes that an address writes in a day.',
  params: SaveParams,
  body: SaveBody,
  textField: 'data',
  bodyBounds: { bytes: BODY_BYTES, depth: MOST_DEPTH + 1, containers: Infinity },
  reply: z.object({ version: Version, updatedAt: z.iso.datetime() }),
  errors: ['stale_save', 'save_limit'],
  writesBytes: {
    most: ({ data }: z.output<typeof SaveBody>) => countedBytes(data),
    hasWritten: ({ isNew }: ReturnType<typeof saved>) => isNew,
  },
  example: `curl -s $base/v1/saves/pebble-drop/slot-1 -H 'content-type: application/json' -d '{"installId":"install-0001","data":{"level":3}}'`,
  handle: ({ caller, params, body: { data, ...body }, meta }, services: Pick<Services, 'scripts' | 'config'>) =>
    data.sizeBytes > services.config.SAVE_BYTES
      ? refuse('save_limit', { message: `A save has at most ${services.config.SAVE_BYTES} bytes.`, field: 'data' })
      : writeSave(caller, { ...params, ...body }, data, services, meta),
});

const saved = (version: number, updatedAt: string, isNew: boolean) =>
  Object.assign(new Encoded(`{"ok":true,"version":${version},"updatedAt":"${updatedAt}"}`), { version, isNew });
