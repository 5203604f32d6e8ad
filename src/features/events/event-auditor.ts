import { standingIn } from '../../accounts/account-auditor.ts';
import { accountKey } from '../../accounts/account-keys.ts';
import { CLOCKS_DIFFER_MS, type Auditor, type Finding, type Probe } from '../../consistency/auditor.ts';
import { coinKeys, entryLetters, ledgerEntry, type LedgerEntry } from '../coins/model.ts';
import { checkChunk, checkChunks, checkState } from './log-check.ts';
import { CHUNK_LENGTH, eventKeys, UnknownEvent, type EventRecord } from './model.ts';
import { parseEvent } from './parse-event.ts';

/** The size of the sample: the newest CHUNKS chunks of the log, and at most MOST_ACCOUNTS accounts with events in these chunks. */
const CHUNKS = 5;
const MOST_ACCOUNTS = 200;

/** The number of newest entries of a ledger that are compared with events. */
const NEWEST_ENTRIES = 200;

/**
 * Checks that the log of events has all its chunks and the right end. For some accounts of the newest events it also checks that each event
 * `coins.changed` has its ledger entry, that each entry has its event, and that the numbers of the account's events have no gaps.
 */
export const eventAuditor: Auditor = {
  keys: [
    { pattern: /^(?:\{[^}]+\})?outbox$/, type: 'list', life: 'lasts' },
    { pattern: /^\{events\}:state$/, type: 'hash', life: 'lasts' },
    { pattern: /^\{events\}:chunks$/, type: 'zset', life: 'lasts', check: (_parts, probe) => checkChunks(probe) },
    { pattern: /^\{events\}:forgotten$/, type: 'zset', life: 'lasts' },
    {
      pattern: /^\{events\}:chunk:(\d+)$/,
      counted: 'chunks of events',
      type: 'list',
      life: 'lasts',
      check: ([chunk], probe) => checkChunk(Number(chunk), probe),
    },
  ],
  once: checkEvents,
};

interface Sample {
  /**
   * Ledger entries from this time on must have their events in `events`, and the numbers of events after this time must have no gaps. In
   * milliseconds since 1970.
   */
  readonly from: number;
  readonly events: readonly EventRecord[];
  /** Subjects of findings that would explain a difference between the events and their accounts. */
  readonly causes: readonly string[];
  readonly findings: readonly Finding[];
}

async function checkEvents(probe: Probe): Promise<Finding[]> {
  const { from, events, causes, findings } = await readSample(probe);
  probe.count('events', events.length);
  const wrong = await checkState(events.at(-1), probe);
  const byAccount = Map.groupBy(
    events.filter(({ accountId, number }) => accountId !== undefined && number !== undefined),
    ({ accountId }) => accountId!,
  );
  const ofAccounts: Finding[] = [];
  for (const [accountId, own] of [...byAccount].slice(0, MOST_ACCOUNTS)) {
    const found = await new AccountCheck(accountId, own, from, probe).run();
    // If an account or the log is damaged, several of its events are wrong for the same reason.
    if (found !== undefined) ofAccounts.push({ ...found, explainedBy: [`account ${accountId}`, ...causes] });
  }
  return [...wrong, ...findings, ...ofAccounts];
}

async function readSample(probe: Probe): Promise<Sample> {
  const newest = (await probe.ask('ZREVRANGE', eventKeys.chunks, 0, CHUNKS - 1)) as string[];
  const since = Number((await probe.ask('HGET', eventKeys.state, 'onSince')) ?? 0);
  const lists = (await Promise.all(
    newest.map((chunk) => probe.ask('LRANGE', eventKeys.chunk(Number(chunk)), 0, CHUNK_LENGTH - 1)),
  )) as string[][];
  const findings: Finding[] = [];
  const events: EventRecord[] = [];
  // `checkChunks` reports a lost chunk. The sample then begins after this chunk.
  const lost = lists.findIndex((list) => list.length === 0);
  const kept = lists.slice(0, lost === -1 ? undefined : lost);
  for (const [place, list] of [...kept.entries()].toReversed()) {
    const unreadable: string[] = [];
    for (const line of list) {
      const event = eventIn(line);
      if (event === 'unreadable') unreadable.push(line);
      else if (event !== undefined) events.push(event);
    }
    const more = unreadable.length > 1 ? ` The same holds for ${unreadable.length - 1} more.` : '';
    const text = `The chunk's event "${unreadable[0]?.slice(0, 60)}" cannot be read.${more}`;
    const subject = `key ${eventKeys.chunk(Number(newest[place]))}`;
    if (unreadable.length > 0) findings.push({ kind: 'unreadable_event', subject, text });
  }
  // If the log has no chunks older than the sample, the sample has all events since the service began to run with EVENTS=on.
  const hasOlder = lost !== -1 || ((await probe.ask('ZCARD', eventKeys.chunks)) as number) > CHUNKS;
  const oldest = hasOlder ? Date.parse(events[0]?.at ?? '') : since;
  return {
    // Clocks differ, and the relay needs a moment to append an event to the log.
    from: Math.max(oldest, since) + CLOCKS_DIFFER_MS,
    events,
    causes: [`key ${eventKeys.state}`, ...findings.map(({ subject }) => subject)],
    findings,
  };
}

/** @returns undefined for an event of a type that only a newer version of the service knows */
function eventIn(line: string): EventRecord | 'unreadable' | undefined {
  try {
    return parseEvent(line);
  } catch (error) {
    return error instanceof UnknownEvent && /^[a-z] \S+ \S+ \S+/.test(line) ? undefined : 'unreadable';
  }
}

/** Compares events of an account with its newest ledger entries and with its count of events. */
class AccountCheck {
  readonly #id: string;
  readonly #events: readonly EventRecord[];
  readonly #from: number;
  readonly #probe: Probe;

  constructor(id: string, events: readonly EventRecord[], from: number, probe: Probe) {
    [this.#id, this.#events, this.#from, this.#probe] = [id, events, from, probe];
  }

  async run(): Promise<Finding | undefined> {
    const lines = (await this.#probe.ask('LRANGE', coinKeys.ledger(this.#id), -NEWEST_ENTRIES, -1)) as string[];
    const [createdAt, others] = await this.#probe.fields(accountKey(this.#id), 'createdAt', 'events');
    const { target, moving, deleted } = await standingIn(this.#id, this.#probe);
    // While an account moves or is deleted, its keys disappear one after the other, so its events cannot be checked.
    if (createdAt === null || (target ?? moving ?? deleted) !== undefined) return undefined;
    // If the ledger is lost, the checks of its index or of its purchases report the loss.
    if (lines.length === 0 && this.#events.some(({ data }) => data.entryId !== undefined)) return undefined;
    const entries = new Map(lines.flatMap((line) => ledgerEntry.parse(line) ?? []).map((entry) => [entry.seq, entry]));
    const most = Math.max(0, ...entries.keys()) + Number(others ?? 0);
    const found = this.#ofEntries(entries) ?? this.#ofNumbers(most);
    return found && { ...found, subject: `account ${this.#id}` };
  }

  #ofEntries(entries: ReadonlyMap<number, LedgerEntry>): Omit<Finding, 'subject'> | undefined {
    if (entries.size === 0) return undefined;
    const told = new Set<number>();
    const [least, most] = [Math.min(...entries.keys()), Math.max(...entries.keys())];
    for (const { id, data } of this.#events) {
      if (data.entryId === undefined) continue;
      const seq = Number(data.entryId);
      told.add(seq);
      const entry = entries.get(seq);
      const isRight = entry !== undefined && entry.balance === data.balanceAfterCoins && entry.letter === entryLetters[data.type!];
      // A guest's last event is about its move. The entry of that event is in the ledger of the account into which the guest moved.
      if (isRight || seq < least || (seq === most + 1 && data.type === 'merge')) continue;
      return { kind: 'event_without_entry', text: `The event ${id} is about the entry ${seq}, but the ledger has no such entry.` };
    }
    for (const { seq, at } of entries.values())
      if (at > this.#from && at < this.#probe.now() - CLOCKS_DIFFER_MS && !told.has(seq))
        return { kind: 'entry_without_event', text: `The log has no event about the entry ${seq} of its ledger.` };
    return undefined;
  }

  /** @param most the number of the account's last event */
  #ofNumbers(most: number): Omit<Finding, 'subject'> | undefined {
    const ids = new Set<string>();
    let before: EventRecord | undefined;
    for (const event of this.#events) {
      // After a failover the log may have some events twice, with the same ids.
      if (ids.has(event.id)) continue;
      ids.add(event.id);
      const number = event.number!;
      // Numbers are used again after the account was set back or its ledger was lost. Other checks report that.
      const follows = before === undefined || Date.parse(before.at) < this.#from || number <= before.number! + 1;
      if (follows && number <= most && !(number < Number(event.data.entryId ?? 1))) {
        before = event;
        continue;
      }
      const what = follows ? `the account has had ${most} events` : `the event before it has the number ${before!.number}`;
      return { kind: 'wrong_event_number', text: `The account's event ${event.id} has the number ${number}, but ${what}.` };
    }
    return undefined;
  }
}
