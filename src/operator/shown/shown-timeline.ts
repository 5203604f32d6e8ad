import { by, coins, time, type Listing } from './cells.ts';

/** What happened, for the filter. */
export const TIMELINE_KINDS = ['coins', 'operator', 'note', 'event', 'account', 'session', 'purchase', 'access', 'game'] as const;

export interface TimelineMoment {
  readonly at: string;
  readonly kind: (typeof TIMELINE_KINDS)[number];
  readonly text: string;
  readonly coins?: number | undefined;
  readonly balanceAfterCoins?: number | undefined;
  readonly by?: string | undefined;
}

export const timeline: Listing<TimelineMoment> = {
  title: 'Timeline',
  none: 'Nothing in this time.',
  columns: {
    'At (UTC)': ({ at }) => time(at),
    Kind: ({ kind }) => kind,
    What: ({ text }) => text,
    Coins: (moment) => coins(moment.coins),
    Balance: ({ balanceAfterCoins }) => coins(balanceAfterCoins),
    By: (moment) => by(moment.by),
  },
};
