import { setPriority } from 'node:os';
import { pino } from 'pino';
import { adviceOf } from './audit/advice.ts';
import { allAuditors } from '../auditors.ts';
import { Unfinished } from '../consistency/auditor.ts';
import { Progress } from '../consistency/progress.ts';
import { jsonReport, textReport, type Report } from '../consistency/report.ts';
import { newCounts } from '../consistency/counts.ts';
import { runAudit } from '../consistency/run.ts';
import { SettingError } from '../config.ts';
import { openAuditedRedis } from './audited-redis.ts';
import { readPlace } from '../process/opened-redis.ts';
import { Failure, runCommand, stopSignal, wholeNumber, type FlagsOf } from '../process/command.ts';

/** The command `npm run audit`. docs/operating.md describes it. */

const HELP = `Checks all data in Redis for contradictions, and changes nothing.

  npm run audit -- [flags]        node src/commands/audit.ts [flags]

It reads the Redis or the Redis Cluster of REDIS_URL, or the private Redis of DATA_DIR. The service may be running.

  --share PERCENT   the share of its time that Redis (each primary of a cluster) may spend on the audit,
                    1 to 100. Default: 10, or 100 if the audit has started the Redis itself
  --full-speed      the same as --share 100
  --list NUMBER     the most findings to list. Default: 50
  --json            print one JSON document with all findings
  --help            print this text

Exit code: 0 no drift, 1 drift, 2 the audit could not be completed.
`;

/**
 * The default of --share, in percent, if a service is running. It raises the median time of credits by an eighth. A share of 25 raises it
 * by a third (`npm run prove:audit`).
 */
const SHARE_PERCENT = 10;

/** The audit's priority (nice(2)) if a service is running: on a busy machine the processes of the service run first. */
const NICENESS = 19;

const MOST_LISTED = 50;

const EXIT = { clean: 0, drift: 1, failed: 2 };

const FLAGS = {
  share: { type: 'string' },
  'full-speed': { type: 'boolean', default: false },
  list: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

async function run({ share: shareText, 'full-speed': isFullSpeed, list, json }: FlagsOf<typeof FLAGS>): Promise<number> {
  if (shareText !== undefined && isFullSpeed) throw new Failure('Give --share or --full-speed, not both.');
  const sharePercent = isFullSpeed ? 100 : wholeNumber('--share', shareText, 1, 100);
  const mostListed = wholeNumber('--list', list, 0, 1_000_000) ?? MOST_LISTED;
  const signal = stopSignal(' before the end: nothing is proven.');
  const stopped = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  const opening = openAuditedRedis(readPlace(), pino({ level: 'silent' }));
  const { connect, isOwn, close } = await Promise.race([opening, stopped]).catch(async (error: unknown) => {
    await opening.then((opened) => opened.close()).catch(() => {});
    throw error;
  });
  const share = sharePercent ?? (isOwn ? 100 : SHARE_PERCENT);
  if (!isOwn && share < 100) setPriority(NICENESS);
  const write = (text: string): void => void process.stdout.write(text);
  const report: Report = json ? jsonReport(write, adviceOf) : textReport(write, mostListed, adviceOf);
  const connection = connect(share / 100);
  const counts = newCounts();
  const progress = new Progress(counts);
  const startedAt = performance.now();
  let failure: Error | undefined;
  try {
    await Promise.race([connection.opened(), stopped]);
    const found = report.found.bind(report);
    const { reader, scan } = connection;
    await Promise.race([runAudit({ auditors: allAuditors(), reader, scan, counts, found, signal }), stopped]);
  } catch (error) {
    failure = error as Error;
  } finally {
    progress.close();
    connection.disconnect();
    await close();
  }
  report.end(counts, (performance.now() - startedAt) / 1000, failure && sentenceOf(failure));
  if (failure !== undefined) throw failure;
  return counts.drift === 0 ? EXIT.clean : EXIT.drift;
}

function sentenceOf(error: Error): string {
  if (error instanceof Failure || error instanceof SettingError || error instanceof Unfinished) return error.message;
  if (/^Connection is closed|^Stream isn't writeable/.test(error.message))
    return 'Redis closed the connection before the end, so the audit proves nothing. Run it again.';
  return /^[A-Z]{3,} /.test(error.message) ? `Redis refused to answer: ${error.message}` : String(error.stack);
}

await runCommand({ name: 'audit', help: HELP, flags: FLAGS, run, failed: EXIT.failed, sentenceOf });
