import { z } from 'zod';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { endpoint, type Services } from '../../declare.ts';
import { defineScript } from '../../redis/script.ts';
import { IfVersion, keysOf, refuseStale, saveLibrary, SaveParams } from './model.ts';

const deleteScript = defineScript({
  file: new URL('delete.lua', import.meta.url),
  keys: ['saves', 'texts'],
  args: ['game', 'name', 'ifVersion'],
  answers: ['deleted', 'none', 'stale_save'],
  prologue: checksCaller,
  library: saveLibrary,
  durable: true,
});

export const deleteSave = endpoint({
  method: 'POST',
  path: '/v1/saves/{game}/{name}/delete',
  operationId: 'deleteSave',
  caller: 'required',
  keyScope: 'saves',
  reach: 'game',
  summary: 'Deletes a save with all its versions.',
  description: 'A save that does not exist is 200 with `deleted: false`. A later save of the name has the next version.',
  params: SaveParams,
  body: z.object({ installId: OptionalInstallId, ifVersion: IfVersion }),
  emptyBody: true,
  reply: z.object({ deleted: z.boolean().meta({ description: 'Whether there was such a save.' }) }),
  errors: ['stale_save'],
  example: `curl -s $base/v1/saves/pebble-drop/slot-1/delete -H 'content-type: application/json' -d '{"installId":"install-0001"}'`,
  async handle({ caller, params, body: { ifVersion = '' as const }, meta }, { scripts }: Pick<Services, 'scripts'>) {
    const [word, ...standing] = await scripts.runAs(caller, deleteScript, keysOf(caller.accountId), { ...params, ifVersion });
    return word === 'stale_save' ? refuseStale(standing, meta) : { deleted: word === 'deleted' };
  },
});
