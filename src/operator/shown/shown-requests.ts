import { by, coins, given, state, time, type Listing } from './cells.ts';

/** A request for the approval of a second person. */
export interface ShownRequest {
  readonly id: string;
  readonly at: string;
  readonly endsAt: string;
  readonly by: string;
  readonly question: string;
  readonly coins: number;
  readonly reason: string;
  readonly state: 'open' | 'ended' | 'approved' | 'refused';
  readonly answeredBy?: string;
  readonly answeredAt?: string;
}

export const requests: Listing<ShownRequest> = {
  title: 'Requests',
  none: 'None.',
  columns: {
    'At (UTC)': ({ at }) => time(at),
    By: (request) => by(request.by),
    Coins: (request) => coins(request.coins),
    Change: ({ question }) => question,
    Why: ({ reason }) => reason,
    'Ends (UTC)': ({ endsAt }) => time(endsAt),
    State: ({ state: of, answeredBy, answeredAt }) => [
      state(of, of === 'approved' ? true : of === 'open' ? undefined : false),
      given(answeredBy, (who) => [' by ', by(who), ' ', time(answeredAt)]),
    ],
  },
};
