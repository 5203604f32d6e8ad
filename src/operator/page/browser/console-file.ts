import { namedLines } from '../../shown/accounts-file.ts';
import type { NamedAccount } from '../../shown/bulk-rows.ts';

/** For more accounts there is the tool in a terminal, which takes a million accounts. */
const MOST_LINES = 100_000;

/**
 * Reads the accounts of a CSV text. An installId is a secret: only the accountId is sent, which the browser computes.
 * @param progress called after each part, so that the page stays alive
 * @throws Error that names the lines that do not fit
 */
export async function accountsOf(
  text: string,
  progress: (done: number, most: number) => Promise<void>,
): Promise<{ readonly accounts: NamedAccount[]; readonly unread: readonly string[] }> {
  const { lines, unread } = namedLines(text, 'The file', { most: MOST_LINES, beyond: 'use npm run admin -- coins grant' });
  const accounts: NamedAccount[] = [];
  for (let from = 0; from < lines.length; from += AT_ONCE) {
    const part = lines.slice(from, from + AT_ONCE);
    accounts.push(
      ...(await Promise.all(
        part.map(async ({ line, kind, text: named }) => ({ line, accountId: kind === 'accountId' ? named : await accountIdOf(named) })),
      )),
    );
    await progress(accounts.length, lines.length);
  }
  return { accounts, unread };
}

/** The number of lines that are hashed at once, in some milliseconds. */
const AT_ONCE = 2000;

/** The browser computes it like the service: the first 132 bits of a SHA-256. */
async function accountIdOf(installId: string): Promise<string> {
  // Browsers allow hashing only on pages over TLS or from this machine.
  if (globalThis.crypto?.subtle === undefined) throw new Error('installIds need the console over https: browsers hash them only there.');
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`coinop:account:${installId}`));
  const text = btoa(String.fromCodePoint(...new Uint8Array(bytes)));
  return text.replaceAll('+', '-').replaceAll('/', '_').slice(0, 22);
}

/** A line of CSV. A cell that a spreadsheet would execute as a formula gets an apostrophe in front (CWE-1236). */
export function csvLine(cells: readonly (string | number | undefined)[]): string {
  const texts = cells.map((cell) => {
    const text = String(cell ?? '');
    const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
  });
  return `${texts.join(',')}\r\n`;
}
