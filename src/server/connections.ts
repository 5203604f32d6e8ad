import { createReadStream } from 'node:fs';
import type { Logger } from 'pino';
import { addressGroup, addressText } from './address.ts';

export interface ConnectionsOptions {
  readonly perAddress: number;
  /** Processes that listen on the same port. */
  readonly workers: number;
  /** A proxy brings connections of many clients: its own are not counted. */
  readonly isTrusted: (address: string) => boolean;
  readonly log: Logger;
}

/**
 * How many connections each address has open, before any of them has asked for anything.
 *
 * uWS tells whose connection opens, but not whose closes. So this counts what opens, and asks the kernel how many are open
 * whenever an address comes near the bound. The kernel counts the connections of all workers, for they share a port.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** At this count of an address the kernel is asked. */
  readonly #askAt: number;
  /** What one that opens here counts until then: all workers may have accepted as many. */
  readonly #weight: number;
  /** Never less than what is open here, for it forgets what closes only when the kernel is asked. */
  #counts = new Map<string, number>();
  /** What opened while the kernel is being asked. */
  #meanwhile: Map<string, number> | undefined;
  /** When it may be asked again, on the clock of `performance.now()`. */
  #mayAskAt = 0;
  #asking: NodeJS.Timeout | undefined;
  #port = 0;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#askAt = options.perAddress / 2;
    // Two at least are let in between two looks, however many workers there are.
    this.#weight = Math.max(1, Math.min(options.workers, Math.floor(options.perAddress / 2)));
  }

  listenOn(port: number): void {
    this.#port = port;
  }

  /**
   * Counts a connection that opens.
   * @returns false where its address has as many as it may have: it is to be closed
   */
  opened(address: string): boolean {
    if (this.#options.isTrusted(address)) return true;
    const group = addressGroup(address);
    const count = (this.#counts.get(group) ?? 0) + this.#weight;
    if (count > this.#askAt || this.#counts.size > MOST_ADDRESSES) this.#askSoon();
    if (count > this.#options.perAddress) return false;
    this.#counts.set(group, count);
    this.#meanwhile?.set(group, (this.#meanwhile.get(group) ?? 0) + this.#weight);
    return true;
  }

  close(): void {
    clearTimeout(this.#asking);
  }

  #askSoon(): void {
    this.#asking ??= setTimeout(() => void this.#ask(), Math.max(0, this.#mayAskAt - performance.now())).unref();
  }

  async #ask(): Promise<void> {
    const meanwhile = (this.#meanwhile = new Map<string, number>());
    let restMs = ASK_INTERVAL_MS;
    try {
      const { counts, bytes } = await openConnections(this.#port);
      restMs = Math.max(restMs, bytes / BYTES_A_MS);
      for (const [group, count] of meanwhile) counts.set(group, (counts.get(group) ?? 0) + count);
      // The kernel may have listed what opened meanwhile as well. A process alone knows that it has no more than it counted.
      if (this.#options.workers === 1)
        for (const [group, count] of counts) counts.set(group, Math.min(count, this.#counts.get(group) ?? 0));
      this.#counts = counts;
    } catch (error) {
      // Without the kernel's word nobody knows what has closed: better no bound than one that shuts everybody out.
      this.#counts.clear();
      this.#options.log.warn({ reason: (error as Error).message }, 'connections could not be counted');
    } finally {
      this.#meanwhile = this.#asking = undefined;
      this.#mayAskAt = performance.now() + restMs;
      // Whoever is near the bound and closes connections is to find room for others.
      if (this.#counts.values().some((count) => count > this.#askAt)) this.#askSoon();
    }
  }
}

const ASK_INTERVAL_MS = 250;

/** The kernel's list is as long as there are connections, 150 bytes and 3 µs each: at this pace it costs 5 % of a core. */
const BYTES_A_MS = 2500;

/** About 10 MB at the most; those that closed are forgotten then. */
const MOST_ADDRESSES = 100_000;

/** Both are there on every Linux; one with IPv6 turned off lacks the second. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

/**
 * Open connections to a local port by address group, as the kernel lists them (proc(5), /proc/net/tcp).
 * @returns the counts, and how long the list was
 */
export async function openConnections(port: number): Promise<{ counts: Map<string, number>; bytes: number }> {
  const byAddress = new Map<string, number>();
  let bytes = 0;
  for (const table of TABLES) bytes += await readTable(table, port, byAddress);
  const counts = new Map<string, number>();
  for (const [hex, count] of byAddress) {
    const group = addressGroup(addressText(bytesOf(hex)));
    counts.set(group, (counts.get(group) ?? 0) + count);
  }
  return { counts, bytes };
}

/** @returns its length in bytes */
async function readTable(path: string, port: number, byAddress: Map<string, number>): Promise<number> {
  const portHex = port.toString(16).toUpperCase().padStart(4, '0');
  // Number, local address, remote address, state: established, or half closed by the client (include/net/tcp_states.h).
  const open = new RegExp(`^ *\\d+: [\\dA-F]+:${portHex} ([\\dA-F]+):[\\dA-F]{4} (?:01|08) `, 'gm');
  let rest = '';
  let bytes = 0;
  try {
    // In pieces of some hundred connections: no piece holds the event loop up.
    for await (const piece of createReadStream(path, { encoding: 'latin1' })) {
      const text: string = rest + piece;
      bytes += piece.length;
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      for (const [, address] of text.slice(0, end).matchAll(open)) byAddress.set(address!, (byAddress.get(address!) ?? 0) + 1);
    }
  } catch (error) {
    if (path === TABLES[0] || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return bytes;
}

/** The address's bytes in their order on the wire: the table has them as words of 32 bits in the machine's order, here x64's. */
function bytesOf(hex: string): ArrayBuffer {
  const words = Buffer.from(hex, 'hex').swap32();
  return new Uint8Array(words).buffer;
}
