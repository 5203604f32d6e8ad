import type { Probe } from './auditor.ts';

/** Number of items that one command reads, which takes Redis about 0.1 ms. */
const PAGE = 200;

/**
 * Reads a hash, set or sorted set page by page. HSCAN gives fields with values, SSCAN members, and ZSCAN members with scores. An item that
 * exists during the whole read is yielded at least once, and perhaps twice.
 */
export async function* pages(probe: Probe, command: 'HSCAN' | 'SSCAN' | 'ZSCAN', key: string): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const [next, items] = (await probe.ask(command, key, cursor, 'COUNT', PAGE)) as [string, string[]];
    yield items;
    cursor = next;
  } while (cursor !== '0');
}
