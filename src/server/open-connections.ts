import { createReadStream } from 'node:fs';
import type { Logger } from 'pino';
import { addressGroup, addressText } from './address.ts';

export interface ConnectionsOptions {
  readonly perAddress: number;
  /** Processes that listen on the same port. */
  readonly workers: number;
  /** Whether the address is a trusted proxy. Its connections are those of many clients, and are not counted. */
  readonly isTrusted: (address: string) => boolean;
  readonly log: Logger;
}

/**
 * Bounds the open connections of each address, before any of them has sent a request.
 *
 * uWS reports the address of a connection that opens, but not of one that closes. So this class counts connections that open,
 * and asks the kernel how many are open when an address comes near the bound. The kernel counts the connections of all
 * workers, because they share a port.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** The count of an address above which the kernel is asked. */
  readonly #askAt: number;
  /** How much a new connection counts until the kernel is asked: every worker may have accepted as many as this process. */
  readonly #weight: number;
  /** By address group. Never less than the connections open here, because closed ones count until the kernel is asked. */
  #counts = new Map<string, number>();
  /** Connections that open while the kernel is being asked. */
  #meanwhile: Map<string, number> | undefined;
  /** When the kernel may be asked again, on the clock of `performance.now()`. */
  #mayAskAt = 0;
  #asking: NodeJS.Timeout | undefined;
  #port = 0;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#askAt = options.perAddress / 2;
    // Between two answers of the kernel at least two connections of an address get in, however many workers there are.
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
      // The kernel may have listed some of `meanwhile` too. A single process has at most as many as it counted.
      if (this.#options.workers === 1)
        for (const [group, count] of counts) counts.set(group, Math.min(count, this.#counts.get(group) ?? 0));
      this.#counts = counts;
    } catch (error) {
      // Without the kernel's list, closed connections would count for ever. No bound is better than one that locks clients out.
      this.#counts.clear();
      this.#options.log.warn({ reason: (error as Error).message }, 'could not count the open connections');
    } finally {
      this.#meanwhile = this.#asking = undefined;
      this.#mayAskAt = performance.now() + restMs;
      // An address near the bound that closes connections must be able to open others.
      if (this.#counts.values().some((count) => count > this.#askAt)) this.#askSoon();
    }
  }
}

const ASK_INTERVAL_MS = 250;

/** Reading the kernel's list takes 150 bytes and 3 µs a connection: at this pace it costs 5 % of a core. */
const BYTES_A_MS = 2500;

/** About 10 MB. Above it the kernel is asked, and addresses without open connections are forgotten. */
const MOST_ADDRESSES = 100_000;

/** Every Linux has both, except that one with IPv6 turned off lacks the second. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

/**
 * Open connections to a local port by address group, as the kernel lists them (proc(5), /proc/net/tcp).
 * @returns the counts, and the length of the list in bytes
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

/** @returns the table's length in bytes */
async function readTable(path: string, port: number, byAddress: Map<string, number>): Promise<number> {
  const portHex = port.toString(16).toUpperCase().padStart(4, '0');
  // Number, local address, remote address, state: 01 established, 08 half closed by the client (include/net/tcp_states.h).
  const open = new RegExp(`^ *\\d+: [\\dA-F]+:${portHex} ([\\dA-F]+):[\\dA-F]{4} (?:01|08) `, 'gm');
  let rest = '';
  let bytes = 0;
  try {
    // Chunks of some hundred connections: parsing one does not block the event loop for long.
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

/** The address's bytes in network order. The table prints words of 32 bits in the machine's byte order, here x64's. */
function bytesOf(hex: string): ArrayBuffer {
  const words = Buffer.from(hex, 'hex').swap32();
  return new Uint8Array(words).buffer;
}
