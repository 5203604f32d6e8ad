import { z } from 'zod';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { endpoint, type Services } from '../../declare.ts';
import { defineScript } from '../../redis/script.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { GameParams, Listed, listed, keysOf, versionsIn } from './model.ts';

const listScript = defineScript({
  file: new URL('list.lua', import.meta.url),
  keys: ['saves'],
  args: ['game'],
  answers: ['saves'],
  prologue: checksCaller,
  readOnly: true,
});

export const listSaves = endpoint({
  method: 'GET',
  path: '/v1/saves/{game}',
  operationId: 'listSaves',
  caller: 'required',
  keyScope: 'saves',
  reach: 'game',
  summary: 'The saves of a player in a game, without their data.',
  params: GameParams,
  query: z.object({ installId: OptionalInstallId }),
  reply: z.object({ saves: z.array(Listed).meta({ description: 'In the order of their names.' }) }),
  example: `curl -s $base/v1/saves/pebble-drop -H 'x-install-id: install-0001'`,
  async handle({ caller, params: { game } }, { scripts }: Pick<Services, 'scripts'>) {
    const { saves: key } = keysOf(caller.accountId);
    const [, ...words] = await scripts.runAs(caller, listScript, { saves: key }, { game });
    const saves = pairsOf(words).map(([name, lines]) => ({ name, ...listed(versionsIn(lines)[0]) }));
    return { saves: saves.toSorted((one, another) => (one.name < another.name ? -1 : 1)) };
  },
});
