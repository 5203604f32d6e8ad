import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Failure } from './command.ts';
import { printable } from './table.ts';

/** Whether there is somebody to ask. Standard output may be a file: the question goes to standard error. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** @throws Failure unless the answer is yes */
export async function ask(question: string, signal: AbortSignal): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D end the input without an answer.
  terminal.once('SIGINT', () => terminal.close());
  const ended = once(terminal, 'close').then(() => '');
  const answer = terminal.question(`${printable(question)} [y/N] `, { signal }).catch(() => '');
  const word = await Promise.race([answer, ended]);
  terminal.close();
  if (!/^y(es)?$/i.test(word.trim())) throw new Failure('Nothing was changed.');
}
