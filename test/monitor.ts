import { once } from 'node:events';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import type { Redis } from 'ioredis';

/**
 * Calls `heard` for each command that a Redis runs, by MONITOR. Redis tells of a command on a connection of its own, so after the reply.
 * `monitor` of ioredis fails if a command of another client comes in one piece with the reply to MONITOR.
 * @param redis a client that has connected to a Unix socket
 * @param heard gets the words of the command, and whether a script ran it
 */
export async function monitored({ options }: Redis, heard: (words: string[], isOfScript: boolean) => void): Promise<Disposable> {
  const socket = createConnection((options as { path: string }).path);
  socket.write('MONITOR\r\n');
  await once(socket, 'readable');
  createInterface(socket).on('line', (line) => {
    const words = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word!);
    // The reply to MONITOR itself has no words.
    if (words.length > 0) heard(words, line.includes(' lua] '));
  });
  return { [Symbol.dispose]: () => socket.destroy() };
}
