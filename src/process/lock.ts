import { createServer, type Server } from 'node:net';

/**
 * Locks a name on this machine until the process ends. The lock is a Unix socket in Linux's abstract namespace. The kernel frees the socket
 * even after a crash, so no stale lock file can block the next start.
 *
 * @returns undefined if another process has the lock
 */
export function holdName(name: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen({ path: `\0${name}` }, () => {
      server.unref();
      resolve(server);
    });
  });
}
