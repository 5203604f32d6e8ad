import { hash } from 'node:crypto';
import type { Config } from '../config.ts';
import { refuse, Refusal } from '../errors.ts';
import { dayOf } from '../features/coins/model.ts';
import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';
import type { Role } from '../server/identity/roles.ts';
import { OPERATOR_LOG } from './operator-log.ts';
import { provesNoChange } from './proves-no-change.ts';

/** Bounds of the coins that operators correct and grant: by role and day, and alone, without a second person. */

/** A hash for each UTC day, with the sums of operators and accounts (`count-coins.lua`). */
const correctedKey = (day: string): string => `${OPERATOR_LOG}:corrected:${day}`;

/** The keys of all days. */
export const CORRECTED_KEYS = /^\{operator-log\}:corrected:\d{4}-\d\d-\d\d$/;

const countScript = defineScript({
  file: new URL('count-coins.lua', import.meta.url),
  keys: ['today', 'yesterday'],
  args: ['operator', 'correction', 'coins', 'shares', 'dayMost', 'aloneMost', 'minute', 'mode', 'keptSeconds'],
  answers: ['counted', 'known', 'full', 'second'],
  durable: true,
});

/** How long Redis keeps a day's sums, in seconds: longer than the next day, because the sums of 24 hours reach back into it. */
const KEPT_SECONDS = 3 * 86_400;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Coins that a change adds to an account, or removes from it. Never negative. */
export type Share = readonly [accountId: string, coins: number];

/** The coins of a change. */
export interface CountedCoins<Reply> {
  /** The same for a change and its repetition, which changes nothing and is counted once. */
  readonly name: string;
  readonly shares: readonly Share[];
  /** The shares that the change has really changed. */
  readonly changed: (reply: Reply) => readonly Share[];
}

export interface LimitServices {
  readonly scripts: ScriptRunner;
  readonly now: () => number;
  readonly config: Pick<Config, 'SUPPORT_DAILY_COINS' | 'ECONOMIST_DAILY_COINS' | 'TWO_PERSON_COINS'>;
}

export interface LimitedOperator {
  readonly by: string;
  readonly role: Role;
  /** Whether the operator is a person who is signed in to the console, and so may ask a second person. */
  readonly isPerson: boolean;
  /** The second person, if one has said yes. */
  readonly approvedBy?: string | undefined;
}

export interface Limits {
  /** What the operator should know before the change, a sentence each. */
  readonly sentences: readonly string[];
  /** The coins that the operator may still change alone within 24 hours. Undefined: any. */
  readonly leftAlone?: number;
  /** Why the change must not be made now. `needs` is `second_person` if one could approve it. */
  readonly refusal: Refusal<'forbidden'> | undefined;
}

const NONE: Limits = { sentences: [], refusal: undefined };

/** What the bounds say of a change now. Counts nothing. */
export async function limitsOf(coins: CountedCoins<never>, operator: LimitedOperator, services: LimitServices): Promise<Limits> {
  const bounds = boundsOf(operator, services);
  if (bounds === undefined) return NONE;
  const [word, figures] = await counted(coins, operator, bounds, services)('ask');
  const { day, alone } = bounds;
  const sum = sumOf(coins.shares);
  const sentences = [
    ...(day === undefined ? [] : [`Today you have changed ${plain(figures.ofDay)} of at most ${plain(day.most)} coins (${day.setting}).`]),
    ...(alone === undefined
      ? []
      : [
          `Alone you may change ${plain(alone)} coins within 24 hours (TWO_PERSON_COINS): you have changed ${plain(figures.alone)}, and this is ${plain(sum)} more.`,
        ]),
  ];
  const left = alone === undefined ? {} : { leftAlone: Math.max(0, alone - figures.alone) };
  return { sentences, ...left, refusal: refusalOf(word, figures, operator, bounds) };
}

/**
 * Makes a change within the bounds of its operator. The coins are counted before the work. A repeated change finds that it was counted, and
 * a refused one is taken out again. If the outcome is unknown, the coins stay counted.
 * @returns Refusal `forbidden` beyond a bound
 * @throws as `work`
 */
export async function withinLimits<Reply>(
  coins: CountedCoins<Reply>,
  operator: LimitedOperator,
  services: LimitServices,
  work: () => Promise<Reply | Refusal>,
): Promise<Reply | Refusal> {
  const bounds = boundsOf(operator, services);
  if (bounds === undefined) return work();
  const count = counted(coins, operator, bounds, services);
  const [word, figures] = await count('count');
  const refusal = refusalOf(word, figures, operator, bounds);
  if (refusal !== undefined) return refusal;
  // If coins cannot be taken out again, the operator can only change fewer.
  const giveBack = async (shares: readonly Share[]): Promise<void> => {
    if (word === 'counted') await count('back', shares, shares.length === coins.shares.length).catch(() => {});
  };
  try {
    const reply = await work();
    const changed = reply instanceof Refusal ? [] : coins.changed(reply);
    const isChanged = new Set(changed.map(([accountId]) => accountId));
    const rest = coins.shares.filter(([accountId]) => !isChanged.has(accountId));
    if (rest.length > 0) await giveBack(rest);
    // It was counted by another call at the same time, which may have been refused and have taken it out again.
    if (word === 'known' && changed.length > 0) await count('count', coins.shares, false, true).catch(() => {});
    return reply;
  } catch (error) {
    if (provesNoChange(error)) await giveBack(coins.shares);
    throw error;
  }
}

interface Bounds {
  readonly day: { readonly most: number; readonly setting: string; readonly next: Role } | undefined;
  readonly alone: number | undefined;
}

function boundsOf({ role, approvedBy }: LimitedOperator, { config }: LimitServices): Bounds | undefined {
  const { SUPPORT_DAILY_COINS, ECONOMIST_DAILY_COINS, TWO_PERSON_COINS } = config;
  const day =
    role === 'support'
      ? ({ most: SUPPORT_DAILY_COINS, setting: 'SUPPORT_DAILY_COINS', next: 'economist' } as const)
      : role === 'economist' && ECONOMIST_DAILY_COINS !== undefined
        ? ({ most: ECONOMIST_DAILY_COINS, setting: 'ECONOMIST_DAILY_COINS', next: 'admin' } as const)
        : undefined;
  const alone = approvedBy === undefined ? TWO_PERSON_COINS : undefined;
  return day === undefined && alone === undefined ? undefined : { day, alone };
}

interface Figures {
  readonly ofDay: number;
  readonly alone: number;
  readonly ofAccount: number;
}

function counted(coins: CountedCoins<never>, { by }: LimitedOperator, { day, alone }: Bounds, { scripts, now }: LimitServices) {
  const at = now();
  const keys = { today: correctedKey(dayOf(at)), yesterday: correctedKey(dayOf(at - DAY_MS)) };
  const correction = hash('sha256', coins.name, 'base64url').slice(0, 22);
  // With OPERATOR_KEY the tool adds the user of the operating system to the key.
  const [operator = by] = by.split(' as ');
  return async (
    mode: 'ask' | 'count' | 'back',
    shares: readonly Share[] = coins.shares,
    isAll = false,
    isUnbounded = false,
  ): Promise<[word: 'counted' | 'known' | 'full' | 'second', figures: Figures]> => {
    const [word, ...sums] = await scripts.run(countScript, keys, {
      ...{ operator, correction, mode, coins: sumOf(shares), shares: JSON.stringify(shares), minute: Math.floor(at / MINUTE_MS) },
      dayMost: isUnbounded ? '' : (day?.most ?? ''),
      aloneMost: alone === undefined ? '' : isUnbounded ? Number.MAX_SAFE_INTEGER : alone,
      keptSeconds: mode === 'back' && isAll ? 0 : KEPT_SECONDS,
    });
    const [ofDay = 0, ofOperator = 0, ofAccount = 0] = sums.map(Number);
    return [word, { ofDay, alone: ofOperator, ofAccount }];
  };
}

function refusalOf(
  word: 'counted' | 'known' | 'full' | 'second',
  { ofDay, alone, ofAccount }: Figures,
  { by, isPerson }: LimitedOperator,
  { day, alone: most = 0 }: Bounds,
): Refusal<'forbidden'> | undefined {
  if (word === 'full' && day !== undefined) {
    const leftCoins = Math.max(0, day.most - ofDay);
    const who = isPerson ? 'You have' : 'This key has';
    return refuse('forbidden', {
      message: `${who} corrected ${ofDay} coins today, of ${day.most} (${day.setting}): ${leftCoins} are left until midnight UTC. More needs the role ${day.next}.`,
      role: day.next,
      leftCoins,
    });
  }
  if (word !== 'second') return undefined;
  const why =
    ofAccount > most && alone <= most
      ? `operators would have changed ${plain(ofAccount)} coins of one account alone`
      : `${isPerson ? 'you have' : by} changed ${plain(alone)} coins alone so far`;
  const how = isPerson ? '' : ' Only people who are signed in to the console can ask for one: a server key cannot.';
  return refuse('forbidden', {
    message: `This needs the yes of a second person: within 24 hours ${why}, and more than ${plain(most)} (TWO_PERSON_COINS) is for two.${how}`,
    needs: 'second_person',
    aloneCoins: alone,
    mostCoins: most,
  });
}

const sumOf = (shares: readonly Share[]): number => shares.reduce((sum, [, coins]) => sum + coins, 0);

/** A number without an exponent: 1e12 as digits. */
const plain = (coins: number): string => coins.toFixed(0);
