import { hash } from 'node:crypto';
import { refuse, Refusal } from '../errors.ts';
import { dayOf } from '../features/coins/model.ts';
import { defineScript } from '../redis/script.ts';
import { provesNoChange, type Operator, type OperatorServices } from './operation.ts';
import { OPERATOR_LOG } from './operator-log.ts';

/**
 * A hash for each UTC day: server key → coins of all its corrections, added and removed; `<server key> <hash>` → coins of one correction.
 */
const correctedKey = (day: string): string => `${OPERATOR_LOG}:corrected:${day}`;

/** The keys of all days. */
export const CORRECTED_KEYS = /^\{operator-log\}:corrected:\d{4}-\d\d-\d\d$/;

const reserveScript = defineScript({
  file: new URL('reserve-coins.lua', import.meta.url),
  keys: ['corrected'],
  args: ['keyId', 'correction', 'coins', 'most', 'keptSeconds'],
  answers: ['reserved', 'known', 'full'],
  durable: true,
});

const giveBackScript = defineScript({
  file: new URL('give-coins-back.lua', import.meta.url),
  keys: ['corrected'],
  args: ['keyId', 'correction'],
  answers: ['given_back'],
  durable: true,
});

/** How long Redis keeps a day's sum, in seconds: longer than a day, because the clocks of processes differ. */
const KEPT_SECONDS = 2 * 86_400;

interface Correction {
  readonly accountId: string;
  readonly coins: number;
  readonly key: string;
}

/**
 * Makes a correction within the day's sum of a key of the role `support`. Without the sum many small corrections could mint coins. Other
 * roles have no such sum. The coins are reserved before the work. A repeated correction finds its reservation, and a refused one gives it
 * back. If the outcome is unknown, the reservation stays.
 * @returns Refusal `forbidden` if SUPPORT_DAILY_COINS does not suffice
 * @throws as `work`
 */
export async function withinDailyLimit<Answer extends { readonly replayed?: boolean | undefined }>(
  { accountId, coins, key: ticket }: Correction,
  { role, key }: Operator,
  { scripts, config, now }: OperatorServices,
  work: () => Promise<Answer | Refusal>,
): Promise<Answer | Refusal> {
  if (role !== 'support' || key === undefined) return work();
  const keys = { corrected: correctedKey(dayOf(now())) };
  const correction = hash('sha256', `${accountId} ${coins} ${ticket}`, 'base64url').slice(0, 22);
  const named = { keyId: key.id, correction };
  const reserve = (most: number | '') =>
    scripts.run(reserveScript, keys, { ...named, coins: Math.abs(coins), most, keptSeconds: KEPT_SECONDS });
  const [word, soFar = '0'] = await reserve(config.SUPPORT_DAILY_COINS);
  if (word === 'full') return refusedFor(Number(soFar), config.SUPPORT_DAILY_COINS);
  // If a reservation cannot be given back, the key can only correct fewer coins.
  const giveBack = (): Promise<unknown> =>
    word === 'reserved' ? scripts.run(giveBackScript, keys, named).catch(() => {}) : Promise.resolve();
  try {
    const answer = await work();
    if (answer instanceof Refusal || answer.replayed === true) await giveBack();
    // The reservation was made by another call at the same time, which may have been refused and have given it back.
    else if (word === 'known') await reserve('').catch(() => {});
    return answer;
  } catch (error) {
    if (provesNoChange(error)) await giveBack();
    throw error;
  }
}

function refusedFor(soFar: number, most: number): Refusal<'forbidden'> {
  const leftCoins = Math.max(0, most - soFar);
  return refuse('forbidden', {
    message: `This key has corrected ${soFar} coins today, of ${most} (SUPPORT_DAILY_COINS): ${leftCoins} are left until midnight UTC. More needs the role economist.`,
    role: 'economist',
    leftCoins,
  });
}
