import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { Failure } from '../../process/command.ts';
import { printable } from './table.ts';

/** Whether the tool can ask a person. The question goes to standard error, because standard output may be a file. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** @param count the number that has to be typed, in place of a yes. @throws Failure for any other answer */
export async function ask(question: string, signal: AbortSignal, count?: number): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D end the input without an answer.
  terminal.once('SIGINT', () => terminal.close());
  const ended = once(terminal, 'close').then(() => '');
  const wanted = count === undefined ? '[y/N]' : `Type ${count} to go on:`;
  const answer = terminal.question(`${printable(question)} ${wanted} `, { signal }).catch(() => '');
  const word = await Promise.race([answer, ended]);
  terminal.close();
  if (word === '') process.stderr.write('\n');
  const isAgreed = count === undefined ? /^y(es)?$/i.test(word.trim()) : word.trim() === String(count);
  if (!isAgreed) throw new Failure('Nothing was changed.');
}

/**
 * Reads a word from a line of standard input. A shell would keep a command's arguments in its history, and the list of processes would show
 * them to other users. A terminal does not show this line.
 * @throws Failure if there is none
 */
export async function readHidden(name: string, signal: AbortSignal): Promise<string> {
  const isTerminal = canAsk();
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: isTerminal });
  // From here on the terminal does not show typed text.
  if (isTerminal) process.stderr.write(`${name} (it is not shown): `);
  terminal.once('SIGINT', () => terminal.close());
  const ended = once(terminal, 'close').then(() => '');
  const line = once(terminal, 'line', { signal }).then(
    ([text]) => String(text).trim(),
    () => '',
  );
  const word = await Promise.race([line, ended]);
  terminal.close();
  if (isTerminal) process.stderr.write('\n');
  if (word === '') throw new Failure(`Standard input has no ${name}. Nothing was changed.`);
  return word;
}
