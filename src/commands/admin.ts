import { pino } from 'pino';
import { ask, canAsk, readHidden } from '../operator/terminal/confirm.ts';
import { groups } from '../operator/terminal/groups.ts';
import { helpOf, readInput, type Asked } from '../operator/terminal/input.ts';
import { operatorName } from '../operator/terminal/operate.ts';
import { checkData, openOperatorServices } from '../operator/terminal/operator-services.ts';
import { printableJson, printableLines } from '../operator/terminal/table.ts';
import { readConfig, SettingError, type Config } from '../config.ts';
import { Refusal } from '../errors.ts';
import { Failure, stopSignal } from '../process/command.ts';
import { refuseRole, type Operator } from '../operator/operation.ts';
import { mayAct } from '../server/identity/roles.ts';
import { KeyChangeRefused, ServerKeyChanges } from '../server/identity/server-key-changes.ts';
import { openOperatedRedis, type OperatedRedis } from './operated-redis.ts';
import { redisFailure } from '../redis/script-runner.ts';

/** The operator's tool, `npm run admin`. docs/operating.md describes it. */

/** The settings that the tool reads. All other settings may be missing in its environment. */
const SETTINGS = [
  'REDIS_URL',
  'REDIS_URL_FILE',
  'DATA_DIR',
  'ECONOMIST_DAILY_COINS',
  'REDIS_WAIT_REPLICAS',
  'CATALOGUE_FILE',
  'LEDGER_RETENTION_DAYS',
  'OPERATOR_KEY',
  'OPERATOR_KEY_FILE',
  'ROOM_TTL_SECONDS',
  'SUBSCRIPTION_REPORTS',
  'SUPPORT_ADJUST_COINS',
  'SUPPORT_DAILY_COINS',
  'TRIAL_DAYS',
  'TWO_PERSON_COINS',
  'WEBHOOKS_PRIVATE',
];

/**
 * Words of commands that may be secrets. If the operator writes `-` in place of such an argument, the tool reads it from standard input.
 */
const HIDEABLE = ['ACCOUNT', 'WHO'];

const EXIT = { refused: 1, failed: 2 };

async function run({ command, input, json, yes, by }: Asked, signal: AbortSignal): Promise<void> {
  const [name = ''] = command!.words ?? [];
  const isHidden = HIDEABLE.includes(name) && input.words[0] === '-';
  const words = isHidden ? [await readHidden(name, signal), ...input.words.slice(1)] : input.words;
  const work = command!.plan({ ...input, words });
  const { readsWith } = command!;
  const isRead = command!.changes !== true || (readsWith !== undefined && input.flags[readsWith] !== undefined);
  if (!isRead && !yes && !canAsk()) throw new Failure('This changes data: run it in a terminal, where it asks first, or add --yes.');
  const silent = pino({ level: 'silent' });
  const config = readConfig(Object.fromEntries(SETTINGS.map((name) => [name, process.env[name]])));
  const { connections, scripts, now, degraded, close } = await unlessStopped(
    openOperatedRedis(config, silent),
    signal,
    config.REDIS_URL === undefined,
  );
  if (degraded !== undefined) console.error(printableLines(`coinop admin: A part of the Cluster is away: ${degraded}.`));
  const { services, closeServices } = openOperatorServices(config, connections, scripts, { log: silent, now });
  let hasBegun = false;
  const confirm = async (question: string, count?: number): Promise<void> => {
    if (!yes) await ask(question, signal, count);
    hasBegun = true;
  };
  try {
    const operator = await operatorOf(config, by, { scripts, now });
    if (!mayAct(operator.role, command!.role))
      throw new Failure(`${refuseRole(operator.role, command!.role).message} Nothing was changed.`);
    const tool = {
      config,
      connections,
      scripts,
      now,
      services,
      operator,
      checkData: () => checkData(connections, config),
      confirm,
      signal,
    };
    const outcome = await Promise.race([work(tool), stopped(signal, () => hasBegun)]);
    await print(json ? printableJson(outcome.json) : printableLines(outcome.text), !isRead);
    if (outcome.isUnfinished === true) process.exitCode = EXIT.failed;
  } finally {
    closeServices();
    await close();
  }
}

/**
 * The operator who uses the tool. With OPERATOR_KEY the server key decides the operator's rights. Without it the operator may do
 * everything, because a person who can run the tool can also access Redis directly.
 * @throws Failure for a server key that is not valid
 */
async function operatorOf(
  { OPERATOR_KEY }: Config,
  by: string | undefined,
  { scripts, now }: Pick<OperatedRedis, 'scripts' | 'now'>,
): Promise<Operator> {
  const name = operatorName(by);
  if (OPERATOR_KEY === undefined) return { by: name, role: 'admin' };
  const key = await new ServerKeyChanges(scripts, now).ofOperator(OPERATOR_KEY).catch((error: unknown) => {
    throw error instanceof KeyChangeRefused ? new Failure(error.message) : error;
  });
  return { by: `key:${key.id} as ${name}`.slice(0, 64), role: key.role, key };
}

/**
 * @throws Unshown if the text cannot be written. The output of a read may be cut off, because a program such as `head` may close the pipe
 * early.
 */
async function print(text: string, isChange: boolean): Promise<void> {
  const error = await new Promise<NodeJS.ErrnoException | null | undefined>((resolve) => process.stdout.write(`${text}\n`, resolve));
  if (error && (isChange || error.code !== 'EPIPE')) throw new Unshown(isChange, error);
}

/** The command did its work, but the result could not be written to standard output. */
class Unshown extends Error {
  constructor(isChange: boolean, { message }: Error) {
    super(`${isChange ? 'The change was made: "log" has it. Its' : 'The'} result could not be shown: ${message}.`);
  }
}

/** Rejects with a Failure when a signal arrives, unless a change has begun: the change goes on. A private Redis is stopped cleanly. */
function stopped(signal: AbortSignal, hasBegun: () => boolean): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => void (hasBegun() || reject(signal.reason as Failure));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
}

/**
 * Waits for the Redis to open, and stops waiting at a signal.
 * @param isPrivate whether a private Redis may be starting. The Redis is then closed as soon as it has started, so that it ends cleanly.
 * The opening of any other Redis is not awaited, because it may take a minute
 * @throws Failure at a signal
 */
async function unlessStopped(opening: Promise<OperatedRedis>, signal: AbortSignal, isPrivate: boolean): Promise<OperatedRedis> {
  return Promise.race([opening, stopped(signal, () => false)]).catch(async (error: unknown) => {
    if (isPrivate) await opening.then((opened) => opened.close()).catch(() => {});
    throw error;
  });
}

function sentenceOf(error: Error, isChange: boolean): string {
  if (error instanceof Failure || error instanceof SettingError || error instanceof Unshown) return error.message;
  if (error instanceof Refusal) return redisSentence(error);
  const outcome = redisFailure(error);
  if (outcome === 'unknown') return isChange ? UNCONFIRMED : withoutEnd(`Redis failed: ${error.message}`) + UNCHANGED;
  if (outcome === 'not_applied' || /^[A-Z]{3,} /.test(error.message)) return withoutEnd(`Redis refused: ${error.message}`) + UNCHANGED;
  return `Data in Redis may be damaged: "npm run audit" tells where. "log" tells whether something was changed.\n${error.stack}`;
}

/** The message for a refusal with the code `store_unavailable`. Other refusals reach this function as a Failure. */
function redisSentence({ message, cause, details }: Refusal): string {
  if (details['outcome'] === 'unknown') return UNCONFIRMED;
  return withoutEnd(cause instanceof Error ? `Redis failed: ${cause.message}` : message) + UNCHANGED;
}

const withoutEnd = (sentence: string): string => sentence.replace(/\.$/, '');

const UNCHANGED = '. Nothing was changed.';
const UNCONFIRMED = 'Redis did not confirm the change: it may or may not have happened. Check before you try again.';

// `print` handles errors of these streams. Without a listener an error would end this process while a private Redis is still running.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const signal = stopSignal(UNCHANGED);
let isChange = false;
try {
  const asked = readInput(process.argv.slice(2), groups);
  isChange = asked.command?.changes === true;
  if (asked.help) process.stdout.write(helpOf(groups, asked.group));
  else await run(asked, signal);
} catch (error) {
  console.error(printableLines(sentenceOf(error as Error, isChange)).replace(/^(?! {4})/gm, 'coinop admin: '));
  process.exitCode = error instanceof Failure ? EXIT.refused : EXIT.failed;
  // A connection that is still opening would otherwise keep the process alive.
  if (signal.aborted) process.exit();
}
