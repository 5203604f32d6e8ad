import { z } from 'zod';
import { accountKey, standingKey } from '../accounts/account-keys.ts';
import { AccountId } from '../accounts/ids.ts';
import { PlayerName } from '../accounts/player-name.ts';
import { runWhereItIs } from '../accounts/standing-reader.ts';
import { invalid, refuse, Refusal } from '../errors.ts';
import { renameScores } from '../features/highscores/account-scores.ts';
import { giveName, noteGivenName } from '../features/names/model.ts';
import { renameSeats } from '../features/rooms/account-seats.ts';
import { afterWrites } from '../redis/script-runner.ts';
import { accountChange } from './account-change.ts';
import type { OperatorServices } from './operation.ts';
import { entriesText } from './shown/cells.ts';

export const rename = accountChange({
  verb: 'rename',
  words: ['name'],
  operationId: 'renamePlayer',
  role: 'support',
  summary: 'Gives a player another name: at once on all boards and in the rooms of the last two weeks, and from then on.',
  description:
    'Whatever name the account sends later, boards, rooms and pairings show this one, until `unname`. It moves with a guest. At most 10,000 ' +
    'accounts have a given name.',
  fields: { name: PlayerName },
  reply: z.object({ accountId: AccountId, boards: z.number().int(), rooms: z.number().int() }),
  errors: ['invalid_request'],
  body: { name: 'Player 7', reason: 'ticket 4711' },
  shown: ({ accountId, boards, rooms }) => [
    `${accountId} has this name now: on ${entriesText(boards)} of boards, in ${rooms} rooms, and wherever it plays next.`,
  ],
  async plan({ accountId, fields, standing }, { name, reason }, services, { by }) {
    const given = fields['nameGiven'] ?? '';
    const replaces = given === '' ? '' : ` This replaces the name "${given}" that it was given.`;
    return {
      question: `Give the account ${accountId} the name "${name}"?${replaces}`,
      noted: (reply) => ({ boards: reply.boards, rooms: reply.rooms }),
      async act() {
        const done = await changeName(accountId, { name, givenAt: services.now(), by, reason }, services);
        if (done instanceof Refusal) return done;
        const owners = [done.accountId, ...standing.guests.map(({ id }) => id)];
        return afterWrites(shown(done.accountId, owners, name, services));
      },
    };
  },
});

async function shown(accountId: string, owners: readonly string[], name: string, services: OperatorServices) {
  const boards = await renameScores(accountId, name, services.scripts);
  return { accountId, boards, rooms: await renameSeats(owners, name, services) };
}

export const unname = accountChange({
  verb: 'unname',
  operationId: 'unnamePlayer',
  title: 'Take the name back',
  role: 'support',
  summary: 'Lets a player choose the name again.',
  description: 'Boards and rooms show the given name until the player sends another one.',
  reply: z.object({ accountId: AccountId, hadName: z.boolean() }),
  body: { reason: 'an appeal' },
  shown: ({ accountId, hadName }) => [hadName ? `${accountId} chooses its own name again.` : `${accountId} was given no name.`],
  async plan({ accountId, fields }, { reason }, services) {
    return {
      question: `Let the account ${accountId} choose its own name again, in place of "${fields['nameGiven'] ?? ''}"?`,
      noted: (reply) => ({ hadName: reply.hadName ? 'yes' : 'no' }),
      async act() {
        const done = await changeName(accountId, { name: '', givenAt: '', by: '', reason: '' }, services);
        return done instanceof Refusal ? done : { accountId: done.accountId, hadName: done.had };
      },
    };
  },
});

type GivenName = Record<'name' | 'givenAt' | 'by' | 'reason', string | number>;

/** Writes the account first, because it decides. A repeated call corrects the index. */
async function changeName(account: string, given: GivenName, { scripts }: OperatorServices) {
  const { word, figures, accountId } = await runWhereItIs(account, scripts, (id) =>
    scripts.run(giveName, { account: accountKey(id), standing: standingKey(id) }, given),
  );
  if (word === 'deleted') return refuse('account_deleted');
  if (word === 'not_found') return refuse('account_not_found');
  if (await afterWrites(noteGivenName(accountId, String(given.name), scripts))) return { accountId, had: figures[0] === '1' };
  const none: GivenName = { name: '', givenAt: '', by: '', reason: '' };
  await runWhereItIs(account, scripts, (id) => scripts.run(giveName, { account: accountKey(id), standing: standingKey(id) }, none));
  return invalid('name', 'Cannot be given: 10,000 accounts have given names, so take one back first');
}
