import { setTimeout as pause } from 'node:timers/promises';
import { median, percentile } from '../../bench/measure/statistics.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { bystanders } from '../floods/bystanders.ts';
import { Client, inParallel } from '../proofs/client.ts';
import { operate } from '../proofs/operator-tool.ts';
import { Place } from '../proofs/place.ts';
import type { Part, Stand } from '../proofs/proof.ts';

const PHASE_MS = 4000;
const MOST_RATIO = 1.5;
const LEAST_GRANTS_PER_SECOND = 500;

/** The most accounts of one call. */
const ACCOUNTS = 1000;
const WARM_UP_MS = 3000;

export const parts: readonly Part[] = [
  {
    ...{ proof: 'grants', name: 'bulk', seconds: 190, least: 40, prove },
    about: 'a bulk grant does not slow down other clients: phases without and with one alternate',
  },
];

/** Milliseconds. */
interface Phase {
  readonly health: number;
  readonly credit: number;
  /** The median of credits. It shows the cost of the grants even on a busy machine. */
  readonly usualCredit: number;
}

/**
 * Each pair of phases gives a ratio of p99s, and the median of the ratios is judged, because other load of the machine changes more slowly
 * than the phases.
 */
async function prove(stand: Stand): Promise<void> {
  const { figures, size, closing } = stand;
  const pairs = Math.ceil(20 * size);
  const place = await Place.open({ settings: { ADMIN_API: 'on' } }, stand);
  const client = new Client(() => place.url());
  closing.push(() => client.close());
  const flags = ['--name', 'prove', '--scopes', 'admin', '--role', 'economist'];
  const { token: bearer } = operate(['keys', 'create', ...flags], place.settings) as { token: string };
  const installIds = Array.from({ length: ACCOUNTS }, (_, index) => `grantee-${process.pid}-${index}`);
  await inParallel(installIds, (installId) => client.need('/v1/coins/credit', { installId, coins: 1, key: 'first' }), 20);
  const entries = installIds.map((installId) => ({ account: accountIdOf(installId), coins: 1 }));
  let [granted, grantingMs, bulks, notGranted, refused] = [0, 0, 0, 0, 0];

  const measured = async (forMs = PHASE_MS): Promise<Phase> => {
    const met = await bystanders(place.running[0]!.port, forMs);
    refused += met.refused.length;
    const p99 = (times: readonly number[]): number =>
      percentile(
        times.toSorted((one, other) => one - other),
        0.99,
      );
    return { health: p99(met.health), credit: p99(met.credit), usualCredit: median(met.credit) };
  };
  // Each call has a new key, so it grants coins to every account.
  const beside = async (forMs = PHASE_MS): Promise<Phase> => {
    let isOver = false;
    const grant = async (): Promise<void> => {
      while (!isOver) {
        const beganAt = performance.now();
        const { body } = await client.post('/v1/admin/coins/grant-many', { entries, key: `bulk-${bulks++}`, reason: 'proof' }, { bearer });
        const done = ((body.results ?? []) as { outcome: string }[]).filter(({ outcome }) => outcome === 'granted').length;
        [granted, notGranted, grantingMs] = [granted + done, notGranted + ACCOUNTS - done, grantingMs + performance.now() - beganAt];
      }
    };
    const granting = grant();
    const phase = await measured(forMs);
    isOver = true;
    await granting;
    return phase;
  };
  // The service learns of the new key within a second.
  await pause(1500);
  await measured(WARM_UP_MS);
  await beside(WARM_UP_MS);
  [granted, grantingMs] = [0, 0];
  const [quiet, busy]: [Phase[], Phase[]] = [[], []];
  for (let pair = 0; pair < pairs; pair++) {
    const [without, within] = [async () => quiet.push(await measured()), async () => busy.push(await beside())];
    // Every other pair begins with the bulk grant, so that a machine that slows down with time favours neither.
    for (const phase of pair % 2 === 0 ? [without, within] : [within, without]) await phase();
  }
  const ratios = (kind: keyof Phase): number[] => quiet.map((phase, pair) => busy[pair]![kind] / phase[kind]);
  for (const kind of ['health', 'credit'] as const) {
    const of = (phases: readonly Phase[]): number => median(phases.map((phase) => phase[kind]));
    figures.report(`${kind}: p99 without, the median of ${pairs} phases, ms`, of(quiet));
    figures.report(`${kind}: p99 beside a bulk grant, ms`, of(busy));
    // The ratio of two quiet phases shows the noise of the machine.
    const noise = quiet.slice(1).map((phase, index) => Math.exp(Math.abs(Math.log(phase[kind] / quiet[index]![kind]))));
    figures.report(`${kind}: larger p99 by the smaller, of two quiet phases in a row`, median(noise));
    figures.time(`${kind}: median of the ratios of p99s`, median(ratios(kind)), MOST_RATIO);
  }
  figures.report('credit: median of the ratios of medians', median(ratios('usualCredit')));
  figures.time('grants a second', (granted * 1000) / grantingMs, [LEAST_GRANTS_PER_SECOND, Infinity]);
  figures.exactly('accounts that a call did not grant to', notGranted, 0);
  figures.exactly('others that were refused', refused, 0);
}
