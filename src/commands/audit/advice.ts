import { standingKey } from '../../accounts/account-keys.ts';
import type { Advice, AdviceOf } from '../../consistency/advice.ts';
import type { Finding } from '../../consistency/auditor.ts';

/** A quote closed and opened again around `'`, for names that may hold any character. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const redis = (...words: string[]): string => `redis-cli ${words.join(' ')}`;

/** `account x` → `x` */
const nameIn = ({ subject }: Finding): string => subject.slice(subject.indexOf(' ') + 1);

/** The game of `board <game>` and of `season <id> of board <game>`. */
const gameIn = ({ subject }: Finding): string => subject.replace(/^.*board /, '');

/** Prefix of the keys of such a board or season. */
const boardOf = (finding: Finding): string => {
  const [, season] = /^season (\S+) /.exec(finding.subject) ?? [];
  return `{board:${gameIn(finding)}}${season === undefined ? '' : `:season:${season}`}`;
};

const RESTORE = 'Compare it with a backup from before: npm run restore into another place (docs/backup.md)';
const RESTART = 'Restart the service, which writes it anew';

const adjusted = (finding: Finding): string =>
  `${RESTORE}. npm run admin -- accounts adjust ${idIn(finding)} COINS --key KEY --reason TEXT sets the balance right; the finding stays`;

/** The account of `account x` and of `guest g of account x`. */
const idIn = ({ subject }: Finding): string => subject.replace(/^.*account /, '');

const LEDGER: Entry = { right: 'Neither side is certain: entries never change, so one was changed by hand or by a fault', mend: adjusted };
const INDEX_LEFT: Entry = {
  right: 'The entries of the ledger are right, and the index is not',
  mend: `redis-cli HDEL takes the hash out of the bucket that the finding names`,
};
const INDEX_LACKS: Entry = {
  right: 'The entries of the ledger are right. A client that repeats one of these keys would be paid twice',
  mend: RESTORE,
};
const NO_OWNER: Entry = {
  right: 'That nothing owns it: no request reads it',
  mend: 'redis-cli DEL deletes the key that the finding names',
};
const MOVE: Entry = { right: 'The account that the guest moved into, if its ledger has the entry of the move', mend: RESTORE };
const ACCOUNT_LINE: Entry = { right: 'The purchase', mend: ({ text }) => requeue(/purchase ([\w-]{22})/.exec(text)?.[1] ?? 'HASH') };

/** The service checks a purchase that is due, and writes the missing line of its account. */
const requeue = (hash: string): string =>
  `${redis('HSET', quoted(`{purchase:${hash}}`), 'todo', 'line')}; ${redis('ZADD', 'purchases:due', '0', hash)}`;

interface Entry {
  readonly right: string;
  readonly mend?: string | ((finding: Finding) => string);
}

/** What each kind of finding means. On a Redis Cluster the queues have other names: `{purchases:due:<n>}`. */
const advice: Readonly<Record<string, Entry>> = {
  broken_chain: LEDGER,
  wrong_sum: LEDGER,
  wrong_balance: LEDGER,
  wrong_operation: LEDGER,
  wrong_origin: { right: 'The balance: it does not depend on who made the entry', mend: RESTORE },
  wrong_time: { right: 'The order of the entries, and with it the balance: a clock was set back, or an entry was changed by hand' },
  unreadable_entry: { right: 'The other entries', mend: RESTORE },
  key_without_entry: {
    right: 'The key was used, and its entry is lost: the balance lacks the entry, if retention did not delete it',
    mend: adjusted,
  },
  key_points_elsewhere: INDEX_LACKS,
  key_in_wrong_bucket: INDEX_LACKS,
  entry_without_key: INDEX_LACKS,
  key_twice: INDEX_LEFT,
  key_used_twice: { right: 'The first of the two entries: the second was applied although its key was used', mend: adjusted },
  no_key_secret: {
    right: 'The entries and the indexes are right, and nobody can use them',
    mend: 'Restore ledger:secret from a backup, before a service makes another one (docs/backup.md)',
  },
  bad_key_secret: {
    right: 'The entries and the indexes are right, and nobody can use them',
    mend: 'Restore ledger:secret from a backup (docs/backup.md)',
  },
  other_secret: { right: "The cluster's own", mend: 'Put the data of that slot back from its own backup (docs/backup.md)' },
  other_data: { right: "The cluster's own", mend: 'npm run admin -- data accept, once you know that the data of the slot is right' },
  wrong_version: { right: 'The layout of the data, which the version only names', mend: RESTART },
  orphan_bucket: NO_OWNER,
  orphan_ledger: { right: 'Neither side: an account with coins is lost, or a ledger is left over', mend: RESTORE },
  orphan_filed: NO_OWNER,
  orphan_staging: {
    right: 'The standing of the guest, which goes on for itself',
    mend: 'redis-cli DEL deletes the keys of the move that the finding names',
  },
  half_move: MOVE,
  guest_balance: MOVE,
  filed_differs: { right: "The guest's own ledger", mend: RESTORE },
  wrong_move_record: {
    right: 'The standings of both accounts',
    mend: 'redis-cli DEL deletes the record that the finding names: {ACCOUNT}:move:MOVE',
  },
  wrong_counter: {
    right: 'The ledger: the counter only bounds what is written next',
    mend: 'redis-cli DEL deletes the counter: credits of the day, or the version of a board, begin anew',
  },
  unreadable_record: { right: 'What can be read', mend: RESTORE },
  too_many_sessions: {
    right: 'The marks and the generation of sessions: the list decides nothing',
    mend: (finding) => `npm run admin -- accounts sign-out ${idIn(finding)} --reason TEXT`,
  },
  deleted_account_left: {
    right: 'The tombstone: the account was deleted',
    mend: (finding) => `redis-cli DEL deletes ${/(\{\S+)/.exec(finding.text)?.[1] ?? 'the key'}`,
  },
  tombstone_without_index: { right: 'The tombstone', mend: (finding) => redis('ZADD', 'tombstones', String(Date.now()), nameIn(finding)) },
  index_without_tombstone: {
    right: 'The index: the account was deleted, and a backup brought it back',
    mend: (finding) => `npm run admin -- accounts delete account:${nameIn(finding)} --reason TEXT`,
  },
  expires: { right: 'The data: it must stay', mend: (finding) => redis('PERSIST', quoted(nameIn(finding))) },
  never_expires: {
    right: 'That it is over: it only holds memory, or a session that has ended',
    mend: (finding) => redis('EXPIRE', quoted(nameIn(finding)), '2592000'),
  },
  trial_differs: {
    right: "The device's start: a link copies it, and nothing changes it afterwards",
    mend: (finding) =>
      `redis-cli HSET ${quoted(`{${idIn(finding)}}:account`)} trialStartedAt TIME, with the device's time if the account's is the one that was changed`,
  },
  wrong_pairing: {
    right: 'The session that the pairing gave. The claimant of another one is not certain',
    mend: (finding) =>
      `redis-cli --scan --pattern ${quoted(`{pair:${nameIn(finding).replace('…', '')}*}`)} finds its key, and redis-cli DEL deletes it: its user pairs again`,
  },
  broken_room: {
    right: 'Neither side. Rooms expire by themselves',
    mend: (finding) =>
      `npm run admin -- rooms end ${nameIn(finding)} --reason TEXT; if that fails, ${redis('DEL', quoted(`{room:${nameIn(finding)}}`))}`,
  },
  seat_not_listed: {
    right: 'The seat in the room: the set only finds it for an export or a deletion',
    mend: ({ text }) => `npm run admin -- rooms end ${/room (\w+)/.exec(text)?.[1] ?? 'CODE'} --reason TEXT, or let the room expire`,
  },
  score_without_player: {
    right: 'Neither side',
    mend: (finding) => `redis-cli ZREM ${quoted(`${boardOf(finding)}:scores`)} MEMBER`,
  },
  player_without_score: {
    right: 'The place and the score in the record of the player',
    mend: (finding) =>
      `redis-cli HDEL ${quoted(`${boardOf(finding)}:players`)} PLAYER, with the last 12 characters of the entry, and the player submits again`,
  },
  player_without_board: { right: 'The board', mend: (finding) => `redis-cli SADD {ACCOUNT}:boards ${quoted(gameIn(finding))}` },
  board_without_player: {
    right: 'The board',
    mend: ({ subject, text }) =>
      redis('SREM', quoted(`{${subject.slice('account '.length)}}:boards`), /board (\S+),/.exec(text)?.[1] ?? 'GAME'),
  },
  orphan_boards: { right: 'Neither side: the account is lost, or its set is left over', mend: RESTORE },
  wrong_arrivals: {
    right: 'The entries',
    mend: (finding) => `redis-cli SET ${quoted(`{board:${gameIn(finding)}}:arrivals`)} NUMBER, with that of the newest entry`,
  },
  foreign_player: {
    right: 'Neither side: the entry shows under an id that its account does not find',
    mend: (finding) => `redis-cli HDEL ${quoted(`${boardOf(finding)}:players`)} PLAYER, then audit again for the score without a player`,
  },
  shown_entry: { right: 'The ban', mend: (finding) => redis('ZADD', 'bans:due', '0', nameIn(finding)) },
  hidden_entry: {
    right: 'The account: a ban hides entries',
    mend: ({ text }) => redis('ZADD', 'bans:due', '0', /account (\S+) is hidden/.exec(text)?.[1] ?? 'ACCOUNT'),
  },
  no_board_secret: { right: 'The players: their account finds none of them without the secret', mend: RESTORE },
  unreadable_archive: {
    right: 'The board as it is now',
    mend: (finding) => `redis-cli HDEL ${quoted(`{board:${nameIn(finding)}}:archives`)} NUMBER`,
  },
  wrong_archive: { right: 'The record, which says how many entries there were', mend: RESTORE },
  orphan_archive: NO_OWNER,
  season_without_rules: { right: 'Neither side: the season can be read, and is never paid', mend: RESTORE },
  unreadable_season: { right: 'Neither side: without its rules the season is never paid', mend: RESTORE },
  season_not_closed: {
    right: 'The season: its prizes are fixed',
    mend: (finding) => `redis-cli SET ${quoted(`{board:${gameIn(finding)}}:closed`)} END, with the endsAt of ${quoted(boardOf(finding))}`,
  },
  orphan_payouts: NO_OWNER,
  wrong_payout: { right: 'The ledgers: an account got what its entry of the type prize says', mend: RESTORE },
  prize_without_payout: { right: 'The ledger: the account got the coins', mend: RESTORE },
  document_without_queue: { right: 'The document: its work is not done', mend: queued },
  queue_without_document: {
    right: 'The document: there is nothing left to do',
    mend: (finding) => redis('ZREM', quoted(nameIn(finding)), 'MEMBER'),
  },
  purchase_without_line: ACCOUNT_LINE,
  line_differs: ACCOUNT_LINE,
  purchase_not_listed: {
    right: 'The purchase: its owner, a move or a deletion does not find it',
    mend: ({ subject, text }) =>
      redis(
        'ZADD',
        quoted(`{${subject.replace('account ', '')}}:product-purchases`),
        '0',
        /purchase ([\w-]{22})/.exec(text)?.[1] ?? 'PURCHASE',
      ),
  },
  line_without_purchase: {
    right: 'The purchases',
    mend: (finding) => `redis-cli HSET ${quoted(`{${nameIn(finding)}}:account`)} purchases LINES, without that line`,
  },
  event_without_entry: {
    right: 'The ledger. Subscribers were told of a change that is not there: a failover without REDIS_WAIT_REPLICAS may have lost it',
    mend: 'Tell the subscribers: nothing in Redis is wrong',
  },
  entry_without_event: {
    right: 'The ledger. A process without EVENTS=on wrote the entry, or the event was lost',
    mend: 'Set EVENTS=on for every process, and have subscribers read the account anew',
  },
  unreadable_key: {
    right: 'Neither side: the key opens nothing',
    mend: (finding) => `${redis('HDEL', "'{server-keys}'", nameIn(finding).replace('key ', ''))}, then npm run admin -- keys create`,
  },
  orphan_use: { right: 'The list of keys', mend: (finding) => redis('HDEL', "'{server-keys}:used'", nameIn(finding).replace('key ', '')) },
  wrong_use: { right: 'The key itself', mend: (finding) => redis('HDEL', "'{server-keys}:used'", nameIn(finding).replace('key ', '')) },
  unreadable_webhook: {
    right: 'Neither side: the webhook gets nothing',
    mend: (finding) => `${redis('HDEL', "'{webhooks}'", nameIn(finding))}, then npm run admin -- webhooks add`,
  },
  orphan_webhook: {
    right: 'The list of webhooks',
    mend: (finding) =>
      redis('DEL', ...['state', 'waiting', 'delivered', 'failed', 'asked'].map((kind) => `'{webhooks}:${kind}:${nameIn(finding)}'`)),
  },
  unreadable_log: { right: 'The entries that can be read', mend: RESTORE },
  wrong_type: { right: 'Neither side: something else than coinop wrote it', mend: RESTORE },
  misplaced_keys: {
    right: 'The node that serves the slot',
    mend: 'redis-cli --cluster fix, or delete the keys on the node that does not serve them (docs/scale-out.md)',
  },
};

/** The command that puts a document into its queue, for which a running service then does the work. */
function queued({ subject, text }: Finding): string {
  const [kind, name = ''] = subject.split(' ');
  if (kind === 'coin-purchase') return redis('ZADD', 'product-purchases:due', '0', name);
  if (kind === 'purchase') return redis('ZADD', text.startsWith('Nobody owns it') ? 'purchases:unowned' : 'purchases:due', '0', name);
  if (kind === 'room') return redis('ZADD', 'rooms:due', '0', name);
  if (kind === 'season') return redis('ZADD', 'seasons:due', '0', `'${subject.replace(/^season (\S+) of board (\S+)$/, '$2 $1')}'`);
  const into = /into (\S+)/.exec(text)?.[1];
  if (into === undefined) return redis('ZADD', 'deletions:due', '0', name);
  const move = `MOVE is what GET ${quoted(standingKey(name))} has behind ~, or any word for a guest that has moved`;
  return `${redis('ZADD', 'moves:due', '0', `'${name} ${into} MOVE'`)}, where ${move}`;
}

/** The advice for each kind of finding. */
export const adviceOf: AdviceOf = (finding): Advice | undefined => {
  const found = Object.hasOwn(advice, finding.kind) ? advice[finding.kind] : undefined;
  if (found === undefined) return undefined;
  const { right, mend } = found;
  return { right, ...(mend === undefined ? {} : { mend: typeof mend === 'string' ? mend : mend(finding) }) };
};

/** The kinds that have advice. */
export const advisedKinds: readonly string[] = Object.keys(advice);
