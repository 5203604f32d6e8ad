import type { Reply } from '../redis/resp.ts';
import type { Command, Finding, Probe } from './auditor.ts';
import { Tally, type AuditCounts } from './counts.ts';

/** Number of keys, more or less, that one SCAN reads, which takes Redis about 0.1 ms. */
const KEYS_A_SCAN = 200;

/**
 * The most checks that run at the same time. The bound limits the memory of the audit, because each check holds one or two pages of
 * entries.
 */
const CHECKS_AT_ONCE = 500;

/** Reads Redis for the probes of an audit. */
export interface AuditReader {
  /** @param command with a key, or TIME */
  ask(command: Command): Promise<Reply>;
  atomically(commands: readonly Command[]): Promise<Reply[]>;
}

/** A check of an auditor whose arguments are bound already, so that it only needs a probe. */
export type Work = (probe: Probe) => Promise<readonly Finding[] | undefined>;

/** Gets the keys of a scan and checks them. */
export interface KeyVisitor {
  readonly counts: AuditCounts;
  readonly signal: AbortSignal;
  /** Checks a key. */
  key(key: string, tally: Tally): void;
  /** Runs a check that belongs to no key. It is repeated like the check of a key. */
  start(work: Work, tally: Tally): void;
  /** Resolves when fewer than `most` checks of the tally are running. @throws the error of a check */
  room(tally: Tally, most: number): Promise<void>;
}

/** Gives all keys of one Redis to the visitor. */
export async function scanRedis(reader: Pick<AuditReader, 'ask'>, visitor: KeyVisitor): Promise<void> {
  const tally = new Tally(visitor.counts);
  for await (const keys of scanned(reader, tally)) {
    for (const key of keys) visitor.key(key, tally);
    await visitor.room(tally, CHECKS_AT_ONCE);
  }
}

/** Yields the keys of a Redis, or of one node of a Cluster, in pages. A key may come twice. */
export async function* scanned(reader: Pick<AuditReader, 'ask'>, tally: Tally): AsyncGenerator<string[]> {
  tally.expect((await reader.ask(['DBSIZE'])) as number);
  let cursor = '0';
  do {
    const [next, keys] = (await reader.ask(['SCAN', cursor, 'COUNT', KEYS_A_SCAN])) as [string, string[]];
    yield keys;
    cursor = next;
  } while (cursor !== '0');
}
