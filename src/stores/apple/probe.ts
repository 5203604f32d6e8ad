import { setTimeout as pause } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { z } from 'zod';
import { boundedFetch, Fault, parseJson, type TextAnswer } from '../bounded-fetch.ts';
import { ApiTokens } from './api-tokens.ts';
import type { AppleApiSettings } from './settings.ts';

/** The outcome of a test notification that Apple was asked to send for an app. */
export interface ProbedApp {
  /**
   * `sent`: Apple knows the app, and tried to send. `no_address`: App Store Connect has no address for notifications. `refused`: Apple refuses
   * the key, or the key is not for this app.
   */
  readonly word: 'sent' | 'no_address' | 'refused';
  /** What Apple answered, for people. */
  readonly reason: string;
  /** The id of the app in App Store Connect. Undefined: Apple has not said it yet. */
  readonly appId?: number | undefined;
  /** The outcome of the last attempt to send: `SUCCESS`, or the reason of the failure. Undefined: Apple has not tried yet. */
  readonly attempt?: string | undefined;
  /** The time of Apple's answer, by Apple's clock. */
  readonly date: string | undefined;
}

const CALL_MS = 4000;

/** How many times, and at which interval in milliseconds, Apple is asked for the outcome of a test notification. */
const CHECKS = 4;
const CHECK_AFTER_MS = 1000;

/** Apple's error for an app without an address for notifications. */
const NO_ADDRESS = 4040007;

const Requested = z.object({ testNotificationToken: z.string().min(1).max(1024) });

const Checked = z.object({
  signedPayload: z.string().optional(),
  sendAttempts: z.array(z.object({ sendAttemptResult: z.string().max(64) })).optional(),
});

const Payload = z.object({ data: z.object({ appAppleId: z.int().optional() }).optional() });

/**
 * For the doctor: asks Apple to send a test notification for an app in production, and reads how that went. This tests the key, the app and
 * the address for notifications at once.
 * @throws Fault if Apple does not answer
 */
export async function probeApp(bundleId: string, api: AppleApiSettings): Promise<ProbedApp> {
  const tokens = new ApiTokens({ wallClock: Date.now, monotonic: () => performance.now() });
  const ask = async (method: 'GET' | 'POST', path: string): Promise<TextAnswer> => {
    const headers = { authorization: `Bearer ${await tokens.of(bundleId, api)}`, accept: 'application/json' };
    return boundedFetch(`${api.urls.Production}/inApps/v1/notifications/test${path}`, { method, headers }, CALL_MS);
  };
  const { status, headers, text } = await ask('POST', '');
  const { date } = headers;
  if (status >= 500) throw new Fault(`status ${status}`);
  if (status !== 200) {
    const isWithout = text.includes(String(NO_ADDRESS));
    return { word: isWithout ? 'no_address' : 'refused', reason: `status ${status} ${text.slice(0, 200)}`.trim(), date };
  }
  const { testNotificationToken: token } = Requested.parse(parseJson(text));
  for (let checks = 0; checks < CHECKS; checks++) {
    if (checks > 0) await pause(CHECK_AFTER_MS);
    const checked = await ask('GET', `/${encodeURIComponent(token)}`);
    const { signedPayload, sendAttempts = [] } = checked.status === 200 ? Checked.parse(parseJson(checked.text)) : {};
    const attempt = sendAttempts.at(-1)?.sendAttemptResult;
    if (signedPayload === undefined || attempt === undefined) continue;
    return { word: 'sent', reason: 'Apple sent a test notification', appId: appIdIn(signedPayload), attempt, date };
  }
  return { word: 'sent', reason: 'Apple takes its time to send a test notification', date };
}

function appIdIn(signedPayload: string): number | undefined {
  try {
    return Payload.parse(decodeJwt(signedPayload)).data?.appAppleId;
  } catch {
    return undefined;
  }
}
