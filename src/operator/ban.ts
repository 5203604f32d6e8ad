import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import { AccountId } from '../accounts/ids.ts';
import { invalid, refuse } from '../errors.ts';
import { banAt } from '../accounts/standing.ts';
import { endText } from './account-facts.ts';
import { accountChange } from './account-change.ts';
import { minute } from './shown/cells.ts';

export const ban = accountChange({
  verb: 'ban',
  operationId: 'banAccount',
  role: 'support',
  summary: 'Bans an account, on every process at once.',
  description:
    'Every call that acts for it is 403 `account_banned` until `until`, or until `unban`. Boards hide its scores until then. Its coins, scores and ' +
    'purchases stay. An earlier ban is replaced. Only operators see the reason.',
  fields: {
    until: z.iso
      .datetime({ offset: true, error: 'Must be a time such as 2026-12-24T12:00:00Z' })
      .optional()
      .meta({ description: 'When it ends. Left out: never.', typed: { daysAhead: [1, 7, 30] } }),
  },
  reply: z.object({ accountId: AccountId, until: z.iso.datetime().optional() }),
  body: { reason: 'ticket 4711' },
  shown: ({ accountId, until }) => [`${accountId} is banned${until === undefined ? '' : ` until ${minute(until)} UTC`}.`],
  async plan({ accountId, standing }, { until: text, reason }, services) {
    const until = text === undefined ? undefined : Date.parse(text);
    if (until !== undefined && until <= services.now()) return invalid('until', 'Must be a time to come');
    const held = banAt(standing, services.now());
    const replaces = held === undefined ? '' : ` This replaces its ban ${endText(held.until)}, for: ${held.reason}.`;
    return {
      question: `Ban the account ${accountId} ${endText(until)}?${replaces}`,
      what: { until: isoTime(until) },
      async act() {
        const outcome = await services.bans.ban(accountId, { until, reason });
        if (outcome.word === 'deleted') return refuse('account_deleted');
        return { accountId: outcome.accountId, until: isoTime(until) };
      },
    };
  },
});

export const unban = accountChange({
  verb: 'unban',
  operationId: 'unbanAccount',
  title: 'End the ban',
  role: 'support',
  summary: 'Ends the ban of an account.',
  reply: z.object({ accountId: AccountId, wasBanned: z.boolean() }),
  body: { reason: 'ticket 4711' },
  shown: ({ accountId, wasBanned }) => [wasBanned ? `The ban of ${accountId} has ended.` : `${accountId} was not banned.`],
  async plan({ accountId, standing }, _, services) {
    const held = banAt(standing, services.now());
    // While a guest is moving, the ban of the account into which it moves applies.
    if (held === undefined && standing.moving === undefined) return { reply: { accountId, wasBanned: false } };
    const ban = held === undefined ? '' : ` It is ${endText(held.until)}, for: ${held.reason}.`;
    return {
      question: `End the ban of the account ${accountId}?${ban}`,
      noted: (reply) => ({ wasBanned: reply.wasBanned ? 'yes' : 'no' }),
      async act() {
        const outcome = await services.bans.unban(accountId);
        if (outcome.word === 'deleted') return refuse('account_deleted');
        return { accountId: outcome.accountId, wasBanned: outcome.word === 'unbanned' };
      },
    };
  },
});
