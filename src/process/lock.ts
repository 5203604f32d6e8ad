import { createServer, type Server } from 'node:net';

/**
 * Holds a name machine-wide for as long as this process lives: a Unix socket in Linux's abstract namespace, which the
 * kernel gives back however the process ends. No file is left over to be mistaken for a running service.
 *
 * @returns undefined when another process holds it
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
