import { pino } from 'pino';
import type { Command, Finding } from '../../src/audit/auditor.ts';
import { Reader } from '../../src/audit/reader.ts';
import { newCounts, type AuditCounts } from '../../src/audit/counts.ts';
import { runAudit } from '../../src/audit/run.ts';
import { allAuditors } from '../../src/auditors.ts';
import { connectRedis, type RedisLocation } from '../../src/redis/connect.ts';

export interface AuditedOptions {
  /** The part of the time in which Redis may work for the audit. */
  share?: number;
  /** Runs before each read of the audit. */
  before?: () => Promise<unknown>;
}

/** Audits a Redis inside this process. */
export async function audited(
  location: RedisLocation,
  { share = 1, before }: AuditedOptions = {},
): Promise<{ findings: Finding[]; counts: AuditCounts }> {
  const redis = connectRedis(location, pino({ level: 'silent' }));
  const reader = new Reader(redis, share);
  try {
    await reader.opened();
    const [findings, counts] = [[] as Finding[], newCounts()];
    const found = (finding: Finding): void => void findings.push(finding);
    // One after the other, so that the reads reach Redis in the order in which the audit sends them.
    let last: Promise<unknown> = Promise.resolve();
    const inTurn = <Answer>(read: () => Promise<Answer>): Promise<Answer> => {
      const answer = last.then(before).then(read);
      last = answer.catch(() => {});
      return answer;
    };
    const interrupted = {
      ask: (command: Command) => inTurn(() => reader.ask(command)),
      atomically: (commands: readonly Command[]) => inTurn(() => reader.atomically(commands)),
    };
    await runAudit({
      auditors: allAuditors(),
      reader: before === undefined ? reader : interrupted,
      counts,
      found,
      signal: new AbortController().signal,
    });
    return { findings, counts };
  } finally {
    reader.disconnect();
    redis.disconnect();
  }
}
