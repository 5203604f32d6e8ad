import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { SettingError } from '../config.ts';

/** An error of a command whose message is enough for the operator. */
export class Failure extends Error {}

/** @throws Failure for a flag that does not exist, or without its value */
export function parseFlags<const Options extends ParseArgsOptionsConfig>(words: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    throw new Failure(flagProblem(error as Error, '--help'));
  }
}

/** What `parseArgs` says of a flag, without its advice. @param help where the flags are described */
export function flagProblem({ message }: Error, help: string): string {
  return `${message.split(/\.(?:\s|$)/)[0]!}. See ${help}.`;
}

/** The value of a flag. @returns undefined without the flag. @throws Failure if it is no whole number within the bounds */
export function wholeNumber(flag: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > most)
    throw new Failure(`The flag ${flag} takes a whole number from ${least} to ${most}.`);
  return number;
}

/**
 * Runs a command to its end and sets the exit code: that of `run`, or `failed` if it throws. An error for the operator is printed as
 * its sentence, any other with its stack.
 * @param sentenceOf the sentence of an error, if there is one
 */
export async function runCommand(
  name: string,
  failed: number,
  run: () => Promise<number>,
  sentenceOf: (error: Error) => string | undefined = messageForOperator,
): Promise<void> {
  try {
    process.exitCode = await run();
  } catch (error) {
    const sentence = sentenceOf(error as Error);
    // The lines of a stack begin with four blanks.
    console.error(sentence === undefined ? error : sentence.replace(/^(?! {4})/gm, `coinop ${name}: `));
    process.exitCode = failed;
  }
}

function messageForOperator(error: Error): string | undefined {
  return error instanceof Failure || error instanceof SettingError ? error.message : undefined;
}

/**
 * A signal that is aborted with a Failure when SIGINT, SIGTERM or SIGHUP asks the process to stop. A second one changes nothing: a
 * Redis of the command's own has to end cleanly.
 * @param rest ends the sentence that begins with "Stopped by SIGINT"
 */
export function stopSignal(rest: string): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => controller.abort(new Failure(`Stopped by ${name}${rest}`)));
  return controller.signal;
}
