import { accountPatterns } from '../../accounts/audit.ts';
import { movesKey } from '../../accounts/keys.ts';
import type { Auditor, Finding, Look } from '../../audit/auditor.ts';
import { dueAtOf, dueCommands, queueCheck, type Queued } from '../../audit/queue.ts';
import { boardKeys } from '../highscores/model.ts';
import { storeKeys } from './model.ts';

/** Checks the queue of moves whose scores are not handed over yet. */
export const moveQueueAuditor: Auditor = {
  keys: [
    queueCheck(storeKeys.unfinishedMoves, wrongOf),
    { pattern: accountPatterns.moves, check: ([id], look) => checkIsQueued(id!, look) },
    { pattern: /^\{nonce:.*\}$/ },
  ],
};

/** Each member names a guest that moved. */
async function wrongOf({ key, entry, member }: Queued, look: Look): Promise<string | undefined> {
  const [guest = '', target = ''] = member.split(' ');
  const [isQueued, record] = await look.together(['ZSCORE', key, entry], ['GET', movesKey(guest)]);
  if (isQueued === null || record === `>${target}`) return undefined;
  return `It holds the move of ${guest} into ${target}, but ${guest} did not move there.`;
}

/** A guest that moved and still has scores is in the queue. */
async function checkIsQueued(guest: string, look: Look): Promise<Finding[]> {
  const record = (await look.ask('GET', movesKey(guest))) as string | null;
  if (record?.startsWith('>') !== true) return [];
  const target = record.slice(1);
  const [boards, ...times] = await look.together(
    ['EXISTS', boardKeys.ofAccount(guest)],
    ...dueCommands(storeKeys.unfinishedMoves, `${guest} ${target}`),
  );
  if (boards === 0 || dueAtOf(times) !== undefined) return [];
  const text = `It moved into ${target} and still has scores, but ${storeKeys.unfinishedMoves} does not hold its move.`;
  return [{ kind: 'document_without_queue', subject: `account ${guest}`, text }];
}
