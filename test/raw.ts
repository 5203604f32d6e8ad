import { connect } from 'node:net';

/** For a peer that does not answer at all, in milliseconds. */
const PATIENCE_MS = 30_000;

/**
 * Sends bytes over one TCP connection. Returns everything received until the peer closes, or has answered and then sends nothing for
 * `quietMs`. With 0 or 1 it leaves so many milliseconds after it has sent, without an answer.
 */
export function sendRaw(
  port: number,
  bytes: string | Buffer | (string | Buffer)[],
  quietMs = 250,
): Promise<{ text: string; closed: boolean }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    let timer: NodeJS.Timeout | undefined;
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, closed });
    };
    const rearm = (milliseconds = quietMs): void => {
      clearTimeout(timer);
      timer = setTimeout(() => finish(false), milliseconds);
    };
    socket.on('connect', () => {
      for (const part of [bytes].flat()) socket.write(part);
      rearm(quietMs > 1 ? PATIENCE_MS : quietMs);
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      rearm();
    });
    socket.on('close', () => finish(true));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? finish(true) : reject(error),
    );
  });
}

export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
