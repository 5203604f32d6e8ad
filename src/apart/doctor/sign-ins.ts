import { pino } from 'pino';
import type { Config } from '../../config.ts';
import { AppleRevocation, revocationSettings } from '../../stores/openid/apple-revocation.ts';
import { probeIssuer } from '../../stores/openid/issuer-keys.ts';
import type { Diagnosis } from './diagnosis.ts';

/** If the clocks differ by this many milliseconds or more, tokens may be refused. The service tolerates a minute. */
const MOST_APART_MS = 30_000;

/**
 * Examines the key with which the service revokes the sign-ins of deleted accounts at Apple. @param settings replaces the settings of
 * `config`
 */
export async function examineRevocation(config: Config, diagnosis: Diagnosis, settings = revocationSettings(config)): Promise<void> {
  if (settings === undefined) {
    if (config.APPLE_CLIENT_IDS.length > 0)
      diagnosis.find('note', 'apple_not_revoked', {
        text: 'Sign-ins with Apple of deleted accounts are not revoked at Apple (APPLE_TEAM_ID is not set).',
        cost: 'Apple requires this of apps in which users can delete their accounts: App Review may refuse the app.',
        mend: 'APPLE_TEAM_ID, APPLE_SIGN_IN_KEY_ID and APPLE_SIGN_IN_KEY_FILE (docs/sign-ins.md#apple)',
      });
    return;
  }
  const revocation = new AppleRevocation({ settings, wallClock: Date.now, log: pino({ level: 'silent' }) });
  await Promise.all(
    settings.clientIds.map(async (clientId) => {
      const error = await revocation.probe(clientId).catch((fault: unknown) => (fault as Error).message);
      diagnosis.fact(`Sign in with Apple ${clientId}`, error === 'invalid_grant' ? 'Apple takes the key' : error);
      if (error !== 'invalid_grant')
        diagnosis.find('warning', 'apple_sign_in_key', {
          text: `Apple refuses the key of Sign in with Apple for ${clientId}: ${error}.`,
          cost: 'Deletions work, but the rights that the user has granted are not revoked at Apple (appleRevoked: false).',
          mend: 'Compare APPLE_TEAM_ID, APPLE_SIGN_IN_KEY_ID and APPLE_SIGN_IN_KEY_FILE with the developer account (Keys), and the clock',
        });
    }),
  );
}

/** Examines the sign-in providers of players and operators: whether this machine can fetch their keys, and whether the clocks agree. */
export async function examineSignIns({ OPENID_PROVIDERS, CONSOLE_SIGN_IN, production }: Config, diagnosis: Diagnosis): Promise<void> {
  const rows = [
    ...OPENID_PROVIDERS.map(({ name, issuer }) => ({ name, issuer, setting: 'OPENID_PROVIDERS', page: 'docs/sign-ins.md' })),
    ...CONSOLE_SIGN_IN.map(({ name, issuer }) => ({ name, issuer, setting: 'CONSOLE_SIGN_IN', page: 'docs/console.md' })),
  ];
  await Promise.all(
    rows.map(async ({ name, issuer, setting, page }) => {
      try {
        const { keys, date } = await probeIssuer(issuer, !production);
        diagnosis.fact(`sign-in ${name}`, `${issuer}, ${keys} keys`);
        const apartMs = Math.abs(Date.now() - Date.parse(date ?? ''));
        if (apartMs > MOST_APART_MS)
          diagnosis.find('warning', 'issuer_clock', {
            text: `The clock of the provider ${name} and that of this machine differ by ${Math.round(apartMs / 1000)} s.`,
            cost: 'From a minute on, ID tokens are refused, because they seem to come from the future or to have expired.',
            mend: 'Set the clock of this machine by NTP.',
          });
      } catch (error) {
        diagnosis.find('warning', 'issuer_unreachable', {
          text: `The keys of the provider ${name} cannot be fetched: ${(error as Error).message}.`,
          cost: 'Its users cannot sign in (503 app_store_unavailable).',
          mend: `Open ${issuer.replace(/\/$/, '')}/.well-known/openid-configuration from this machine: the issuer in ${setting} must be the one in it (${page}).`,
        });
      }
    }),
  );
}
