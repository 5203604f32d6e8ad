import { createServer } from 'node:net';

/** A free port of this machine, for a program that takes its port as a setting. */
export async function freePort(): Promise<string> {
  return String(await freePorts(1));
}

/**
 * The first of `count` consecutive free ports. With `offset`, the ports that much above are free as well. All are below the ports of
 * Linux's outgoing connections, so that no connection takes one before the program does.
 */
export async function freePorts(count: number, offset = 0): Promise<number> {
  for (;;) {
    const first = 10_000 + Math.floor(Math.random() * (32_000 - 10_000 - offset - count));
    const ports = new Set(Array.from({ length: count }, (_, index) => [first + index, first + offset + index]).flat());
    if ((await Promise.all([...ports].map(isFree))).every(Boolean)) return first;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
