import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * The most bytes of one connection that the kernel keeps until the service reads them. The kernel doubles this number to have room for its
 * own records (socket(7), SO_RCVBUF). The number is twice the longest head or body, so no client has to wait.
 */
const RECEIVE_BUFFER_BYTES = 32 * 1024;

/**
 * Limits how many bytes one turn of the event loop reads from one connection, by setting the size of its receive buffer.
 *
 * uWS reads a connection again at once as long as each read fills uWS's buffer of 512 KiB, and no timer runs in that time. The kernel lets
 * a receive buffer grow to 6 MB (tcp(7), tcp_rmem). So a client that sends bytes of which no callback learns, such as empty fragments of a
 * WebSocket message, held up all other clients for as long as it sent. With a smaller receive buffer each read is short, and other
 * connections are read in between. A smaller buffer also bounds the memory that the kernel gives to unread bytes.
 *
 * Neither Node nor uWS can set the option. Connections inherit the size from the listening socket, and a child process can share that
 * socket. perl can set options of sockets, and every Debian has it (perl-base is essential).
 *
 * @param port the port that this process listens on
 * @returns why the option could not be set; undefined on success
 */
export async function boundReceiveBuffer(port: number): Promise<string | undefined> {
  try {
    const listening = descriptorsOf(port, LISTEN);
    if (listening.length === 0) return `found no socket that listens on port ${port}`;
    const problem = await setReceiveBuffer(listening);
    if (problem !== undefined) return problem;
    // Clients that connected before the option was set keep a buffer of the old size for as long as they stay connected. Some may have
    // closed since.
    await pause(ACCEPTED_AFTER_MS);
    const early = descriptorsOf(port, ESTABLISHED);
    for (let start = 0; start < early.length; start += AT_ONCE) {
      // While the last child process ran, sockets may have closed, and the system may have given their descriptors to files or to
      // connections to Redis. So the descriptors are read anew.
      const open = start === 0 ? early : descriptorsOf(port, ESTABLISHED);
      await setReceiveBuffer(early.slice(start, start + AT_ONCE).filter((descriptor) => open.includes(descriptor)));
    }
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** States of sockets in the kernel's lists (include/net/tcp_states.h). */
const LISTEN = '0A';
const ESTABLISHED = '01';

/**
 * Milliseconds after which connections that waited to be accepted are surely accepted: uWS accepts all of them in one turn of the event
 * loop.
 */
const ACCEPTED_AFTER_MS = 10;

/** The most connections for which one child process sets the size. */
const AT_ONCE = 200;

/**
 * The file descriptors of this process for those sockets of a port that are in a given state, found by their inodes (proc(5), /proc/net/tcp
 * and /proc/PID/fd).
 */
function descriptorsOf(port: number, state: string): number[] {
  const portHex = port.toString(16).toUpperCase().padStart(4, '0');
  const inodes = new Set(TABLES.flatMap((table) => inodesOf(table, portHex, state)));
  const isWanted = (descriptor: string): boolean => {
    try {
      return inodes.has(/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${descriptor}`))?.[1] ?? '');
    } catch {
      // The folder also lists the descriptor that was used to read it, which is closed now.
      return false;
    }
  };
  return readdirSync('/proc/self/fd').filter(isWanted).map(Number);
}

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

/** The inodes of the sockets that are in the wanted state and have this local port. */
function inodesOf(table: string, portHex: string, wanted: string): string[] {
  let text = '';
  try {
    text = readFileSync(table, 'latin1');
  } catch (error) {
    // The list for IPv6 is missing where IPv6 is turned off.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const fields = text.split('\n').map((line) => line.trim().split(/\s+/));
  const sockets = fields.map(([_slot, local, _remote, state, _queues, _timer, _retransmits, _uid, _timeout, inode]) => ({
    local,
    state,
    inode,
  }));
  return sockets.filter(({ local, state }) => state === wanted && local?.endsWith(`:${portHex}`) === true).map(({ inode }) => inode!);
}

/** The program that sets the option. The child process gets the sockets as descriptors from number 3 on. */
const PROGRAM =
  'for my $n (3 .. 2 + $ARGV[1]) { open(my $socket, "+<&=", $n) or die "$!\\n"; ' +
  'setsockopt($socket, SOL_SOCKET, SO_RCVBUF, pack("i", $ARGV[0])) or die "$!\\n"; }';

function setReceiveBuffer(descriptors: readonly number[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn('perl', ['-MSocket', '-e', PROGRAM, String(RECEIVE_BUFFER_BYTES), String(descriptors.length)], {
      stdio: ['ignore', 'ignore', 'pipe', ...descriptors],
      timeout: 5000,
    });
    let problem = '';
    child.stderr?.on('data', (text: Buffer) => (problem += text.toString()));
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code) => resolve(code === 0 ? undefined : problem.trim() || `perl ended with ${code}`));
  });
}
