import { createReadStream } from 'node:fs';
import type { Logger } from 'pino';
import { addressGroup, addressText } from './address.ts';

export interface ConnectionsOptions {
  readonly perAddress: number;
  /** How many worker processes listen on the same port. */
  readonly workers: number;
  /** Whether the address is a trusted proxy. A proxy opens connections for many clients, so its connections are not counted. */
  readonly isTrusted: (address: string) => boolean;
  readonly log: Logger;
}

/**
 * Limits the open connections of each address, whether or not they send requests.
 *
 * uWS reports the address of a connection that opens, but not of one that closes. So this class counts connections that open. When an
 * address comes near the limit, it reads the kernel's list of open connections. The list has the connections of all workers, because they
 * share a port.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** The count of an address above which the kernel's list is read. */
  readonly #askAt: number;
  /**
   * The number by which a new connection raises the count until the kernel's list is read: every worker may have accepted as many as this
   * process.
   */
  readonly #weight: number;
  /** The counts by address group. A count is never too low, because closed connections are counted until the kernel's list is read. */
  #counts = new Map<string, number>();
  /** The connections that open while the kernel's list is being read, by address group. */
  #meanwhile: Map<string, number> | undefined;
  /** When the kernel's list may be read again, on the clock of `performance.now()`. */
  #mayAskAt = 0;
  #asking: NodeJS.Timeout | undefined;
  #port = 0;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#askAt = options.perAddress / 2;
    // Between two readings of the list an address can open at least two connections, however many workers there are.
    this.#weight = Math.max(1, Math.min(options.workers, Math.floor(options.perAddress / 2)));
  }

  listenOn(port: number): void {
    this.#port = port;
  }

  /**
   * Counts a connection that opens.
   * @returns false if its address is at the bound: the caller then closes the connection
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
      // The kernel's list may already include some of the connections in `meanwhile`. If there is only one process, its own count is an
      // upper bound.
      if (this.#options.workers === 1)
        for (const [group, count] of counts) counts.set(group, Math.min(count, this.#counts.get(group) ?? 0));
      this.#counts = counts;
    } catch (error) {
      // If the kernel's list cannot be read, closed connections would count forever. Having no limit is better than locking clients out.
      this.#counts.clear();
      this.#options.log.warn({ reason: (error as Error).message }, 'could not count the open connections');
    } finally {
      this.#meanwhile = this.#asking = undefined;
      this.#mayAskAt = performance.now() + restMs;
      // The list is read again soon, so that an address near the bound can open connections once it has closed others.
      if (this.#counts.values().some((count) => count > this.#askAt)) this.#askSoon();
    }
  }
}

const ASK_INTERVAL_MS = 250;

/**
 * The rate at which the kernel's list is read, in bytes per millisecond. A connection takes 150 bytes and 3 µs, so this costs 5 % of a
 * core.
 */
const BYTES_A_MS = 2500;

/**
 * The most address groups with a count, about 10 MB. With more groups the kernel's list is read, and groups without open connections are
 * dropped.
 */
const MOST_ADDRESSES = 100_000;

/** The kernel's lists of connections over IPv4 and IPv6. A Linux with IPv6 turned off lacks the second list. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

/**
 * The number of open connections to a local port by address group, as the kernel lists them (proc(5), /proc/net/tcp).
 * @returns the counts, and the length of the lists in bytes
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

/** Adds the connections of one list to `byAddress`. @returns the length of the list in bytes */
async function readTable(path: string, port: number, byAddress: Map<string, number>): Promise<number> {
  const portHex = port.toString(16).toUpperCase().padStart(4, '0');
  // The columns of the list: number, local address, remote address, state. State 01 means established, 08 half closed by the client
  // (include/net/tcp_states.h).
  const open = new RegExp(`^ *\\d+: [\\dA-F]+:${portHex} ([\\dA-F]+):[\\dA-F]{4} (?:01|08) `, 'gm');
  let rest = '';
  let bytes = 0;
  try {
    // The list is read in chunks of some hundred connections, so that parsing a chunk does not block the event loop for long.
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

/** The address's bytes in network order. The kernel prints words of 32 bits in the machine's byte order, which is little-endian on x64. */
function bytesOf(hex: string): ArrayBuffer {
  const words = Buffer.from(hex, 'hex').swap32();
  return new Uint8Array(words).buffer;
}
