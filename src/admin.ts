import { pino } from 'pino';
import { accounts } from './admin/accounts.ts';
import { boards } from './admin/boards.ts';
import { Failure, type CommandGroup } from './admin/command.ts';
import { ask, canAsk } from './admin/confirm.ts';
import { helpOf, readInput, type Asked } from './admin/input.ts';
import { keys } from './admin/keys.ts';
import { log } from './admin/log.ts';
import { operatorName } from './admin/operate.ts';
import { checkData, openOperatorParts } from './admin/parts.ts';
import { rooms } from './admin/rooms.ts';
import { printableJson, printableLines } from './admin/table.ts';
import { readConfig, SettingError } from './config.ts';
import { Refusal } from './errors.ts';
import { openOperatedRedis, type OperatedRedis } from './process/operated-redis.ts';
import { redisFailure } from './redis/script-runner.ts';

/** The operator's tool, `npm run admin`. docs/operating.md describes it. */

/** Each group is one file in `admin/`. */
const groups: readonly CommandGroup[] = [accounts, boards, rooms, keys, log];

/** The settings that commands need. Others may be missing where an operator runs the tool. */
const SETTINGS = [
  'REDIS_URL',
  'DATA_DIR',
  'REDIS_WAIT_REPLICAS',
  'CATALOGUE_FILE',
  'LEDGER_RETENTION_DAYS',
  'ROOM_TTL_SECONDS',
  'SUBSCRIPTION_REPORTS',
  'TRIAL_DAYS',
];

const EXIT = { refused: 1, failed: 2 };

async function run({ command, input, json, yes }: Asked, signal: AbortSignal): Promise<void> {
  const work = command!.plan(input);
  if (command!.changes === true && !yes && !canAsk())
    throw new Failure('This changes data: run it in a terminal, where it asks first, or add --yes.');
  const silent = pino({ level: 'silent' });
  const config = readConfig(Object.fromEntries(SETTINGS.map((name) => [name, process.env[name]])));
  const { connections, scripts, close } = await unlessStopped(openOperatedRedis(config, silent), signal);
  const { parts, closeParts } = openOperatorParts(config, connections, scripts, silent);
  try {
    const confirm = (question: string): Promise<void> => (yes ? Promise.resolve() : ask(question, signal));
    const operator = { by: operatorName() };
    const tool = { config, connections, scripts, now: Date.now, parts, operator, checkData: () => checkData(connections), confirm };
    const outcome = await work(tool);
    process.stdout.write(`${json ? printableJson(outcome.json) : printableLines(outcome.text)}\n`);
  } finally {
    closeParts();
    await close();
  }
}

/** Aborts the question when a signal asks the process to stop. A change that has begun goes on, and a Redis of our own ends cleanly. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort());
  return controller.signal;
}

/** @throws Failure at a signal. What is being opened is closed first: a Redis of our own has to end cleanly. */
async function unlessStopped(opening: Promise<OperatedRedis>, signal: AbortSignal): Promise<OperatedRedis> {
  const stopped = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Failure('Nothing was changed.'))));
  return Promise.race([opening, stopped]).catch(async (error: unknown) => {
    await opening.then((opened) => opened.close()).catch(() => {});
    throw error;
  });
}

function sentenceOf(error: Error): string {
  if (error instanceof Failure || error instanceof SettingError || error instanceof Refusal) return error.message;
  const outcome = redisFailure(error);
  if (outcome === 'unknown') return 'Redis did not confirm the change: it may or may not have happened. Look before you try again.';
  if (outcome === 'not_applied' || /^[A-Z]{3,} /.test(error.message)) return `Redis refused: ${error.message}. Nothing was changed.`;
  return String(error.stack);
}

try {
  const asked = readInput(process.argv.slice(2), groups);
  if (asked.help) process.stdout.write(helpOf(groups, asked.group));
  else await run(asked, stopSignal());
} catch (error) {
  console.error(printableLines(sentenceOf(error as Error)).replace(/^(?! {4})/gm, 'coinop admin: '));
  process.exitCode = error instanceof Failure ? EXIT.refused : EXIT.failed;
}
