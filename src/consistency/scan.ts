import type { Reply } from '../redis/resp.ts';
import type { Command, Finding, Probe } from './auditor.ts';
import { Tally, type AuditCounts } from './counts.ts';

/** Keys that one SCAN reads, about: 0.1 ms of Redis's time. */
const KEYS_A_SCAN = 200;

/** Most checks at work at a time. This bounds the memory: a check holds a page of entries or two. */
const CHECKS_AT_ONCE = 500;

/** The reads that the probes of an audit need. */
export interface AuditReader {
  /** @param command with a key, or TIME */
  ask(command: Command): Promise<Reply>;
  atomically(commands: readonly Command[]): Promise<Reply[]>;
}

/** A check with its arguments. */
export type Work = (probe: Probe) => Promise<readonly Finding[] | undefined>;

/** Receives the keys of a scan. */
export interface KeyVisitor {
  readonly counts: AuditCounts;
  readonly signal: AbortSignal;
  /** Checks a key. */
  key(key: string, tally: Tally): void;
  /** Runs a check that belongs to no key, and repeats it like the others. */
  start(work: Work, tally: Tally): void;
  /** Resolves when fewer than `most` checks of the tally are at work. @throws the error of a check */
  room(tally: Tally, most: number): Promise<void>;
}

/** Hands all keys of one Redis to the visitor. */
export async function scanRedis(reader: Pick<AuditReader, 'ask'>, visitor: KeyVisitor): Promise<void> {
  const tally = new Tally(visitor.counts);
  for await (const keys of scanned(reader, tally)) {
    for (const key of keys) visitor.key(key, tally);
    await visitor.room(tally, CHECKS_AT_ONCE);
  }
}

/** The keys of a Redis, or of one node of a Cluster, some at a time. A key may come twice. */
export async function* scanned(reader: Pick<AuditReader, 'ask'>, tally: Tally): AsyncGenerator<string[]> {
  tally.expect((await reader.ask(['DBSIZE'])) as number);
  let cursor = '0';
  do {
    const [next, keys] = (await reader.ask(['SCAN', cursor, 'COUNT', KEYS_A_SCAN])) as [string, string[]];
    yield keys;
    cursor = next;
  } while (cursor !== '0');
}
