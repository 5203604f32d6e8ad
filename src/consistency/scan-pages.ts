import type { Probe } from './auditor.ts';

/** Items that one command reads: some 0.1 ms of Redis's time. */
const PAGE = 200;

/**
 * Reads a hash, set or sorted set page by page: fields with values, members, or members with scores. An item that exists during the whole
 * read comes at least once. It may come twice.
 */
export async function* pages(probe: Probe, command: 'HSCAN' | 'SSCAN' | 'ZSCAN', key: string): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const [next, items] = (await probe.ask(command, key, cursor, 'COUNT', PAGE)) as [string, string[]];
    yield items;
    cursor = next;
  } while (cursor !== '0');
}
