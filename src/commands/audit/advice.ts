import type { Advice, AdviceOf } from '../../consistency/advice.ts';
import type { Command, Finding } from '../../consistency/auditor.ts';
import { DATA_ID_KEY } from '../../redis/data/data-id.ts';

/** Quotes a text for a shell. A `'` in the text closes the quotes, is written as `\'`, and opens the quotes again. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A Redis command, as people type it in a shell. A word is quoted unless it has only characters that no shell changes. */
function inShell([name, ...words]: Command): string {
  return ['redis-cli', name, ...words.map((word) => (/^[\w.:,/-]+$/.test(String(word)) ? String(word) : quoted(String(word))))].join(' ');
}

/** The name in the subject of a finding: `x` of `account x`. */
const nameIn = ({ subject }: Finding): string => subject.slice(subject.indexOf(' ') + 1);

/** The account id in the subject of a finding: `x` of `account x` and of `guest g of account x`. */
const idIn = ({ subject }: Finding): string => subject.replace(/^.*account /, '');

const COMPARE = 'Compare it with a backup from before: npm run restore into another place (docs/backup.md)';
const ASIDE = `${COMPARE}. A key without an owner is set aside for 30 days, in case its owner is found`;
const RESTORE =
  'Delete nothing. Only a backup has the lost keys: npm run restore into another place (docs/backup.md), and copy the keys from there';
const ACCEPT = 'npm run admin -- data accept, once you know that all other data is right';
const RESTART = 'Restart the service, which writes the version again';

const adjusted = (finding: Finding): string =>
  `${COMPARE}. npm run admin -- accounts adjust ${idIn(finding)} COINS --key KEY --reason TEXT sets the balance right; the finding stays`;

/** An operator's ledger entry with the idempotency key undo-PURCHASE tells the audit that the purchase is settled. */
const undone = (finding: Finding): string => `npm run admin -- accounts adjust ACCOUNT COINS --key undo-${nameIn(finding)} --reason TEXT`;

interface Entry {
  readonly right: string;
  /** The remedy that is needed besides the commands of the finding, or in place of missing commands. */
  readonly mend?: string | ((finding: Finding) => string);
}

const LEDGER: Entry = {
  right: 'Neither side is certain: entries never change, so an entry was changed by hand or by a fault',
  mend: adjusted,
};
const IN_PARTS = 'Then audit again: a long list comes in parts';
const INDEX: Entry = {
  right: 'The entries of the ledger are right. A client that repeats a key which the index lacks would be paid twice',
  mend: ({ commands = [] }) => (commands.length === 0 ? COMPARE : IN_PARTS),
};
const OWNERLESS: Entry = { right: 'Neither side: the key is left over, or its owner is lost', mend: ASIDE };
const MOVE: Entry = { right: 'The account that the guest moved into, if its ledger has the entry of the move', mend: COMPARE };
const QUEUE: Entry = { right: 'The document: its work is not done. After the command a running service does the work' };

/** The advice for each kind of finding. A finding may have commands of its own that correct the data. */
const advice: Readonly<Record<string, Entry>> = {
  wrong_type: {
    right: 'Neither side: another program wrote the key',
    mend: ({ subject }) => (subject === `key ${DATA_ID_KEY}` ? ACCEPT : RESTORE),
  },
  // Ledgers
  broken_chain: LEDGER,
  wrong_sum: LEDGER,
  wrong_balance: LEDGER,
  wrong_operation: LEDGER,
  wrong_origin: { right: 'The balance: it does not depend on who made the entry', mend: COMPARE },
  wrong_time: { right: 'The order of the entries, and with it the balance: a clock was set back, or an entry was changed by hand' },
  unreadable_entry: { right: 'The other entries', mend: COMPARE },
  lost_ledger: { right: 'The index and the purchases: the ledger that they belong to, with the balance, is lost', mend: RESTORE },
  key_without_entry: {
    right: 'The key was used, and its entry is lost: the balance lacks the entry, if retention did not delete it',
    mend: adjusted,
  },
  key_points_elsewhere: INDEX,
  key_in_wrong_bucket: INDEX,
  entry_without_key: INDEX,
  key_twice: INDEX,
  key_used_twice: { right: 'The first of the two entries: the second was applied although its key was used', mend: adjusted },
  no_key_secret: {
    right: 'The entries and the indexes are right, and nobody can use them',
    mend: 'Restore ledger:secret from a backup, before a service makes another one (docs/backup.md)',
  },
  bad_key_secret: {
    right: 'The entries and the indexes are right, and nobody can use them',
    mend: 'Restore ledger:secret from a backup (docs/backup.md)',
  },
  changed_key_secret: {
    right: 'The indexes of the ledgers: the secret that they were made with is lost',
    mend: "Stop the service, and restore ledger:secret from a backup (docs/backup.md). In a cluster each slot has a copy: redis-cli -c GET '{0}ledger:secret'",
  },
  other_secret: {
    right: 'The secret of the cluster, in ledger:secret',
    mend: 'Put the data of that slot back from its own backup (docs/backup.md)',
  },
  no_data: {
    right: 'Nothing that is left. If a service has run on this Redis, its data is lost',
    mend: `Check REDIS_URL. ${RESTORE.replace('Delete nothing. Only a backup has the lost keys', 'Only a backup has the data')}`,
  },
  other_data: { right: 'The data id of the cluster, in data:id', mend: ACCEPT },
  wrong_version: { right: 'The layout of the data, which the version only names', mend: RESTART },
  orphan_bucket: OWNERLESS,
  orphan_ledger: OWNERLESS,
  wrong_counter: { right: 'The ledger: the counter only bounds what is written next' },
  // Accounts, guests and deletions
  lost_account: { right: 'The other keys: the account that they belong to is lost', mend: RESTORE },
  lost_standing: { right: 'The keys and the accounts of its guests', mend: RESTORE },
  orphan_filed: OWNERLESS,
  orphan_staging: { right: 'The standing of the guest, which goes on for itself', mend: ASIDE },
  half_move: MOVE,
  guest_balance: MOVE,
  filed_differs: { right: "The guest's own ledger", mend: COMPARE },
  wrong_move_record: { right: 'The standings of both accounts. The record expires by itself' },
  unreadable_record: { right: 'What can be read', mend: COMPARE },
  too_many_sessions: {
    right: 'The sign-out marks and the generation of the sessions: the list does not decide which sessions are valid',
    mend: (finding) => `npm run admin -- accounts sign-out ${idIn(finding)} --reason TEXT`,
  },
  deleted_account_left: {
    right:
      'The tombstone, if the operators or the index of tombstones know of the deletion. Else the account: then its standing was changed',
    mend: (finding) => `${COMPARE}. npm run admin -- accounts show ${nameIn(finding)}`,
  },
  tombstone_without_index: { right: 'The tombstone' },
  index_without_tombstone: {
    right: 'The index, if nothing in the account is newer than the deletion: a backup brought the account back. Else the account',
    mend: (finding) =>
      `npm run admin -- accounts show ${nameIn(finding)}, then npm run admin -- accounts delete account:${nameIn(finding)} --reason TEXT`,
  },
  doomed_account: {
    right: 'The account, unless operators know of its deletion (npm run admin -- log)',
    mend: (finding) => `To delete the account after all: npm run admin -- accounts delete account:${nameIn(finding)} --reason TEXT`,
  },
  name_differs: { right: 'The fields of the account. Processes show the name of the index' },
  ended_sign_in: {
    right: 'The mark of the end: the sign-in opens no account',
    mend: (finding) => `npm run admin -- accounts show ${nameIn(finding)}. ${COMPARE}`,
  },
  foreign_sign_in: { right: 'The standing of the sign-in, which says which account it opens', mend: COMPARE },
  expires: { right: 'The data: it must stay' },
  never_expires: { right: 'The rule that the key expires: it only uses memory, or names a session that has ended' },
  lost_save: { right: 'The version: its data is lost, in whole or in part', mend: COMPARE },
  save_without_version: { right: 'The versions, if a backup has no version with these pieces: no call reads the pieces', mend: COMPARE },
  wrong_save_bytes: { right: 'The versions' },
  save_without_name: { right: 'The versions: lists do not show the save, and a client can still load it', mend: COMPARE },
  trial_differs: {
    right:
      "The device's start: a link copies it, and nothing changes it afterwards. If the device's is the one that was changed, the account's",
    mend: COMPARE,
  },
  wrong_pairing: {
    right: 'The session that the pairing gave. If the pairing gave none, its claimant is not certain: the user pairs again',
    mend: 'A pairing expires within a quarter of an hour',
  },
  // Rooms
  broken_room: {
    right: 'Neither side. Rooms expire by themselves',
    mend: (finding) => `npm run admin -- rooms end ${nameIn(finding)} --reason TEXT`,
  },
  seat_not_listed: {
    right: 'The seat in the room: the set only serves to find the seat for an export or a deletion',
    mend: ({ text }) => `npm run admin -- rooms end ${/room (\w+)/.exec(text)?.[1] ?? 'CODE'} --reason TEXT, or let the room expire`,
  },
  // Boards and seasons
  lost_board: { right: "The accounts' sets, which name the board: the board is lost, or never existed", mend: ASIDE },
  score_without_player: { right: 'Neither side: lists show the score, and its account does not find it', mend: RESTORE },
  player_without_score: { right: 'The record of the player. The score itself is lost until the player submits again', mend: RESTORE },
  entry_differs: { right: 'The scores, which lists show' },
  player_without_board: { right: 'The board' },
  deleted_account_on_board: { right: 'The tombstone. After the commands a running service erases the account once more' },
  board_without_player: {
    right: 'The board, if no backup has an entry of the account on it',
    mend: ASIDE,
  },
  wrong_score: { right: 'Neither side: no client can send such a score', mend: COMPARE },
  wrong_arrivals: { right: 'The entries' },
  foreign_player: { right: 'The id of the player: only its own account gives it', mend: COMPARE },
  shown_entry: { right: 'The ban' },
  hidden_entry: { right: 'The account: a ban hides entries' },
  no_board_secret: { right: 'The players: their accounts find none of them without the secret', mend: RESTORE },
  wrong_board_secret: { right: 'The players: their ids were made from another secret', mend: RESTORE },
  unreadable_archive: { right: 'The board as it is now, and the entries of the archive', mend: COMPARE },
  wrong_archive: { right: 'The record, which says how many entries there were', mend: COMPARE },
  orphan_archive: { right: 'The entries: the record of the archive is lost', mend: RESTORE },
  season_without_rules: { right: 'Neither side: the season can be read, and is never paid', mend: RESTORE },
  season_not_listed: { right: 'The rules of the season' },
  unreadable_season: { right: 'Neither side: without its rules the season is never paid', mend: RESTORE },
  season_not_closed: { right: 'The season: its prizes are fixed' },
  orphan_payouts: { right: 'The payouts: the rules of the season are lost', mend: RESTORE },
  wrong_payout: { right: 'The ledgers: an account got what its entry of the type prize says', mend: COMPARE },
  prize_without_payout: { right: 'The ledger: the account got the coins', mend: COMPARE },
  // Queues
  document_without_queue: QUEUE,
  lost_queue: { right: 'The documents: their work is not done. After the commands a running service does the work', mend: IN_PARTS },
  queue_without_document: { right: 'The document: there is nothing left to do. The service removes the entry once the entry is due' },
  // Purchases
  lost_purchase: {
    right: 'The ledger, the lines and the lists that name the purchase. Without its record, any account can record the purchase again',
    mend: RESTORE,
  },
  granted_twice: {
    right: "The app store's console, which shows the one buyer of the order",
    mend: (finding) =>
      `npm run admin -- purchases show ${nameIn(finding)}, then ${undone(finding)} takes the coins from the account that did not buy. If the record names that account: npm run admin -- purchases move ${nameIn(finding)}`,
  },
  wrong_owner: { right: 'The account whose ledger, list or line has the purchase', mend: COMPARE },
  purchase_differs: {
    right: 'The entries in the ledger for what was given and taken, and the app store for what was bought and refunded',
    mend: (finding) => `If an account got or lost coins by it: ${undone(finding)}`,
  },
  purchase_without_entry: {
    right: 'The record, if no operator has given the coins by hand: the account lacks them. The service books the entry again',
    mend: (finding) => `If there is no command: ${undone(finding)} gives the coins`,
  },
  foreign_listed: { right: 'The record and the ledger of its owner' },
  order_not_listed: { right: 'The record of the purchase' },
  purchase_not_listed: { right: 'The purchase: its owner, a move or a deletion does not find it' },
  purchase_without_line: { right: 'The purchase. A running service then writes the line' },
  line_differs: { right: 'The purchase. A running service then writes the line' },
  line_without_purchase: {
    right: 'The purchases',
    mend: (finding) =>
      `redis-cli HSET ${quoted(`{${nameIn(finding)}}:account`)} purchases LINES, without that line, after a copy of all lines`,
  },
  // Events, server keys, webhooks, the operators' log
  event_without_entry: {
    right:
      'The ledger. Subscribers were told of a change that the ledger lacks: a failover without REDIS_WAIT_REPLICAS may have lost the change',
    mend: 'Tell the subscribers: nothing in Redis is wrong',
  },
  wrong_event_number: {
    right: 'The ledger and the fields of the account. Subscribers that count events may miss one, or wait for one',
    mend: 'Have subscribers read the account again: nothing in the account is wrong',
  },
  numbers_differ: {
    right: 'The ledgers, if no account was lost: no other data contradicts them',
    mend: `${COMPARE}. The commands set the counters of the day to the coins of the ledgers`,
  },
  unreadable_event: { right: 'The other events. Readers of the log stop at this event', mend: COMPARE },
  lost_events: {
    right: 'The accounts. Subscribers do not get the events of the chunk',
    mend: `${RESTORE}. Else have subscribers read the accounts again`,
  },
  chunk_not_listed: { right: 'The chunk' },
  events_set_back: { right: 'The events: a position never comes again', mend: 'Subscribers may get events again, with ids that they know' },
  entry_without_event: {
    right: 'The ledger. A process without EVENTS=on wrote the entry, or the event was lost',
    mend: 'Set EVENTS=on for every process, and have subscribers read the account again',
  },
  lost_server_keys: { right: 'The times of use: the records of the keys are lost, and the service accepts no key', mend: RESTORE },
  unreadable_key: {
    right: 'Neither side: the service does not accept the key',
    mend: `${COMPARE}. Else npm run admin -- keys create makes a new key`,
  },
  orphan_use: { right: 'The list of keys, if no backup has that key', mend: COMPARE },
  wrong_use: { right: 'The key itself. The next use writes the time again' },
  lost_webhooks: { right: 'The deliveries: the records of the webhooks are lost, and nothing is delivered', mend: RESTORE },
  unreadable_webhook: {
    right: 'Neither side: the webhook gets nothing',
    mend: `${COMPARE}. Else npm run admin -- webhooks add makes a new webhook`,
  },
  orphan_webhook: OWNERLESS,
  unlogged_change: {
    right:
      'The ledger: the entry has the name of the operator and the reason. Somebody has removed the entry of the log, or a failover lost it',
    mend: COMPARE,
  },
  unreadable_log: { right: 'The entries that can be read', mend: COMPARE },
  misplaced_keys: {
    right: 'The node that serves the slot',
    mend: 'redis-cli --cluster fix; if the other node has newer copies, take them from it first (docs/scale-out.md)',
  },
};

/** The advice for each kind of finding. */
export const adviceOf: AdviceOf = (finding): Advice | undefined => {
  const found = Object.hasOwn(advice, finding.kind) ? advice[finding.kind] : undefined;
  if (found === undefined) return undefined;
  const { right, mend } = found;
  const commands = (finding.commands ?? []).map(inShell);
  const words = typeof mend === 'function' ? mend(finding) : mend;
  if (commands.length === 0) return { right, ...(words === undefined ? {} : { mend: words }) };
  return { right, mend: [commands.join('; '), ...(words === undefined ? [] : [words])].join('. '), commands };
};

/** The kinds of findings that have advice. */
export const advisedKinds: readonly string[] = Object.keys(advice);
