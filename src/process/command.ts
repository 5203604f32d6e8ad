import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { SettingError } from '../config.ts';

/** An error whose message tells the operator enough, so that the command prints no stack. */
export class Failure extends Error {}

/** Matches the first sentence of the error that `parseArgs` throws for a flag. @param help where the flags are described */
export function flagProblem({ message }: Error, help: string): string {
  return `${message.split(/\.(?:\s|$)/)[0]!}. See ${help}.`;
}

/**
 * Parses the value of a flag.
 * @returns undefined without the flag.
 * @throws Failure if the text is not a whole number from `least` to `most`
 */
export function wholeNumber(flag: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > most)
    throw new Failure(`The flag ${flag} takes a whole number from ${least} to ${most}.`);
  return number;
}

export type FlagsOf<Options extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ options: Options }>>['values'];

interface Command<Options extends ParseArgsOptionsConfig> {
  readonly name: string;
  /** The text of `--help`. */
  readonly help: string;
  /** All flags except `--help`. */
  readonly flags: Options;
  /** @returns the exit code */
  readonly run: (flags: FlagsOf<Options>) => Promise<number>;
  /** The exit code if `run` throws an error. */
  readonly failed: number;
  /** Returns the text for the operator about an error. Undefined: the error is printed with its stack. */
  readonly sentenceOf?: (error: Error) => string | undefined;
}

/** Runs a command with the flags of this process, and sets the exit code. */
export async function runCommand<const Options extends ParseArgsOptionsConfig>(command: Command<Options>): Promise<void> {
  const { name, help, flags, run, failed, sentenceOf = messageForOperator } = command;
  try {
    const { help: isHelp, ...values } = parseFlags({ ...flags, help: { type: 'boolean' } }) as { readonly help?: boolean };
    if (isHelp === true) process.stdout.write(help);
    else process.exitCode = await run(values as FlagsOf<Options>);
  } catch (error) {
    const sentence = sentenceOf(error as Error);
    // The lines of a stack begin with four blanks. They get no prefix.
    console.error(sentence === undefined ? error : sentence.replace(/^(?! {4})/gm, `coinop ${name}: `));
    process.exitCode = failed;
  }
}

/** @throws Failure for a flag that does not exist, or a flag whose value is missing */
function parseFlags(options: ParseArgsOptionsConfig): object {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    throw new Failure(flagProblem(error as Error, '--help'));
  }
}

function messageForOperator(error: Error): string | undefined {
  return error instanceof Failure || error instanceof SettingError ? error.message : undefined;
}

/**
 * A signal that is aborted with a Failure when SIGINT, SIGTERM or SIGHUP asks the process to stop. Further signals change nothing, because
 * a Redis that the command has started has to end cleanly.
 * @param rest the end of the sentence that begins with "Stopped by SIGINT"
 */
export function stopSignal(rest: string): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => controller.abort(new Failure(`Stopped by ${name}${rest}`)));
  return controller.signal;
}
