import { X509Certificate } from 'node:crypto';
import type { Config } from '../../config.ts';
import { probeApp, type ProbedApp } from '../../stores/apple/probe.ts';
import { appleSettings, type AppleSettings } from '../../stores/apple/settings.ts';
import type { Diagnosis } from './diagnosis.ts';

/** If the clocks differ by this many milliseconds or more, Apple may refuse the service's tokens. */
const MOST_APART_MS = 30_000;

/** The most apps for which the doctor asks Apple to send a test notification. */
const MOST_APPS = 10;

/**
 * Examines Apple as the app store: its roots, and if the API's keys are set, also the key, the apps, their ids, the address for
 * notifications and the clock. Must be called only if these settings have no problem.
 */
export async function examineApple(config: Config, diagnosis: Diagnosis): Promise<void> {
  if (!config.STORE.split(',').includes('apple')) return;
  const settings = appleSettings(config);
  for (const root of (await settings.roots()) as readonly X509Certificate[]) examineRoot(root, diagnosis);
  const { api, bundleIds, appIds } = settings;
  if (api === undefined) {
    diagnosis.find('note', 'apple_not_asked', {
      text: 'Apple is not asked about purchases: only texts that Apple has signed decide.',
      cost: 'If all notifications of a refund or a renewal get lost, it is known only once the app sends the transaction again.',
      mend: 'APPLE_ISSUER_ID, APPLE_KEY_ID and APPLE_KEY_FILE (docs/stores.md#apple)',
    });
    return;
  }
  if (bundleIds.length > 0 && appIds.length === 0)
    diagnosis.find('note', 'apple_app_ids', {
      text: 'Notifications of Apple are accepted with any app id (APPLE_APP_IDS is not set).',
      cost: 'The risk is small: Apple has signed the notifications, and their bundle ids are compared.',
      mend: 'APPLE_APP_IDS=<the Apple ID of each app, App Store Connect → App Information>',
    });
  await Promise.all(bundleIds.slice(0, MOST_APPS).map((bundleId) => examineApp(bundleId, settings, diagnosis)));
}

function examineRoot(root: X509Certificate, diagnosis: Diagnosis): void {
  const name = /^CN=(.*)$/m.exec(root.subject)?.[1] ?? root.subject.replaceAll('\n', ', ');
  diagnosis.fact('root of Apple', `${name}, until ${new Date(root.validTo).toISOString().slice(0, 10)}`);
  if (!/(?:^|\n)O=Apple Inc\.(?:\n|$)/.test(root.subject))
    diagnosis.find('warning', 'apple_root', {
      text: `APPLE_ROOTS_FILE has a root that is not Apple's by its name: ${name}.`,
      cost: 'Whoever has its key can sign purchases.',
      mend: 'Use Apple Root CA - G3 of https://www.apple.com/certificateauthority/',
    });
}

async function examineApp(bundleId: string, { api, appIds }: AppleSettings, diagnosis: Diagnosis): Promise<void> {
  let probed: ProbedApp;
  try {
    probed = await probeApp(bundleId, api!);
  } catch (error) {
    diagnosis.find('warning', 'apple_unreachable', {
      text: `Apple's API does not answer: ${(error as Error).message}.`,
      cost: 'Claims of purchases in the App Store answer 503 app_store_unavailable.',
      mend: 'Open https://api.storekit.apple.com from this machine, and look at https://developer.apple.com/system-status/',
    });
    return;
  }
  const { word, reason, appId, attempt, date } = probed;
  diagnosis.fact(`Apple ${bundleId}`, [word, appId, attempt].filter((part) => part !== undefined).join(', '));
  const apartMs = Math.abs(Date.now() - Date.parse(date ?? ''));
  if (apartMs > MOST_APART_MS)
    diagnosis.find('warning', 'apple_clock', {
      text: `The clocks of Apple and of this machine differ by ${Math.round(apartMs / 1000)} s.`,
      cost: 'Apple may refuse the tokens of the service, and the service may refuse texts that Apple has just signed.',
      mend: 'Set the clock of this machine by NTP.',
    });
  if (word === 'refused')
    diagnosis.find('danger', 'apple_key', {
      text: `Apple refuses the key of the API for the app ${bundleId}: ${reason}.`,
      cost: 'Claims of its purchases answer 503 app_store_unavailable, and lost refunds are not found.',
      mend: 'Compare APPLE_ISSUER_ID, APPLE_KEY_ID and APPLE_KEY_FILE with App Store Connect (Users and Access → Integrations → In-App Purchase). An app that was never released has no production yet',
    });
  if (word === 'no_address')
    diagnosis.find('warning', 'apple_address', {
      text: `App Store Connect has no address for notifications of the app ${bundleId}.`,
      cost: 'Renewals and refunds become known late, and purchases only through the app.',
      mend: 'App Store Connect → App Information → App Store Server Notifications: PUBLIC_URL/v1/store/apple/notifications, version 2',
    });
  if (appId !== undefined && appIds.length > 0 && !appIds.includes(appId))
    diagnosis.find('danger', 'apple_app_id', {
      text: `The app ${bundleId} has the id ${appId} at Apple, which APPLE_APP_IDS lacks.`,
      cost: 'Its notifications are refused with 401 bad_token.',
      mend: `APPLE_APP_IDS=${[...appIds, appId].join(',')}`,
    });
  if (attempt !== undefined && attempt !== 'SUCCESS')
    diagnosis.find('warning', 'apple_not_delivered', {
      text: `Apple could not deliver a test notification of the app ${bundleId}: ${attempt}.`,
      cost: 'Renewals and refunds are known late.',
      mend: 'Make https://YOUR-HOST/v1/store/apple/notifications reachable from the internet, with a certificate that browsers trust',
    });
}
