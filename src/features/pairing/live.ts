import { z } from 'zod';
import { refuse } from '../../errors.ts';
import { channel, type Services } from '../../declare.ts';
import { mayBePairToken, PairStatus, PairToken } from './model.ts';

export const livePairing = channel({
  path: '/v1/pair/live',
  summary: "Sends a pairing's status at once and after every change, and closes after a final status.",
  description:
    'The channel carries only the status: after `claimed` the browser fetches /v1/pair/status once for its cookie. After a final status ' +
    '(claimed, denied, expired) the service closes the channel with 4501.',
  query: z.object({ token: PairToken }),
  sends: { pair: z.object({ type: z.literal('pair'), status: PairStatus }) },
  receives: {},
  errors: ['pair_not_found'],
  misses: ['pair_not_found'],
  notFound: 'pair_not_found',
  subject: ({ query }) => (mayBePairToken(query.token) ? query.token : refuse('pair_not_found')),
  feed: ({ feeds }: Pick<Services, 'feeds'>) => feeds.pair,
});
