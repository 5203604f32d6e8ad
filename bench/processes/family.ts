import { readFileSync, readlinkSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A process and its children that run the same program: the primary and the workers of a service, without its Redis. */
export function familyOf(pid: number): number[] {
  const program = nameOf(pid);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  return [pid, ...children.filter((child) => nameOf(child) === program)];
}

function nameOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8');
}

/**
 * The processes that hold the connections to a port of this machine, by the client's port. Several processes may share the
 * port, and the kernel chooses one for each connection.
 */
export function holders(pids: readonly number[], port: number): Map<number, number> {
  const pidOfInode = new Map<string, number>();
  for (const pid of pids) for (const inode of socketsOf(pid)) pidOfInode.set(inode, pid);
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const found = new Map<number, number>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readFileSync(table, 'utf8').split('\n').slice(1)) {
      // Number, local address, remote address, state, queues, timer, retransmissions, user, timeout, inode (proc(5)).
      const [, local, remote, state, , , , , , inode] = line.trim().split(/ +/);
      const pid = local?.endsWith(suffix) === true && state === ESTABLISHED ? pidOfInode.get(inode!) : undefined;
      if (pid !== undefined) found.set(parseInt(remote!.split(':').at(-1)!, 16), pid);
    }
  }
  return found;
}

/** The kernel's number for it (include/net/tcp_states.h). */
const ESTABLISHED = '01';

/** The inodes of the sockets of a process. None of one that has ended, or that belongs to another user. */
function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readable(() => readdirSync(folder), []).flatMap((fd) => {
    // The process may close it meanwhile.
    const target = readable(() => readlinkSync(join(folder, fd)), '');
    return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [];
  });
}

function readable<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
