import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { pino } from 'pino';
import { auditInChild } from '../../src/commands/audit-child.ts';
import { BACKGROUND_AUDIT_KEY, BackgroundAudit, type AuditResult, type LastAudit } from '../../src/consistency/background.ts';
import { startCluster } from '../cluster-nodes.ts';
import { freshId, start, type TestService } from '../harness.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { startTcpRedis } from '../realtime/child.ts';
import { addAuditMetrics } from '../../src/server/audit-metrics.ts';
import { Metrics } from '../../src/server/metrics.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { atFullSize } from '../sized.ts';

let redis: OwnRedis;
let service: TestService;
let audits: BackgroundAudit[];
let logLines: string[];
/** The running audits, the oldest first. */
let running: { process: string; end: (result: AuditResult) => void; fail: (error: Error) => void }[];
let begun: string[];

const POLL_MS = 60;

beforeEach(async () => {
  redis = await startRedis();
  service = await start({ redis: redis.location });
  [audits, logLines, running, begun] = [[], [], [], []];
});
afterEach(async () => {
  for (const { fail } of running) fail(new Error('the test has ended'));
  await Promise.all(audits.map((audit) => audit.close()));
  await service[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});

/** The background audit of one process. `everyMs` runs on the clock of this process, which also gives the scripts their time. */
function inProcess(process: string, everyMs = HOUR_MS): BackgroundAudit {
  const log = pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) });
  const run = async (signal: AbortSignal): Promise<AuditResult> => {
    begun.push(process);
    const { promise, resolve, reject } = Promise.withResolvers<AuditResult>();
    const entry = { process, end: resolve, fail: reject };
    running.push(entry);
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    try {
      return await promise;
    } finally {
      running = running.filter((one) => one !== entry);
    }
  };
  const scripts = new ScriptRunner(service.service.link, { now: Date.now });
  const audit = new BackgroundAudit({ scripts, everyMs, run, log, pollIntervalMs: POLL_MS });
  audits.push(audit);
  return audit;
}

const HOUR_MS = 3_600_000;

describe('the audit in the background', () => {
  test('runs in one process at a time, and every process knows its result', async () => {
    const [one, other] = [inProcess('one'), inProcess('other')];
    await expect.poll(() => begun.length).toBe(1);
    await pause(10 * POLL_MS);
    expect(begun).toHaveLength(1);
    running[0]!.end({ seconds: 2.5, findings: 3 });
    await expect
      .poll(() => [one.last, other.last])
      .toMatchObject([
        { seconds: 2.5, findings: 3 },
        { seconds: 2.5, findings: 3 },
      ]);
    expect(Math.abs(one.last!.endedAt - Date.now())).toBeLessThan(5000);
    expect(logLines.filter((line) => line.includes('found drift'))).toHaveLength(1);
    // The next one is due in an hour, for processes that start now as well.
    const third = inProcess('third');
    await expect.poll(() => third.last).toMatchObject({ findings: 3 });
    expect(begun).toHaveLength(1);
  });

  atFullSize(
    'runs again after its interval, and one that fails keeps the result before, is counted, and is tried again later',
    async () => {
      const audit = inProcess('one', POLL_MS);
      for (let count = 1; count <= 3; count++) {
        await expect.poll(() => [begun.length, running.length]).toEqual([count, 1]);
        running[0]!.end({ seconds: 1, findings: 3 - count });
        await expect.poll(() => audit.last?.findings).toBe(3 - count);
      }
      await expect.poll(() => begun.length).toBe(4);
      running[0]!.fail(new Error('no Redis'));
      await expect.poll(() => audit.failures).toBe(1);
      expect(audit.last).toMatchObject({ findings: 0 });
      expect(logLines.some((line) => line.includes('not complete') && line.includes('no Redis'))).toBe(true);
      await pause(5 * POLL_MS);
      expect(begun).toHaveLength(4);
      await expect.poll(() => begun.length).toBe(5);
    },
  );

  test('of a process that dies is taken over by another', async () => {
    await service.service.redis.hset(BACKGROUND_AUDIT_KEY, { leasedBy: 'dead', leaseEnd: Date.now() + 40 * POLL_MS });
    inProcess('one');
    await pause(4 * POLL_MS);
    expect(begun).toEqual([]);
    await expect.poll(() => begun).toEqual(['one']);
  });

  atFullSize('stops with its process, and another process runs it at once', async () => {
    const audit = inProcess('one');
    await expect.poll(() => running.length).toBe(1);
    await audit.close();
    expect(running).toEqual([]);
    inProcess('other');
    await expect.poll(() => begun).toEqual(['one', 'other']);
  });
});

test('the metrics have no values of the last audit before the first audit', async () => {
  const metrics = new Metrics();
  const audit: { last: LastAudit | undefined; failures: number } = { last: undefined, failures: 0 };
  addAuditMetrics(metrics, 24, audit);
  const samples = async (): Promise<string[]> =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('coinop_audit_'));
  const always = ['coinop_audit_interval_seconds 86400', 'coinop_audit_failures_total 0'];
  expect((await samples()).toSorted()).toEqual(always.toSorted());
  audit.last = { endedAt: 5000, seconds: 2, findings: 0 };
  const known = ['coinop_audit_last_run_timestamp_seconds 5', 'coinop_audit_last_run_duration_seconds 2', 'coinop_audit_findings 0'];
  expect((await samples()).toSorted()).toEqual([...always, ...known].toSorted());
});

describe('the audit in a child process', () => {
  let tcp: Awaited<ReturnType<typeof startTcpRedis>>;
  let folder: string;
  let client: Redis;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coinop-background-'));
    tcp = await startTcpRedis(folder);
    client = new Redis(tcp.url);
    const filled = await start({ redis: { url: tcp.url } });
    await filled.post('/v1/coins/credit', { installId: freshId(), coins: 5, key: 'a' });
    await filled[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    client.disconnect();
    await tcp.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (REDIS_URL = tcp.url, signal = new AbortController().signal) => auditInChild({ REDIS_URL }, signal);

  atFullSize('reports its duration and its findings', async () => {
    await client.hset(BACKGROUND_AUDIT_KEY, { endedAt: 1 });
    expect(await run()).toEqual({ findings: 0, seconds: expect.any(Number) });
    const [ledger] = await client.keys('*:ledger');
    await client.lset(ledger!, 0, (await client.lindex(ledger!, 0))!.replace(' c5 ', ' c6 '));
    await client.rpush(ledger!, 'no entry');
    const { findings } = await run();
    expect(findings).toBeGreaterThan(0);
  });

  atFullSize('trusts the certificate authority of NODE_EXTRA_CA_CERTS, as the service does', async () => {
    await using cluster = await startCluster({ tls: true });
    vi.stubEnv('NODE_EXTRA_CA_CERTS', cluster.caFile);
    try {
      // The audit reaches the Cluster, and finds that it has no data.
      expect(await run(cluster.url)).toMatchObject({ findings: 1 });
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('fails with the reason, and ends on a signal', async () => {
    await expect(run('redis://127.0.0.1:1')).rejects.toThrow(/cannot be read/);
    const stop = new AbortController();
    const ended = run(tcp.url, stop.signal);
    stop.abort(new Error('the service stops'));
    await expect(ended).rejects.toThrow('the service stops');
  });
});
