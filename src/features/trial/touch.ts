import { z } from 'zod';
import { defineScript } from '../../redis/script.ts';
import { Reply } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';
import { deviceCookie, deviceHash, DeviceId, trialKeys, trialOf, TrialReply, type TrialServices } from './model.ts';

/** Starts a device's trial, if the device has never had a trial. Answers started(at). */
const touchScript = defineScript({
  name: 'trial/touch',
  lua: `redis.call('HSETNX', device, 'trialStartedAt', now)
    return {'started', redis.call('HGET', device, 'trialStartedAt')}`,
  keys: ['device'],
  args: ['now'],
  answers: ['started'],
});

export const touchTrial = endpoint({
  method: 'POST',
  path: '/v1/trial/touch',
  operationId: 'touchTrial',
  caller: 'none',
  summary: "Starts a device's trial. Later calls only answer with its state.",
  description:
    "The start is set once, on the server's clock: a reinstall does not restart the trial. " +
    'The reply sets the signed cookie svc_device, which names the device.',
  body: z.object({ deviceId: DeviceId }),
  reply: TrialReply,
  creates: true,
  example: `curl -s $base/v1/trial/touch -b cookies.txt -c cookies.txt -H 'content-type: application/json' -d '{"deviceId":"device-0001"}'`,
  async handle({ body, meta }, services: TrialServices) {
    const { scripts, config, now } = services;
    const device = deviceHash(body.deviceId);
    const [, startedAt] = await scripts.run(touchScript, { device: trialKeys.device(device) }, { now: now() });
    const trial = trialOf(Number(startedAt), now(), config.TRIAL_DAYS);
    const cookies = deviceCookie(device, meta, services);
    return cookies === undefined ? trial : new Reply(trial, { cookies });
  },
});
