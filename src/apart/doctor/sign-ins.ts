import type { Config } from '../../config.ts';
import { probeIssuer } from '../../stores/openid/issuer-keys.ts';
import type { Diagnosis } from './diagnosis.ts';

/** The difference of the clocks from which tokens may be refused, in milliseconds. The service tolerates a minute. */
const MOST_APART_MS = 30_000;

/** Examines the providers of OPENID_PROVIDERS: whether this machine reaches their keys, and whether the clocks agree. */
export async function examineSignIns({ OPENID_PROVIDERS, production }: Config, diagnosis: Diagnosis): Promise<void> {
  await Promise.all(
    OPENID_PROVIDERS.map(async ({ name, issuer }) => {
      try {
        const { keys, date } = await probeIssuer(issuer, !production);
        diagnosis.fact(`sign-in ${name}`, `${issuer}, ${keys} keys`);
        const apartMs = Math.abs(Date.now() - Date.parse(date ?? ''));
        if (apartMs > MOST_APART_MS)
          diagnosis.find('warning', 'issuer_clock', {
            text: `The clock of the provider ${name} and that of this machine differ by ${Math.round(apartMs / 1000)} s.`,
            cost: 'From a minute on, ID tokens are refused, because they seem to be of the future or to have expired.',
            mend: 'Set the clock of this machine by NTP.',
          });
      } catch (error) {
        diagnosis.find('warning', 'issuer_unreachable', {
          text: `The keys of the provider ${name} cannot be fetched: ${(error as Error).message}.`,
          cost: 'Its users cannot sign in (503 app_store_unavailable).',
          mend: `Open ${issuer.replace(/\/$/, '')}/.well-known/openid-configuration from this machine: the issuer in OPENID_PROVIDERS must be the one in it (docs/sign-ins.md).`,
        });
      }
    }),
  );
}
