import { z } from 'zod';
import { toldSubscription } from '../../../accounts/purchase-lines.ts';
import { opensAccount } from '../../../accounts/prologues.ts';
import { defineScript } from '../../../redis/script.ts';
import { Unchecked } from '../../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../../declare.ts';
import { OptionalInstallId } from '../../../accounts/ids.ts';

const reportScript = defineScript({
  file: new URL('report.lua', import.meta.url),
  keys: [],
  args: ['subscribed'],
  answers: ['recorded'],
  formats: [toldSubscription],
  prologue: opensAccount,
});

export const report = endpoint({
  method: 'POST',
  path: '/v1/subscription/report',
  operationId: 'reportSubscription',
  caller: 'required',
  summary: "Records the app's report that its user subscribes or no longer subscribes.",
  description:
    'A report is unverified: the last one counts for 72 hours, and never overrides a purchase that the app store confirmed. ' +
    'With `SUBSCRIPTION_REPORTS=ignore` the service answers `recorded:false` and records nothing.',
  body: z.object({ installId: OptionalInstallId, subscribed: z.boolean() }),
  reply: z.object({ recorded: z.boolean().meta({ description: 'Whether the report was recorded.' }) }),
  example: `curl -s $base/v1/subscription/report -H 'content-type: application/json' -d '{"installId":"install-0001","subscribed":true}'`,
  async handle({ caller, body }, { scripts, config }: Pick<Services, 'scripts' | 'config'>) {
    if (config.SUBSCRIPTION_REPORTS === 'ignore') return new Unchecked({ recorded: false });
    await scripts.runAs(caller, reportScript, {}, { subscribed: body.subscribed ? 1 : 0 });
    return { recorded: true };
  },
});
