import { isUtf8 } from 'node:buffer';
import { openSync, closeSync, fstatSync, readFileSync } from 'node:fs';
import { accountIdOf } from '../../accounts/ids.ts';
import { Failure } from '../../process/command.ts';
import { namedLines, UnfitFile } from '../shown/accounts-file.ts';
import type { NamedAccount } from '../shown/bulk-rows.ts';

/** Most accounts in a file. An operator can cut a larger file. */
const MOST_ACCOUNTS = 1_000_000;
const MOST_BYTES = 256 * 1024 * 1024;

/** @throws Failure that names the lines that do not fit */
export function readAccountsFile(path: string): NamedFile {
  return accountsIn(textOf(path), path);
}

export interface NamedFile {
  readonly accounts: readonly NamedAccount[];
  /** Names of the columns that are not read. */
  readonly unread: readonly string[];
}

export function accountsIn(text: string, path: string): NamedFile {
  try {
    const { lines, unread } = namedLines(text, path, { most: MOST_ACCOUNTS, beyond: 'cut it into several files' });
    const accounts = lines.map(({ line, kind, text: named }) => ({ line, accountId: kind === 'accountId' ? named : accountIdOf(named) }));
    return { accounts, unread };
  } catch (error) {
    throw error instanceof UnfitFile ? new Failure(error.message) : error;
  }
}

function textOf(path: string): string {
  let bytes: Buffer;
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      if (size > MOST_BYTES) throw new Failure(`${path} has more than ${MOST_BYTES / 1024 / 1024} MiB: cut it into several files.`);
      bytes = readFileSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${path} cannot be read: ${(error as Error).message}.`);
  }
  if (!isUtf8(bytes)) throw new Failure(`${path} is not UTF-8. Spreadsheets call it "CSV UTF-8".`);
  return bytes.toString();
}
