import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { AccountId } from '../../src/accounts/ids.ts';
import { Refusal } from '../../src/errors.ts';
import { endpointOf } from '../../src/operator/endpoints.ts';
import { followed } from '../../src/operator/account-facts.ts';
import { Account } from '../../src/operator/named-accounts.ts';
import { Time } from '../../src/operator/log-filter.ts';
import { operation, perform, Reason, type Operation } from '../../src/operator/operation.ts';
import { offered } from '../../src/operator/page/offered.ts';
import { groupsOf } from '../../src/operator/terminal/groups.ts';
import { helpOf, readInput } from '../../src/operator/terminal/input.ts';
import type { Tool } from '../../src/operator/terminal/command.ts';
import { Failure } from '../../src/process/command.ts';
import { openapiDocument } from '../../src/web/documents/openapi.ts';
import { Schemas } from '../../src/web/documents/schemas.ts';
import { commandTable } from '../command-table.ts';
import { forFile } from '../harness.ts';
import { openParts, openDesk } from './parts.ts';

/** An operation that no surface knows: each makes its part from this declaration. */
const greet = operation({
  name: 'players greet',
  method: 'POST',
  path: '/v1/admin/players/{accountId}/greet',
  words: ['times'],
  operationId: 'greetPlayer',
  role: 'support',
  cannotBeUndone: true,
  summary: 'Greets a player.',
  description: 'The player sees it `at` once.',
  input: z.object({
    accountId: Account,
    times: z.int('Must be a whole number').min(1).max(9).meta({ description: 'How often.', example: 2 }),
    tone: z.enum(['warm', 'cool']).optional().meta({ description: 'Left out: warm.' }),
    laterThan: Time.meta({ description: 'Not before it.', typed: { daysAhead: [1] } }),
    langs: z
      .array(z.enum(['en', 'fr']))
      .optional()
      .meta({ description: 'Its languages.' }),
    reason: Reason,
  }),
  reply: z.object({ accountId: AccountId, greetedAt: z.iso.datetime(), paidCoins: z.int(), isLoud: z.boolean() }),
  errors: ['account_not_found', 'account_deleted'],
  example: 'curl -s $base/v1/admin/players/BQ5v1mHk2nYtZ8cXw0aLpR/greet',
  async prepare({ accountId: asked, times, tone = 'warm', laterThan, langs = [], reason }, given) {
    const account = await followed(asked, given);
    if (account instanceof Refusal) return account;
    const { accountId } = account;
    return {
      question: `Greet ${accountId} ${times} times, ${tone}, in ${langs.join(' and ')}, after ${laterThan}? Reason: ${reason}`,
      typed: { what: 'the times', figure: times },
      what: { account: accountId, times },
      why: reason,
      act: async () => ({ accountId, greetedAt: '2026-11-22T12:00:00.000Z', paidCoins: times, isLoud: tone === 'cool' }),
    };
  },
}) as unknown as Operation;

const desk = await forFile(openDesk());
const { accountId } = await desk.account(10);
const { parts: services, [Symbol.dispose]: closeParts } = openParts(desk.service);
afterAll(closeParts);

const all = groupsOf([greet]);
const line = ['players', 'greet', accountId, '3', '--later-than', '2026-11-22T12:00:00Z', '--langs', 'en, fr', '--reason', 'a birthday'];
const planned = (words: readonly string[]) => {
  const { command, input } = readInput(words, all);
  return command!.plan(input);
};

test('the tool has its words, flags and help, checks them before Redis is opened, and shows the reply', async () => {
  const help = helpOf(
    all,
    all.find(({ name }) => name === 'players'),
  );
  expect(help).toContain(
    [
      '  players greet ACCOUNT TIMES',
      '      Greets a player.',
      '      --tone warm|cool     Left out: warm.',
      '      --later-than TIME    Not before it. Such as 2026-11-22T12:00:00Z. Needed.',
      '      --langs LIST         Its languages.',
      '      --reason TEXT        The reason, for other operators to read: 1 to 120 characters. Needed.\n',
    ].join('\n'),
  );
  for (const [words, message] of [
    [line.with(3, 'often'), 'times: Must be a whole number.'],
    [line.with(5, 'noon'), 'laterThan: Must be a time such as 2026-11-22T12:00:00Z.'],
    [line.slice(0, -2), '"players greet" needs --reason TEXT.'],
    [[...line, '--tone', 'hot'], expect.stringMatching(/^tone: /)],
  ] as const)
    expect(() => planned(words)).toThrow(expect.objectContaining({ message }) as Failure);
  const asked: string[] = [];
  const tool = {
    services,
    operator: { by: 'ada@ops-1', role: 'support' },
    checkData: async () => {},
    confirm: async (question: string) => void asked.push(question),
  } as unknown as Tool;
  const { text, json } = await planned(line)(tool);
  expect(asked).toEqual([`Greet ${accountId} 3 times, warm, in en and fr, after 2026-11-22T12:00:00Z? Reason: a birthday`]);
  expect(text).toBe(`Account id  ${accountId}\nGreeted at  2026-11-22 12:00:00\nPaid coins  3\nIs loud     no`);
  expect(json).toMatchObject({ accountId, paidCoins: 3, logged: { action: 'players greet', by: 'ada@ops-1', why: 'a birthday' } });
});

test('HTTP and OpenAPI have it, with the fields of the shape and without what only forms need', () => {
  const endpoint = endpointOf(greet);
  expect(endpoint).toMatchObject({ method: 'POST', path: greet.path, keyScope: 'admin', operationId: 'greetPlayer' });
  const document = openapiDocument({ operator: [endpoint] }, new Schemas());
  const text = JSON.stringify(document);
  for (const part of [greet.path, 'greetPlayer', 'Greets a player.', 'Needs the role `support`', '"laterThan"', 'How often.', '"logged"'])
    expect(text).toContain(part);
  expect(text).not.toContain('daysAhead');
});

test('the dialog of the page has its fields', () => {
  expect(offered(greet)).toMatchObject({
    ...{ name: 'players greet', title: 'Greet', summary: 'Greets a player.', path: greet.path, handsOutSecret: false },
    fields: [
      { name: 'accountId', type: 'string', isRequired: true },
      { name: 'times', type: 'integer', isRequired: true, minimum: 1, maximum: 9, description: 'How often.', example: 2 },
      { name: 'tone', type: 'string', isRequired: false, choices: ['warm', 'cool'] },
      { name: 'laterThan', format: 'date-time', isRequired: true, daysAhead: [1] },
      { name: 'langs', type: 'array', choices: ['en', 'fr'], isRequired: false },
      { name: 'reason', isRequired: true },
    ],
  });
});

test('its role is checked, and the table of the docs has it', async () => {
  const input = { accountId, times: 1, laterThan: '2026-11-22T12:00:00Z', reason: 'test' };
  const refused = await perform(greet, input, services, { by: 'ada', role: 'viewer' });
  expect(refused).toMatchObject({ code: 'forbidden', details: { role: 'support' } });
  expect(commandTable(all)).toContain(
    '| `players greet ACCOUNT TIMES [--tone warm\\|cool] --later-than TIME [--langs LIST] --reason TEXT` | `support` | Greets a player. |',
  );
});
