import { CLOCKS_DIFFER_MS, type Command, type Finding, type Probe } from '../../consistency/auditor.ts';
import { pages } from '../../consistency/scan-pages.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { CHUNK_LENGTH, eventKeys, type EventRecord } from './model.ts';

/** Checks of the audit that the parts of the log of events agree: its state, the list of its chunks, and the chunks. */

/** Checks that each chunk that the log lists exists. */
export async function checkChunks(probe: Probe): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const page of pages(probe, 'ZSCAN', eventKeys.chunks)) {
    const chunks = pairsOf(page).map(([chunk]) => chunk);
    const areThere = await Promise.all(chunks.map((chunk) => probe.ask('EXISTS', eventKeys.chunk(Number(chunk)))));
    for (const chunk of chunks.filter((_, index) => areThere[index] === 0)) {
      const key = eventKeys.chunk(Number(chunk));
      const [isThere, listed] = await probe.together(['EXISTS', key], ['ZSCORE', eventKeys.chunks, chunk]);
      const text = `The log lists this chunk, but its events are lost: readers skip them.`;
      if (isThere === 0 && listed !== null) findings.push({ kind: 'lost_events', subject: `key ${key}`, text });
    }
  }
  return findings;
}

/** Checks that a chunk that exists is in the log's list. */
export async function checkChunk(chunk: number, probe: Probe): Promise<Finding[]> {
  const { chunks } = eventKeys;
  const [isThere, listed] = await probe.together(['EXISTS', eventKeys.chunk(chunk)], ['ZSCORE', chunks, chunk]);
  if (isThere === 0 || listed !== null) return [];
  const text = 'The list of chunks lacks some chunks that exist: the service does not drop them, and readers may skip them.';
  return [{ kind: 'chunk_not_listed', subject: `key ${chunks}`, text, commands: [['ZADD', chunks, chunk, chunk]] }];
}

/**
 * Checks that the state of the log is not older than its events. If it were older, the next event would get a position that another event
 * had, and the relay would append events a second time.
 * @param last the newest event
 */
export async function checkState(last: EventRecord | undefined, probe: Probe): Promise<Finding[]> {
  const [newest] = (await probe.ask('ZREVRANGE', eventKeys.chunks, 0, 0)) as string[];
  if (newest === undefined) return [];
  const [positions, length] = await probe.together(
    ['HMGET', eventKeys.state, 'next', 'readable'],
    ['LLEN', eventKeys.chunk(Number(newest))],
  );
  const [next, readable] = positions as (string | null)[];
  const end = Number(newest) * CHUNK_LENGTH + Math.min(Number(length), CHUNK_LENGTH);
  const find = (text: string, commands: readonly Command[] = []): Finding[] => [
    { kind: 'events_set_back', subject: `key ${eventKeys.state}`, text, commands },
  ];
  // Positions have fewer digits, because numbers of Lua hold no more exactly.
  if ([next, readable].some((position) => position != null && !/^\d{1,15}$/.test(position)))
    return find(
      `The log's state says that the log ends at position ${next}, and may be read up to ${readable}. One of them is no position.`,
      [['HSET', eventKeys.state, 'next', end, 'readable', end]],
    );
  if (!(Number(next ?? 0) >= end))
    return find(`The log's state says that the log ends at position ${next}, but the events end at ${end}.`, [
      ['HSET', eventKeys.state, 'next', end],
    ]);
  if (last === undefined) return [];
  const [time = '', tag = ''] = last.id.split('-');
  // A single Redis has one outbox, without a tag.
  const relayed = await probe.fields(eventKeys.state, `from:{${tag}}`, ...(tag === '0' ? ['from:'] : []));
  const isBehind = relayed.every((begin) => parseInt(begin ?? '0', 10) < parseInt(time, 36) - CLOCKS_DIFFER_MS * 1000);
  return isBehind ? find(`The log's state lacks the record that the log has the event ${last.id} and events before it.`) : [];
}
