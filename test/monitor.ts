import { once } from 'node:events';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import type { Redis } from 'ioredis';

/**
 * Calls `heard` for each command that a Redis runs. MONITOR reports commands on a separate connection, so a report may arrive after the
 * command's reply. ioredis's `monitor` fails if the reply to MONITOR and a report arrive in one piece.
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
