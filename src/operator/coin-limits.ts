import { hash } from 'node:crypto';
import type { Config } from '../config.ts';
import { refuse, Refusal } from '../errors.ts';
import { dayOf } from '../features/coins/model.ts';
import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';
import type { Role } from '../server/identity/roles.ts';
import { OPERATOR_LOG } from './operator-log.ts';
import { provesNoChange } from './proves-no-change.ts';

/**
 * Limits on the coins that operators correct and grant: for each role and day, and for changes that an operator makes alone, without a
 * second person.
 */

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

/** How long Redis keeps a day's sums, in seconds. It is longer than the next day, because the sums over 24 hours need two days. */
const KEPT_SECONDS = 3 * 86_400;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** The coins that a change adds to one account, or removes from it. Never negative. */
export type Share = readonly [accountId: string, coins: number];

/** The coins of a change. */
export interface CountedCoins<Reply> {
  /** A change and its repetition have the same name. The repetition changes nothing, so both count once. */
  readonly name: string;
  readonly shares: readonly Share[];
  /** The shares in parts that stay the same when the change is repeated for the rest of its accounts. Default: one part. */
  readonly parts?: readonly { readonly name: string; readonly shares: readonly Share[] }[];
  /**
   * The shares that have the change now: by this call, or by an equal call at the same time, which is not counted. `shares` has no share
   * that had the change before.
   */
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
  /** Whether the operator is a person who is signed in to the console. Only a person may ask a second person. */
  readonly isPerson: boolean;
  /** Whether the operator has access to Redis, and needs no key: then no second person is asked for. */
  readonly isOutside: boolean;
  /** The second person who has approved the change, if any. */
  readonly approvedBy?: string | undefined;
}

export interface Limits {
  /** Sentences that the operator should know before the change. */
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
  const { day, alone } = bounds;
  const sum = sumOf(coins.shares);
  // Each part is asked about with the parts before it. What was counted before is not asked about again.
  let [asked, refusal]: [number, Limits['refusal']] = [0, undefined];
  let first: Figures | undefined;
  for (const part of partsOf(coins)) {
    const coinsOfPart = sumOf(part.shares);
    const [word, found] = await counted(part, operator, bounds, services)('ask', part.shares, asked + coinsOfPart);
    first ??= found;
    if (word === 'counted') asked += coinsOfPart;
    refusal ??= refusalOf(word, found, operator, bounds);
  }
  const figures = first!;
  const sentences = [
    ...(day === undefined ? [] : [`Today you have changed ${plain(figures.ofDay)} of at most ${plain(day.most)} coins (${day.setting}).`]),
    ...(alone === undefined
      ? []
      : [
          `Alone you may change ${plain(alone)} coins within 24 hours (TWO_PERSON_COINS): you have changed ${plain(figures.alone)}, and this is ${plain(sum)} more.`,
        ]),
  ];
  const left = alone === undefined ? {} : { leftAlone: Math.max(0, alone - figures.alone) };
  return { sentences, ...left, refusal };
}

/**
 * Makes a change within the limits of its operator. The coins are counted before the work. A repeated change is not counted again, and the
 * coins of a refused change are subtracted again. If the outcome is unknown, the coins still count.
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
  const parts: { readonly shares: readonly Share[]; readonly count: Count; readonly isNew: boolean }[] = [];
  // If subtracting fails, the operator can only change fewer coins.
  const giveBack = async (keeps: (accountId: string) => boolean): Promise<void> => {
    for (const { shares, count, isNew } of parts) {
      const rest = shares.filter(([accountId]) => !keeps(accountId));
      if (isNew && rest.length > 0) await count('back', rest).catch(() => {});
    }
  };
  for (const { name, shares } of partsOf(coins)) {
    const count = counted({ name, shares }, operator, bounds, services);
    const [word, figures] = await count('count');
    const refusal = refusalOf(word, figures, operator, bounds);
    if (refusal !== undefined) {
      await giveBack(() => false);
      return refusal;
    }
    parts.push({ shares, count, isNew: word === 'counted' });
  }
  try {
    const reply = await work();
    const changed = new Set((reply instanceof Refusal ? [] : coins.changed(reply)).map(([accountId]) => accountId));
    await giveBack((accountId) => changed.has(accountId));
    // Another call at the same time has counted the change. That call may have been refused, and may have subtracted the coins again.
    for (const { shares, count, isNew } of parts)
      if (!isNew && shares.some(([accountId]) => changed.has(accountId))) await count('count', shares, sumOf(shares), true).catch(() => {});
    return reply;
  } catch (error) {
    if (provesNoChange(error)) await giveBack(() => false);
    throw error;
  }
}

/** The most shares of a part. One script counts a part, in some milliseconds. */
export const SHARES_AT_ONCE = 1000;

type Counted = Pick<CountedCoins<never>, 'name' | 'shares'>;

/** The parts of a change to many accounts, which are counted one after the other. */
function partsOf({ name, shares, parts = [{ name, shares }] }: Counted & Pick<CountedCoins<never>, 'parts'>): readonly Counted[] {
  return parts;
}

/** Whether a change of many accounts has to tell before it whose coins it changes. If not, the accounts need not be read before. */
export const countsCoins = ({ config }: Pick<LimitServices, 'config'>): boolean =>
  config.TWO_PERSON_COINS !== undefined || config.ECONOMIST_DAILY_COINS !== undefined;

interface Bounds {
  readonly day: { readonly most: number; readonly setting: string; readonly next: Role } | undefined;
  readonly alone: number | undefined;
}

function boundsOf({ role, approvedBy, isOutside }: LimitedOperator, { config }: LimitServices): Bounds | undefined {
  const { SUPPORT_DAILY_COINS, ECONOMIST_DAILY_COINS, TWO_PERSON_COINS } = config;
  const day =
    role === 'support'
      ? ({ most: SUPPORT_DAILY_COINS, setting: 'SUPPORT_DAILY_COINS', next: 'economist' } as const)
      : role === 'economist' && ECONOMIST_DAILY_COINS !== undefined
        ? ({ most: ECONOMIST_DAILY_COINS, setting: 'ECONOMIST_DAILY_COINS', next: 'admin' } as const)
        : undefined;
  const alone = approvedBy === undefined && !isOutside ? TWO_PERSON_COINS : undefined;
  return day === undefined && alone === undefined ? undefined : { day, alone };
}

interface Figures {
  readonly ofDay: number;
  readonly alone: number;
  readonly ofAccount: number;
}

type Count = (
  mode: 'ask' | 'count' | 'back',
  shares?: readonly Share[],
  coins?: number,
  isUnbounded?: boolean,
) => Promise<[word: 'counted' | 'known' | 'full' | 'second', figures: Figures]>;

function counted({ name, shares: all }: Counted, { by }: LimitedOperator, { day, alone }: Bounds, { scripts, now }: LimitServices): Count {
  const at = now();
  const keys = { today: correctedKey(dayOf(at)), yesterday: correctedKey(dayOf(at - DAY_MS)) };
  const correction = hash('sha256', name, 'base64url').slice(0, 22);
  // With OPERATOR_KEY the tool appends the name of the operating system's user to the key.
  const [operator = by] = by.split(' as ');
  return async (mode, shares = all, coins = sumOf(shares), isUnbounded = false) => {
    const [word, ...sums] = await scripts.run(countScript, keys, {
      ...{ operator, correction, mode, coins, shares: JSON.stringify(shares), minute: Math.floor(at / MINUTE_MS) },
      dayMost: isUnbounded ? '' : (day?.most ?? ''),
      aloneMost: alone === undefined ? '' : isUnbounded ? Number.MAX_SAFE_INTEGER : alone,
      keptSeconds: KEPT_SECONDS,
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

/** A number in digits, without an exponent: 1e12 would otherwise be printed so. */
const plain = (coins: number): string => coins.toFixed(0);
