import { z } from 'zod';
import { isoTime } from '../accounts/fields.ts';
import { AccountId } from '../accounts/ids.ts';
import { invalid, refuse, Refusal } from '../errors.ts';
import { banAt } from '../accounts/standing.ts';
import { endText, followed, movedOn } from './account-facts.ts';
import { Account } from './find.ts';
import { operation, Reason } from './operation.ts';
import { minute } from './shown/cells.ts';

const exampleOf = (verb: string): string =>
  `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/${verb} -H "authorization: Bearer $COINOP_KEY" ` +
  `-H 'content-type: application/json' -d '{"reason":"ticket 4711"}'`;

export const ban = operation({
  name: 'accounts ban',
  method: 'POST',
  path: '/v1/admin/accounts/{accountId}/ban',
  operationId: 'banAccount',
  role: 'support',
  summary: 'Bans an account, on every process at once.',
  description:
    'Every call that acts for it is 403 `account_banned` until `until`, or until `unban`. Boards hide its scores until then. Its coins, scores and ' +
    'purchases stay. An earlier ban is replaced. Only operators see the reason.',
  input: z.object({
    accountId: Account,
    until: z.iso
      .datetime({ offset: true, error: 'Must be a time such as 2026-12-24T12:00:00Z' })
      .optional()
      .meta({ description: 'When it ends. Left out: never.', typed: { daysAhead: [1, 7, 30] } }),
    reason: Reason,
  }),
  reply: z.object({ accountId: AccountId, until: z.iso.datetime().optional() }),
  errors: ['account_not_found', 'account_deleted'],
  example: exampleOf('ban'),
  shown: ({ accountId, until }) => [`${accountId} is banned${until === undefined ? '' : ` until ${minute(until)} UTC`}.`],
  async prepare({ accountId: asked, until: text, reason }, services) {
    const account = await followed(asked, services);
    if (account instanceof Refusal) return account;
    const { accountId } = account;
    const until = text === undefined ? undefined : Date.parse(text);
    if (until !== undefined && until <= services.now()) return invalid('until', 'Must be a time to come');
    const held = banAt(account.standing, services.now());
    const replaces = held === undefined ? '' : ` This replaces its ban ${endText(held.until)}, for: ${held.reason}.`;
    return {
      question: `Ban the account ${accountId} ${endText(until)}?${replaces} Reason: ${reason}`,
      what: { account: accountId, ...(until === undefined ? {} : { until: new Date(until).toISOString() }) },
      why: reason,
      noted: (reply) => movedOn(accountId, reply),
      async act() {
        const outcome = await services.bans.ban(accountId, { until, reason });
        if (outcome.word === 'deleted') return refuse('account_deleted');
        return { accountId: outcome.accountId, until: isoTime(until) };
      },
    };
  },
});

export const unban = operation({
  name: 'accounts unban',
  method: 'POST',
  path: '/v1/admin/accounts/{accountId}/unban',
  operationId: 'unbanAccount',
  title: 'End the ban',
  role: 'support',
  summary: 'Ends the ban of an account.',
  input: z.object({ accountId: Account, reason: Reason }),
  reply: z.object({ accountId: AccountId, wasBanned: z.boolean() }),
  errors: ['account_not_found', 'account_deleted'],
  example: exampleOf('unban'),
  shown: ({ accountId, wasBanned }) => [wasBanned ? `The ban of ${accountId} has ended.` : `${accountId} was not banned.`],
  async prepare({ accountId: asked, reason }, services) {
    const account = await followed(asked, services);
    if (account instanceof Refusal) return account;
    const { accountId, standing } = account;
    const held = banAt(standing, services.now());
    // While a guest is moving, the ban of the account into which it moves counts.
    if (held === undefined && standing.moving === undefined) return { reply: { accountId, wasBanned: false } };
    const ban = held === undefined ? '' : ` It is ${endText(held.until)}, for: ${held.reason}.`;
    return {
      question: `End the ban of the account ${accountId}?${ban} Reason: ${reason}`,
      what: { account: accountId },
      why: reason,
      noted: (reply) => ({ wasBanned: reply.wasBanned ? 'yes' : 'no', ...movedOn(accountId, reply) }),
      async act() {
        const outcome = await services.bans.unban(accountId);
        if (outcome.word === 'deleted') return refuse('account_deleted');
        return { accountId: outcome.accountId, wasBanned: outcome.word === 'unbanned' };
      },
    };
  },
});
