import { hash } from 'node:crypto';
import { refuse, Refusal } from '../errors.ts';
import { dayOf } from '../features/coins/model.ts';
import { defineScript } from '../redis/script.ts';
import { provesNoChange, type Operator, type OperatorParts } from './operation.ts';
import { OPERATOR_LOG } from './operator-log.ts';

/** A hash for each UTC day: server key → coins of its corrections, added and removed; and `<server key> <hash>` → coins of each of them. */
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

/** Longer than a day, because the clocks of processes differ. */
const KEPT_SECONDS = 2 * 86_400;

interface Correction {
  readonly accountId: string;
  readonly coins: number;
  readonly key: string;
}

/**
 * Corrects within the day's sum of an operator of the role `support`: many corrections that are small each would otherwise mint. Other roles have no
 * such sum. The coins are reserved before the work. A repetition finds its reservation, and one that is refused gives it back; that of a correction
 * whose outcome is not known stays.
 * @returns Refusal `forbidden` if SUPPORT_DAILY_COINS does not suffice
 * @throws as `work`
 */
export async function withinDayOfSupport<Answer extends { readonly replayed?: boolean | undefined }>(
  { accountId, coins, key: ticket }: Correction,
  { role, key }: Operator,
  { scripts, config, now }: Pick<OperatorParts, 'scripts' | 'config' | 'now'>,
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
  // A reservation that cannot be given back errs on the side of fewer coins.
  const giveBack = (): Promise<unknown> =>
    word === 'reserved' ? scripts.run(giveBackScript, keys, named).catch(() => {}) : Promise.resolve();
  try {
    const answer = await work();
    if (answer instanceof Refusal || answer.replayed === true) await giveBack();
    // A call at the same time, whose reservation this one found, may have been refused.
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
