import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import {
  deviceHash,
  DeviceId,
  deviceOfCookie,
  deviceOfHeader,
  statusScript,
  trialKeys,
  trialOf,
  TrialReply,
  type TrialServices,
} from './model.ts';

export const trialStatus = endpoint({
  method: 'GET',
  path: '/v1/trial/status',
  operationId: 'getTrial',
  caller: 'optional',
  auth: 'none',
  summary: 'The state of a trial. The call does not start a trial.',
  description:
    '`?deviceId=` names the device, else the header `x-device-id`, else the cookie svc_device. ' +
    "Without a device the reply is the trial linked to the session's account.",
  query: z.object({ deviceId: DeviceId.optional() }),
  reply: TrialReply,
  example: `curl -s "$base/v1/trial/status?deviceId=device-0001"`,
  async handle({ caller, query, meta }, services: TrialServices) {
    const { scripts, config, now } = services;
    const device = query.deviceId === undefined ? (deviceOfHeader(meta) ?? deviceOfCookie(meta, services)) : deviceHash(query.deviceId);
    const holder = device === undefined ? caller?.accountKey : trialKeys.device(device);
    if (holder === undefined) return trialOf(undefined, now(), config.TRIAL_DAYS);
    const [word, startedAt] = await scripts.runFor(caller, statusScript, { holder }, {});
    return trialOf(word === 'none' ? undefined : Number(startedAt), now(), config.TRIAL_DAYS);
  },
});
