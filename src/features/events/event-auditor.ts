import type { Auditor, Finding, Probe } from '../../consistency/auditor.ts';
import { CHUNK_LENGTH, eventKeys, parseEvent, type EventRecord } from './model.ts';
import { coinKeys, entryLetters } from '../coins/model.ts';

/** The size of the sample: CHUNKS newest chunks of the log, and MOST_ACCOUNTS accounts with events in these chunks. */
const CHUNKS = 5;
const MOST_ACCOUNTS = 200;

/** The number of newest entries of a ledger that are compared with events. */
const NEWEST_ENTRIES = 200;

/**
 * Ledger entries and events this close to the ends of the sample are not compared, in milliseconds: the clocks of processes and of Redis
 * may differ, and the relay needs a moment to append an event to the log.
 */
const MARGIN_MS = 60_000;

/**
 * Compares the newest events with the ledgers of a sample of their accounts: each event `coins.changed` has its ledger entry, and each
 * entry has its event.
 */
export const eventAuditor: Auditor = { keys: [], once: checkEvents };

/** The figures of a ledger entry that its event repeats, and the time of the entry. `ledger.lua` describes the format. */
function entryOf(line: string) {
  const [, seq, balance, letter, at = ''] = /^(\d+):(-?\d+) ([a-z])\S+ (\w+)/.exec(line) ?? [];
  return { seq: Number(seq), balance: Number(balance), letter, at: parseInt(at, 36) };
}

interface Window {
  /** Ledger entries from this time on must have their events in `events`. In milliseconds since 1970. */
  readonly from: number;
  readonly events: readonly EventRecord[];
}

async function checkEvents(probe: Probe): Promise<Finding[]> {
  const window = await readWindow(probe);
  if (window === undefined) return [];
  const byAccount = Map.groupBy(
    window.events.filter(({ type }) => type === 'coins.changed'),
    ({ accountId }) => accountId!,
  );
  const findings: Finding[] = [];
  for (const [accountId, events] of [...byAccount].slice(0, MOST_ACCOUNTS))
    findings.push(...(await checkAccount(accountId, events, window.from, probe)));
  probe.count('events', window.events.length);
  return findings;
}

async function readWindow(probe: Probe): Promise<Window | undefined> {
  const newest = (await probe.ask('ZREVRANGE', eventKeys.chunks, 0, CHUNKS - 1)) as string[];
  if (newest.length === 0) return undefined;
  const since = Number((await probe.ask('HGET', eventKeys.state, 'onSince')) ?? 0);
  const lists = await Promise.all(
    newest.toReversed().map((chunk) => probe.ask('LRANGE', eventKeys.chunk(Number(chunk)), 0, CHUNK_LENGTH - 1)),
  );
  const events = (lists as string[][]).flat().map(parseEvent);
  // If the log has no older chunks, the sample has all events since the service ran with EVENTS=on.
  const hasOlder = ((await probe.ask('ZCARD', eventKeys.chunks)) as number) > CHUNKS;
  const oldest = hasOlder ? Date.parse(events[0]?.at ?? '') : since;
  return { from: Math.max(oldest, since) + MARGIN_MS, events };
}

async function checkAccount(accountId: string, events: readonly EventRecord[], from: number, probe: Probe): Promise<Finding[]> {
  const lines = (await probe.ask('LRANGE', coinKeys.ledger(accountId), -NEWEST_ENTRIES, -1)) as string[];
  // Without a ledger the account moved, or was deleted.
  if (lines.length === 0) return [];
  const entries = new Map(lines.map(entryOf).map((entry) => [entry.seq, entry]));
  const subject = `account ${accountId}`;
  const findings: Finding[] = [];
  const told = new Set<number>();
  const [least, most] = [Math.min(...entries.keys()), Math.max(...entries.keys())];
  for (const { id, data } of events) {
    if (data.entryId === undefined) continue;
    const seq = Number(data.entryId);
    told.add(seq);
    const entry = entries.get(seq);
    const isRight = entry !== undefined && entry.balance === data.balanceAfterCoins && entry.letter === entryLetters[data.type!];
    // A guest's last event tells of its move, and the entry of the move is in the ledger of the account into which the guest moved.
    if (isRight || seq < least || (seq === most + 1 && data.type === 'merge')) continue;
    findings.push({
      kind: 'event_without_entry',
      subject,
      text: `The event ${id} tells of the entry ${seq}, and the ledger has no such entry.`,
    });
  }
  for (const { seq, at } of entries.values())
    if (at > from && at < probe.now() - MARGIN_MS && !told.has(seq))
      findings.push({ kind: 'entry_without_event', subject, text: `The log of events does not tell of the entry ${seq} of its ledger.` });
  return findings;
}
