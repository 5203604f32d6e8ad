import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';

/** An error of a command whose message is enough for the operator. */
export class Failure extends Error {}

/** @throws Failure for a flag that does not exist, or without its value */
export function parseFlags<const Options extends ParseArgsOptionsConfig>(words: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    throw new Failure(`${(error as Error).message.split(/\.(?:\s|$)/)[0]!}. See --help.`);
  }
}

/**
 * A signal that is aborted with a Failure when SIGINT, SIGTERM or SIGHUP asks the process to stop. A second one changes nothing: a
 * Redis of the command's own has to end cleanly.
 * @param outcome ends the sentence "Stopped by SIGINT: …"
 */
export function stopSignal(outcome: string): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => controller.abort(new Failure(`Stopped by ${name}: ${outcome}`)));
  return controller.signal;
}
