import { z } from 'zod';
import type { ScriptCaller } from '../../accounts/caller-scripts.ts';
import { isoTime } from '../../accounts/merge-rules.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { endpoint, type Services } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { Device, keysOf, KEPT_VERSIONS, saveLibrary, SaveParams, Version } from './model.ts';

const loadScript = defineScript({
  file: new URL('load.lua', import.meta.url),
  keys: ['saves', 'texts'],
  args: ['game', 'name', 'version'],
  answers: ['save', 'save_not_found'],
  prologue: checksCaller,
  library: saveLibrary,
  readOnly: true,
  // If a failover lost a version that a client has read, another version with the same number could be written. A save that is based on the
  // lost version would then replace the new version, although the client never saw the new version.
  durable: true,
});

interface Place {
  readonly game: string;
  readonly name: string;
  /** Undefined: the standing version. */
  readonly version?: string | number | undefined;
}

/** Reads a version of a save. @returns undefined: there is none */
export async function readSave(
  caller: ScriptCaller & { readonly accountId: string },
  { game, name, version = '' }: Place,
  { scripts }: Pick<Services, 'scripts'>,
) {
  const [word, ...figures] = await scripts.runAs(caller, loadScript, keysOf(caller.accountId), { game, name, version });
  if (word === 'save_not_found') return undefined;
  const [found, at, other, device, text] = figures as [string, string, string, string, string];
  return { version: Number(found), at, other: Number(other), device, text };
}

export const load = endpoint({
  method: 'GET',
  path: '/v1/saves/{game}/{name}',
  operationId: 'loadSave',
  caller: 'required',
  keyScope: 'saves',
  reach: 'game',
  summary: 'A save with its data: the current version, or an earlier one.',
  description:
    'If a guest that moved into the account had a save of this name too, the account’s stands, and `other.version` names the version with ' +
    'the guest’s data, until a save is written with `ifVersion`.',
  params: SaveParams,
  query: z.object({
    installId: OptionalInstallId,
    version: z
      .string()
      .regex(/^[1-9]\d{0,15}$/, 'Must be a version')
      .optional()
      .meta({ type: 'integer', minimum: 1, description: `One of the last ${KEPT_VERSIONS} versions. If left out, the current version.` }),
  }),
  reply: z.object({
    name: z.string().meta({ example: 'slot-1' }),
    version: Version,
    data: z.unknown().meta({ description: 'As it was sent.', example: { level: 3 } }),
    updatedAt: z.iso.datetime(),
    device: Device.optional(),
    other: z
      .object({ version: Version })
      .optional()
      .meta({ description: 'The version of a guest that moved in.', example: { version: 2 } }),
  }),
  errors: ['save_not_found'],
  example: `curl -s $base/v1/saves/pebble-drop/slot-1 -H 'x-install-id: install-0001'`,
  async handle({ caller, params: { game, name }, query: { version } }, services: Pick<Services, 'scripts'>) {
    const found = await readSave(caller, { game, name, version }, services);
    if (found === undefined) return refuse('save_not_found');
    const { device, other, text } = found;
    const more = [
      ...(device === '' ? [] : [`"device":${JSON.stringify(device)}`]),
      ...(other === 0 ? [] : [`"other":{"version":${other}}`]),
      `"updatedAt":"${isoTime(found.at)}"`,
    ];
    // The answer is joined from texts, because the data is already JSON text.
    return new Encoded(`{"ok":true,"name":"${name}","version":${found.version},"data":${text},${more.join(',')}}`);
  },
});
