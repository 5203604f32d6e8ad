/** A player who earns a coin so many times, and goes on where the process before was killed: URL FOLDER TIMES. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { coinop } from '../../../src/clients/javascript/client.ts';

const [url = '', folder = '', times = ''] = process.argv.slice(2);
const kept = join(folder, 'store');
mkdirSync(kept, { recursive: true });
const pathOf = (key: string): string => join(kept, encodeURIComponent(key));
const store = {
  getItem: (key: string) => (existsSync(pathOf(key)) ? readFileSync(pathOf(key), 'utf8') : null),
  setItem(key: string, value: string) {
    writeFileSync(join(folder, 'new'), value);
    renameSync(join(folder, 'new'), pathOf(key));
  },
  removeItem: (key: string) => rmSync(pathOf(key), { force: true }),
  getAllKeys: () => readdirSync(kept).map(decodeURIComponent),
};
const client = coinop({ url, store, timeoutMs: 600_000 });
const begun = join(folder, 'begun');
for (let number = existsSync(begun) ? Number(readFileSync(begun, 'utf8')) : 0; number < Number(times); number++) {
  const call = client.coins.credit({ coins: 1, key: `earned-${number}` });
  while (!store.getAllKeys().some((key) => key.includes(':op:') && store.getItem(key)?.includes(`"earned-${number}"`)))
    await new Promise(setImmediate);
  writeFileSync(`${begun}.new`, String(number + 1));
  renameSync(`${begun}.new`, begun);
  await call;
}
while (store.getAllKeys().some((key) => key.includes(':op:'))) await new Promise((resolve) => setTimeout(resolve, 50));
console.log((await client.who()).installId);
client.close();
