import { pino } from 'pino';
import type { Finding } from '../../src/audit/auditor.ts';
import { Reader } from '../../src/audit/reader.ts';
import { newCounts, runAudit, type AuditCounts } from '../../src/audit/run.ts';
import { allAuditors } from '../../src/auditors.ts';
import { connectRedis, type RedisLocation } from '../../src/redis/connect.ts';

/** Audits a Redis inside this process. @param share the part of the time in which Redis may work for the audit */
export async function audited(location: RedisLocation, share = 1): Promise<{ findings: Finding[]; counts: AuditCounts }> {
  const redis = connectRedis(location, pino({ level: 'silent' }));
  const reader = new Reader(redis, share);
  try {
    await reader.opened();
    const [findings, counts] = [[] as Finding[], newCounts()];
    const found = (finding: Finding): void => void findings.push(finding);
    await runAudit({ auditors: allAuditors(), reader, counts, found, signal: new AbortController().signal });
    return { findings, counts };
  } finally {
    reader.disconnect();
    redis.disconnect();
  }
}
