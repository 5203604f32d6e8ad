import { z } from 'zod';
import { opensAccount } from '../../accounts/prologues.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { SlotsApart } from '../../redis/script-runner.ts';
import { Unchecked } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';
import { deviceOfCookie, deviceOfHeader, statusScript, trialKeys, trialOf, TrialReply, type TrialServices } from './model.ts';

const linkScript = defineScript({
  file: new URL('link.lua', import.meta.url),
  keys: ['device'],
  args: ['deviceHash', 'knownStart'],
  answers: ['linked', 'no_trial'],
  prologue: opensAccount,
  slotOf: 'device',
  apart: false,
});

export const linkTrial = endpoint({
  method: 'POST',
  path: '/v1/trial/link',
  operationId: 'linkTrial',
  caller: 'session',
  summary: "Links the device's trial to the signed-in account.",
  description:
    'The header `x-device-id` names the device, else the cookie svc_device. The account keeps the earlier of the two starts, so a link ' +
    "never extends a trial. The device's own start never changes. A second link of the same device changes nothing.",
  headers: { 'x-device-id': 'The deviceId. Without the header the cookie svc_device names the device.' },
  body: z.object({}),
  emptyBody: true,
  reply: TrialReply,
  errors: ['no_trial'],
  example: `curl -s $base/v1/login -o /dev/null -c cookies.txt -H 'content-type: application/json' -d '{"installId":"install-0001"}'; curl -s -X POST $base/v1/trial/link -b cookies.txt -H 'x-device-id: device-0001' -H 'content-type: application/json'`,
  async handle({ caller, meta }, services: TrialServices) {
    const { scripts, config, now } = services;
    const device = deviceOfHeader(meta) ?? deviceOfCookie(meta, services);
    if (device === undefined) return new Unchecked(refuse('no_trial'));
    const link = (key: string, knownStart: string) =>
      scripts.runAs(caller, linkScript, { device: key }, { deviceHash: device, knownStart });
    const key = trialKeys.device(device);
    const [word, startedAt] = await link(key, '').catch(async (error: unknown) => {
      if (!(error instanceof SlotsApart)) throw error;
      const [found, start = ''] = await scripts.run(statusScript, { holder: key }, {});
      // With a known start the script does not read the device's key. So the script gets the account's key in place of the device's key,
      // because the account's key is in the right slot.
      return found === 'none' ? (['no_trial'] as const) : link(caller.accountKey, start);
    });
    return word === 'no_trial' ? refuse(word) : trialOf(Number(startedAt), now(), config.TRIAL_DAYS);
  },
});
