import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { PlayerName } from '../accounts/player-name.ts';
import { invalid, Refusal } from '../errors.ts';
import { renameScores } from '../features/highscores/account-scores.ts';
import { renameSeats } from '../features/rooms/account-seats.ts';
import { isIndexFull, noteGivenName } from '../features/names/model.ts';
import { afterWrites } from '../redis/script-runner.ts';
import { foreseenWithoutFields } from './account-facts.ts';
import { accountChange } from './account-change.ts';
import { giveFields } from './given-fields.ts';
import type { OperatorServices } from './operation.ts';
import { entriesText } from './shown/cells.ts';

export const rename = accountChange({
  verb: 'rename',
  words: ['name'],
  operationId: 'renamePlayer',
  role: 'support',
  summary: 'Gives a player another name, on all boards, in the rooms of the last two weeks, and in the future.',
  description:
    'Whatever name the account sends later, boards, rooms and pairings show this one, until the name is taken back (`unname`). It moves with a guest. At most 10,000 ' +
    'accounts have a given name.',
  fields: { name: PlayerName },
  reply: z.object({ accountId: AccountId, boards: z.number().int(), rooms: z.number().int() }),
  errors: ['invalid_request'],
  body: { name: 'Player 7', reason: 'ticket 4711' },
  shown: ({ accountId, boards, rooms }) => [
    `${accountId} has this name now: on ${entriesText(boards)} of boards, in ${rooms} rooms, and wherever it plays next.`,
  ],
  async plan({ accountId, exists, fields, standing }, { name, reason }, services, { by }) {
    const given = fields['nameGiven'] ?? '';
    const replaces = given === '' ? '' : ` This replaces the name "${given}" that it was given.`;
    return {
      question: `Give the account ${accountId} the name "${name}"?${replaces}`,
      foreseen: foreseenWithoutFields({ exists }) ?? ((await isIndexFull(accountId, services.scripts)) ? isFull() : undefined),
      noted: (reply) => ({ boards: reply.boards, rooms: reply.rooms }),
      async act() {
        const done = await changeName(accountId, [name, services.now(), by, reason], services);
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
  async plan({ accountId, fields, standing }, { reason }, services) {
    const given = fields['nameGiven'] ?? '';
    // While a guest is moving, the name of the account into which it moves counts.
    if (given === '' && standing.moving === undefined) return { reply: { accountId, hadName: false } };
    return {
      question: `Let the account ${accountId} choose its own name again, in place of "${given}"?`,
      noted: (reply) => ({ hadName: reply.hadName ? 'yes' : 'no' }),
      async act() {
        const done = await changeName(accountId, undefined, services);
        return done instanceof Refusal ? done : { accountId: done.accountId, hadName: done.had };
      },
    };
  },
});

const FIELDS = ['nameGiven', 'nameGivenAt', 'nameGivenBy', 'nameGivenReason'];

/**
 * The account is written first, because its name decides. A repeated call corrects the index. @param given undefined: the name is taken
 * back
 */
async function changeName(
  account: string,
  given: readonly [name: string, ...by: (string | number)[]] | undefined,
  services: OperatorServices,
) {
  const done = await giveFields(account, FIELDS, given, services);
  if (done instanceof Refusal) return done;
  const { accountId, before } = done;
  if (await afterWrites(noteGivenName(accountId, given?.[0] ?? '', services.scripts))) return { accountId, had: before !== '' };
  await giveFields(account, FIELDS, undefined, services);
  return isFull();
}

const isFull = () => invalid('name', 'Cannot be given: 10,000 accounts have given names, so take one back first');
