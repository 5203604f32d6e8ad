import { z } from 'zod';
import { opensAccount } from '../../accounts/prologues.ts';
import { defineScript } from '../../redis/script.ts';
import { endpoint, type Services } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { FirstRunAt } from './model.ts';

const firstRunScript = defineScript({
  file: new URL('first-run.lua', import.meta.url),
  keys: [],
  answers: ['first_run'],
  prologue: opensAccount,
});

export const firstRun = endpoint({
  method: 'POST',
  path: '/v1/entitlement/first-run',
  operationId: 'recordFirstRun',
  caller: 'required',
  summary: "Records the app's first run, once, on the server's clock.",
  description: 'Later calls change nothing, and answer with the time of the first call. The call starts no trial.',
  body: z.object({ installId: OptionalInstallId }),
  reply: z.object({ firstRunAt: FirstRunAt }),
  example: `curl -s $base/v1/entitlement/first-run -H 'content-type: application/json' -d '{"installId":"install-0001"}'`,
  async handle({ caller }, { scripts }: Pick<Services, 'scripts'>) {
    const [, at] = await scripts.runAs(caller, firstRunScript, {}, {});
    return { firstRunAt: new Date(Number(at)).toISOString() };
  },
});
