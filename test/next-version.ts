import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DATA_VERSION } from '../src/redis/data/data-version.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** While this key exists, the invented upgrade waits before its second ledger. */
export const HOLD = 'test:hold';

/** A counter of the ledgers that the invented upgrade changed. */
export const CHANGED = 'test:changed';

/** Adds a second key to each ledger, once. */
const UPGRADES = `
import type { Upgrade } from './redis/upgrade.ts';

const CHANGE = "if redis.call('SETNX', KEYS[2], 'next') == 1 then redis.call('INCR', KEYS[3]) end";

export const upgrades: readonly Upgrade[] = [
  {
    from: ${DATA_VERSION},
    async run(redis, keysLike) {
      let count = 0;
      for await (const ledgers of keysLike('{*}:ledger'))
        for (const ledger of ledgers) {
          while (count > 0 && (await redis.exists('${HOLD}')) === 1) await new Promise((resolve) => setTimeout(resolve, 20));
          await redis.eval(CHANGE, 3, ledger, ledger.replace(/ledger$/, 'next'), '${CHANGED}');
          count++;
        }
    },
  },
];
`;

/**
 * A copy of the tree that simulates a release with a new layout of the data: it has the next version, and an upgrade to it.
 * @returns the folder of its commands, and a function that removes the copy
 */
export function makeNextVersion(): { readonly src: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-next-'));
  const src = join(folder, 'src');
  cpSync(join(root, 'src'), src, { recursive: true });
  for (const name of ['package.json', 'node_modules', '.cache']) symlinkSync(join(root, name), join(folder, name));
  const change = (file: string, now: string, next: string): void => {
    const text = readFileSync(join(src, file), 'utf8');
    if (!text.includes(now)) throw new Error(`${file} lacks ${now}`);
    writeFileSync(join(src, file), text.replace(now, next));
  };
  change('redis/data/data-version.ts', `DATA_VERSION = ${DATA_VERSION};`, `DATA_VERSION = ${DATA_VERSION + 1};`);
  writeFileSync(join(src, 'upgrades.ts'), UPGRADES);
  return { src, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
