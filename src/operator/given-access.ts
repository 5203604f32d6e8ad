import { z } from 'zod';
import { isoTime, timeOf } from '../accounts/merge-rules.ts';
import { AccountId } from '../accounts/ids.ts';
import { invalid, Refusal } from '../errors.ts';
import { foreseenWithoutFields } from './account-facts.ts';
import { accountChange } from './account-change.ts';
import { giveFields } from './given-fields.ts';
import { minute } from './shown/cells.ts';

const FIELDS = ['giftEndsAt', 'giftGivenAt', 'giftBy', 'giftReason'];

/** The longest access is ten years, so that a typing error does not give access for a century. */
const LONGEST_MS = 3653 * 86_400_000;

export const give = accountChange({
  verb: 'give',
  operationId: 'giveAccess',
  title: 'Give access',
  role: 'economist',
  summary: 'Gives an account access until a time, as if it were subscribed.',
  description:
    'Its entitlement is `subscribed` with `source: "gift"` until then, unless a purchase gives access for longer. `GET /v1/subscription` ' +
    'does not change, because it reports the app store only. An earlier gift is replaced. A gift moves with a guest; of two gifts the later ' +
    'end counts.',
  fields: {
    until: z.iso.datetime({ offset: true, error: 'Must be a time such as 2026-12-24T12:00:00Z' }).meta({
      description: 'The time at which the access ends: in the future, and at most ten years away.',
      example: '2026-12-24T12:00:00Z',
      typed: { daysAhead: [1, 7, 30] },
    }),
  },
  reply: z.object({ accountId: AccountId, until: z.iso.datetime(), replaced: z.iso.datetime().optional() }),
  body: { until: '2027-01-01T00:00:00Z', reason: 'ticket 4711' },
  shown: ({ accountId, until }) => [`${accountId} has access until ${minute(until)} UTC.`],
  async plan({ accountId, exists, fields }, { until: text, reason }, services, { by }) {
    const endsAt = Date.parse(text);
    if (endsAt <= services.now()) return invalid('until', 'Must be a time to come');
    if (endsAt > services.now() + LONGEST_MS) return invalid('until', 'Must be at most ten years away');
    const until = new Date(endsAt).toISOString();
    const before = isoTime(fields['giftEndsAt']);
    const replaces = before === undefined ? '' : ` This replaces the access that it was given until ${before}.`;
    return {
      question: `Give the account ${accountId} access until ${until}?${replaces}`,
      foreseen: foreseenWithoutFields({ exists }),
      what: { until },
      noted: ({ replaced }) => ({ replaced }),
      async act() {
        const done = await giveFields(accountId, FIELDS, [endsAt, services.now(), by, reason], services);
        return done instanceof Refusal ? done : { accountId: done.accountId, until, replaced: isoTime(timeOf(done.before)) };
      },
    };
  },
});

export const takeBack = accountChange({
  verb: 'take-back',
  operationId: 'takeAccessBack',
  title: 'Take access back',
  role: 'economist',
  summary: 'Takes back the access that an operator gave an account. Access by purchases and a trial stays.',
  reply: z.object({
    accountId: AccountId,
    taken: z.iso
      .datetime()
      .optional()
      .meta({ description: 'The end of the access that was taken back. Left out if the account had none.' }),
  }),
  body: { reason: 'given to the wrong account' },
  shown: ({ accountId, taken }) => [
    taken === undefined ? `${accountId} was given nothing.` : `${accountId} has no access by a gift any more.`,
  ],
  async plan({ accountId, fields, standing }, _, services) {
    const before = isoTime(fields['giftEndsAt']);
    if (before === undefined && standing.moving === undefined) return { reply: { accountId } };
    return {
      question: `Take back the access that the account ${accountId} was given${before === undefined ? '' : ` until ${before}`}?`,
      noted: ({ taken }) => ({ taken }),
      async act() {
        const done = await giveFields(accountId, FIELDS, undefined, services);
        return done instanceof Refusal ? done : { accountId: done.accountId, taken: isoTime(timeOf(done.before)) };
      },
    };
  },
});
