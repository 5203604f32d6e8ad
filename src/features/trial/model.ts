import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { heldFields } from '../../accounts/merge-rules.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { invalid } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { cookieValue, setCookie } from '../../server/identity/cookies.ts';
import type { RequestMeta } from '../../server/http/endpoint.ts';
import type { TokenClaims } from '../../server/identity/signed-token.ts';
import type { Services } from '../../declare.ts';

const DAY_MS = 86_400_000;

export const DeviceId = z
  .string()
  .regex(/^[\x21-\x7e]{8,128}$/, 'Must be 8 to 128 visible ASCII characters')
  .meta({ description: 'Identifier of a device. It must survive a reinstall of the app.', example: 'device-0001' });

export const TrialReply = z
  .object({
    active: z.boolean(),
    state: z.enum(['none', 'active', 'expired']),
    startedAt: z.iso.datetime().optional(),
    expiresAt: z.iso.datetime().optional(),
    remainingSeconds: z
      .number()
      .int()
      .min(1)
      .optional()
      .meta({ description: 'Whole seconds, rounded up. Left out unless the trial is active.' }),
  })
  .meta({
    id: 'Trial',
    example: {
      active: true,
      state: 'active',
      startedAt: '2026-11-22T12:00:00.000Z',
      expiresAt: '2026-11-29T12:00:00.000Z',
      remainingSeconds: 604_800,
    },
  });

export type Trial = z.output<typeof TrialReply>;

/** The state of a trial of `trialDays` days at the time `nowMs`. Without a start the state is `none`. Times are milliseconds since 1970. */
export function trialOf(startedAtMs: number | undefined, nowMs: number, trialDays: number): Trial {
  if (startedAtMs === undefined) return { active: false, state: 'none' };
  const endsAtMs = startedAtMs + trialDays * DAY_MS;
  const times = { startedAt: new Date(startedAtMs).toISOString(), expiresAt: new Date(endsAtMs).toISOString() };
  if (nowMs >= endsAtMs) return { active: false, state: 'expired', ...times };
  return { active: true, state: 'active', ...times, remainingSeconds: Math.ceil((endsAtMs - nowMs) / 1000) };
}

/** 132 bits of the SHA-256 hash of a deviceId. Redis and the cookie have only this hash, from which the deviceId cannot be computed. */
export function deviceHash(deviceId: string): string {
  return hash('sha256', `coinop:device:${deviceId}`, 'base64url').slice(0, 22);
}

export const trialFields = heldFields('earlier', 'trialStartedAt', 'trialDevice');

export const trialKeys = {
  /**
   * The key of a device's trial, a Redis hash. The hash's field `trialStartedAt` (milliseconds since 1970) is set once. Only operators
   * change this field, and `earlierStarts` then has the former starts. The key never expires, because otherwise the device could start its
   * trial again. In the account's hash, a field with the same name `trialStartedAt` is the start of the trial that is linked to the
   * account.
   * @param device the hash of the deviceId (`deviceHash`)
   */
  device: (device: string) => `{device:${device}}`,
};

/** Reads the start of a device's trial, or of the trial that is linked to an account. Answers started(at), none. */
export const statusScript = defineScript({
  name: 'trial/status',
  lua: `local started_at = redis.call('HGET', holder, 'trialStartedAt')
    if not started_at then return {'none'} end
    return {'started', started_at}`,
  keys: ['holder'],
  answers: ['started', 'none'],
  prologue: checksCaller,
  slotOf: 'holder',
  readOnly: true,
});

export const DEVICE_COOKIE = 'svc_device';

/**
 * How long the cookie svc_device is valid. The cookie lives 400 days, because browsers keep no cookie longer (RFC 6265bis, section 5.5).
 */
const DEVICE_COOKIE_LIFE_MS = 400 * DAY_MS;

/** Hash of the deviceId in the header x-device-id. @throws Refusal `invalid_request` when the header is no valid deviceId */
export function deviceOfHeader({ deviceId }: RequestMeta): string | undefined {
  if (deviceId === '') return undefined;
  const parsed = DeviceId.safeParse(deviceId);
  if (!parsed.success) throw invalid('x-device-id', parsed.error.issues[0]!.message);
  return deviceHash(parsed.data);
}

type DeviceServices = Pick<Services, 'tokens' | 'now'>;

export type TrialServices = DeviceServices & Pick<Services, 'scripts' | 'config'>;

/** Hash of the deviceId in the cookie svc_device, if the cookie verifies. */
export function deviceOfCookie(meta: RequestMeta, services: DeviceServices): string | undefined {
  return deviceClaims(meta, services)?.subject;
}

/**
 * The Set-Cookie values that give the browser the cookie of a device. Undefined if the browser has a cookie of this device that is younger
 * than half its life.
 */
export function deviceCookie(device: string, meta: RequestMeta, services: DeviceServices): string[] | undefined {
  const now = services.now();
  const held = deviceClaims(meta, services);
  if (held?.subject === device && now < (held.issuedAt + held.expiresAt) / 2) return undefined;
  const claims = { subject: device, id: randomBytes(12).toString('base64url'), issuedAt: now, expiresAt: now + DEVICE_COOKIE_LIFE_MS };
  const token = services.tokens.sign('device', claims);
  return setCookie(DEVICE_COOKIE, token, { maxAgeSeconds: DEVICE_COOKIE_LIFE_MS / 1000 }, meta.cookieScope);
}

function deviceClaims({ cookie }: RequestMeta, { tokens, now }: DeviceServices): TokenClaims | undefined {
  const token = cookieValue(cookie, DEVICE_COOKIE);
  return token === undefined ? undefined : tokens.verify('device', token, now());
}
