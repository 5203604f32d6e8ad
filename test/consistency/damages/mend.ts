import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { adviceOf } from '../../../src/commands/audit/advice.ts';
import type { Finding } from '../../../src/consistency/auditor.ts';
import { inheritedEnvironment } from '../../environment.ts';
import { audited, type AuditedOptions } from '../audited.ts';

const REDIS_CLI = fileURLToPath(new URL('../../../.cache/redis/redis-cli', import.meta.url));

/**
 * Kinds whose commands delete: a second copy of an entry, of a key or of a name, a list's copy of a purchase, what a deletion left, and an
 * entry of a queue that was copied aside.
 */
const MAY_DELETE = new Set([
  ...['broken_chain', 'wrong_sum', 'key_in_wrong_bucket', 'foreign_listed', 'deleted_account_left'],
  ...['name_differs', 'doomed_account'],
]);

interface Place {
  readonly socketPath: string;
}

/** A finding without its sentence. */
export const nameOf = ({ kind, subject }: Pick<Finding, 'kind' | 'subject'>): string => `${kind} ${subject}`;

/** Runs the commands of the advice as an operator pastes them, and expects that they delete no evidence. */
function runAdvice(found: readonly Finding[], { socketPath }: Place): void {
  const lines: string[] = [];
  for (const finding of found)
    for (const command of adviceOf(finding)?.commands ?? []) {
      // Evidence is set aside. A copy of something else, or what a deletion has promised to erase, may be deleted.
      if (!MAY_DELETE.has(finding.kind)) expect(command).not.toMatch(/^redis-cli (?:DEL|UNLINK|SREM|ZREM|HDEL|LREM|FLUSH\w+) /);
      lines.push(command);
    }
  const folder = mkdtempSync(join(tmpdir(), 'coinop-mends-'));
  writeFileSync(join(folder, 'redis-cli'), `#!/bin/sh\nexec '${REDIS_CLI}' -s '${socketPath}' "$@"\n`, { mode: 0o755 });
  const env = inheritedEnvironment({ PATH: `${folder}:${process.env['PATH']}` });
  const { stdout, status } = spawnSync('sh', ['-c', lines.join('\n')], { env, encoding: 'utf8', timeout: 60_000 });
  rmSync(folder, { recursive: true });
  expect([status, stdout.match(/^.*ERR.*$|^WRONG.*$/gm)]).toEqual([0, null]);
}

/** Runs the commands of the advice, and expects that the next audit has only those findings that they do not promise to put right. */
export async function mend(found: readonly Finding[], left: readonly Finding[], place: Place, options?: AuditedOptions): Promise<void> {
  runAdvice(found, place);
  const names = async (): Promise<string[]> => (await audited(place, options)).findings.map(nameOf).toSorted();
  // A running service does the work that is queued again.
  await expect.poll(names, { interval: 500 }).toEqual(left.map(nameOf).toSorted());
}
