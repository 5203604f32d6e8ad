import { standingIn } from '../../accounts/account-auditor.ts';
import { BANS_DUE } from '../../accounts/ban.ts';
import { banAt } from '../../accounts/standing.ts';
import type { Finding, Probe } from '../../consistency/auditor.ts';
import { dueAnywhereCommands, dueAtOf } from '../../consistency/queue-check.ts';
import { hiddenField, memberOf, playerEntry } from './entry-format.ts';
import { boardKeys } from './model.ts';

/** Checks of the audit that a board hides an entry exactly while the entry's account is banned. */

/**
 * The longest time until the queue of bans takes over the work of a ban that began or ended a moment ago, in milliseconds. The queue takes
 * over within a minute. The other minute is for clocks that differ.
 */
const LATEST_DUE_MS = 120_000;

/** Whether all entries of the account must be hidden: the account is banned, and the queue of bans has no work left for it. */
export async function hidesEntries(accountId: string, probe: Probe): Promise<boolean> {
  return (await isBanned(accountId, probe)) && !(await isDue(accountId, probe));
}

export async function isShown(game: string, playerId: string, probe: Probe): Promise<boolean> {
  const text = (await probe.ask('HGET', boardKeys.players(game), playerId)) as string | null;
  return text !== null && (await probe.ask('ZSCORE', boardKeys.scores(game), memberOf(playerId, text))) !== null;
}

/**
 * Finds entries that are hidden although their account is not banned.
 * @param players the key of a board's or a season's players
 * @param playerIds players whose entries were hidden when they were read
 * @returns a sentence and commands for each entry that is hidden without a ban
 */
export async function hiddenWithoutBan(
  players: string,
  playerIds: Iterable<string>,
  probe: Probe,
): Promise<Pick<Finding, 'text' | 'commands'>[]> {
  const found: Pick<Finding, 'text' | 'commands'>[] = [];
  for (const id of playerIds) {
    const [text, isHidden] = await probe.atomically(['HGET', players, id], ['HEXISTS', players, hiddenField(id)]);
    if (isHidden !== 1) continue;
    const accountId = text === null ? undefined : playerEntry.parse(text as string)?.accountId;
    if (accountId === undefined) found.push({ text: `The player ${id} is hidden, but has no entry.` });
    else if (!(await isBanned(accountId, probe)) && !(await isDue(accountId, probe)))
      found.push({
        text: `The entry of the account ${accountId} is hidden, but the account is not banned.`,
        commands: [['ZADD', BANS_DUE, 0, accountId]],
      });
  }
  return found;
}

async function isBanned(accountId: string, probe: Probe): Promise<boolean> {
  return banAt(await standingIn(accountId, probe), probe.now()) !== undefined;
}

/**
 * Whether a ban of the account began or ended a moment ago. Until the account's entries are hidden or visible again, the queue of bans has
 * the account.
 */
async function isDue(accountId: string, probe: Probe): Promise<boolean> {
  const dueAt = dueAtOf(await probe.together(...dueAnywhereCommands(BANS_DUE, accountId)));
  return dueAt !== undefined && dueAt < probe.now() + LATEST_DUE_MS;
}
