import { spawnSync } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { aofSizes } from '../../process/aof-files.ts';
import { sizeText } from '../../process/memory.ts';
import { RedisFailures } from '../../process/redis-failures.ts';
import { aofChecker } from '../../process/redis-server.ts';
import { troubleOf } from '../../redis/trouble.ts';
import type { Diagnosis } from './diagnosis.ts';
import type { Growth } from './growth.ts';

/** For how long the last trouble of the private Redis is reported, in milliseconds. */
const RECENT_MS = 7 * 86_400_000;

/** The most milliseconds for which redis-check-aof may run. It reads some 100 MB a second. */
const CHECK_MS = 60_000;

const DANGER_DAYS = 7;
const WARNING_DAYS = 30;

const COST = 'Every request that needs Redis gets 503 store_unavailable.';

/** Reports the last trouble of the private Redis, as the service recorded it. */
export function examineRecord(dataDir: string, diagnosis: Diagnosis): void {
  const { last } = new RedisFailures(dataDir);
  if (last === undefined || Date.now() - last.at.getTime() > RECENT_MS) return;
  const at = last.at.toISOString();
  diagnosis.fact('last trouble', `${at}: ${last.event}`);
  const words = last.lines.length === 0 ? '' : ` Its last words: ${last.lines.join(' / ')}`;
  diagnosis.find('warning', 'redis_ended', {
    text: `The private Redis had trouble at ${at}: ${last.event}. ${last.trouble?.text ?? ''}${words}`.replaceAll(/ {2,}/g, ' ').trim(),
    cost: 'While Redis is down, every request gets 503 store_unavailable.',
    mend: last.trouble?.mend ?? `Read the log of the service, and ${join(dataDir, 'redis', 'redis.log')}`,
  });
}

/**
 * Examines the data of a private Redis that does not start.
 * @param reason the message of the start, followed by lines from Redis
 * @returns whether the reason is a known problem, and was reported
 */
export function examineFailedStart(dataDir: string, reason: string, diagnosis: Diagnosis): boolean {
  const words = [...reason.matchAll(/^Redis: (.*)$/gm)].map(([, line]) => line!);
  const trouble = troubleOf(words);
  if (trouble === undefined) return false;
  if (trouble.kind === 'cut_tail') {
    diagnosis.fact('redis', 'not started: its data ends in the middle of a write');
    diagnosis.find('warning', 'cut_tail', {
      text: `The append-only file of the private Redis ends in the middle of a write.${checked(dataDir)}`,
      cost: 'The next start of the service drops the cut write. It was not acknowledged, unless the disk lost more than one write.',
      mend: trouble.mend,
    });
    return true;
  }
  diagnosis.fact('redis', 'does not start');
  diagnosis.find('danger', trouble.kind, {
    text: `The private Redis does not start. ${trouble.text} It says: ${words.join(' / ')}.${trouble.kind === 'damaged_data' ? checked(dataDir) : ''}`,
    cost: COST,
    mend: trouble.mend,
  });
  return true;
}

/**
 * The output of redis-check-aof about a damaged file. The file is not changed. '' if redis-check-aof is not installed or takes too long.
 */
function checked(dataDir: string): string {
  const manifest = join(dataDir, 'redis', 'appendonlydir', 'appendonly.aof.manifest');
  const checker = aofChecker();
  if (checker === undefined || !existsSync(manifest)) return '';
  const { stdout } = spawnSync(checker.path, [manifest], { encoding: 'utf8', timeout: CHECK_MS, env: { ...process.env, ...checker.env } });
  const bad = [...(stdout ?? '').matchAll(/filename=(?<file>\S+), size=(?<size>\d+), ok_up_to=(?<okUpTo>\d+),.* diff=(?<diff>\d+)/g)].find(
    ({ groups }) => groups?.['diff'] !== '0',
  );
  if (bad === undefined) return '';
  const { file, size, okUpTo, diff } = bad.groups!;
  return ` redis-check-aof: ${file} is right up to byte ${okUpTo} of ${size}; ${diff} bytes follow.`;
}

/**
 * Compares the free room on the disk of the private Redis with the growth of its data. The append-only file is rewritten beside the old
 * one, so the disk must have room for two copies of the data.
 */
export function examineDiskGrowth(dataDir: string, growth: Growth | undefined, diagnosis: Diagnosis): void {
  if (growth === undefined || growth.partADay <= 0) return;
  const { bavail, bsize } = statfsSync(dataDir);
  const [free, data] = [bavail * bsize, [...aofSizes(join(dataDir, 'redis')).values()].reduce((sum, size) => sum + size, 0)];
  const days = Math.max(0, free - data) / (2 * data * growth.partADay);
  const span = days > 3650 ? 'more than ten years' : `${days >= 2 ? Math.round(days) : Number(days.toFixed(1))} days`;
  const state = `${sizeText(free)} free, enough for ${span} at the growth of the last day`;
  diagnosis.fact('disk growth', state);
  if (days >= WARNING_DAYS) return;
  diagnosis.find(days < DANGER_DAYS && growth.isOfDay ? 'danger' : 'warning', 'disk_growth', {
    text: `The disk of DATA_DIR has ${state}.`,
    cost: 'Redis rewrites its append-only file beside the old one. On a full disk the private Redis ends, and every request gets 503.',
    mend: `A larger disk for ${dataDir}, or LEDGER_RETENTION_DAYS`,
  });
}
