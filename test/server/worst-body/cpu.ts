import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { Redis } from 'ioredis';

/** CPU time of a process with all its threads, in µs, by the scheduler's account (/proc/pid/task/tid/schedstat, in nanoseconds). */
export function processCpu(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // The thread has ended since it was listed.
    }
  }
  return nanoseconds / 1000;
}

/** CPU time of Redis's main thread, in µs. */
export async function redisCpu(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = (name: string): number => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(info)![1]);
  return 1e6 * (seconds('used_cpu_user_main_thread') + seconds('used_cpu_sys_main_thread'));
}

function median(figures: readonly number[]): number {
  return figures.toSorted((one, other) => one - other)[figures.length >> 1]!;
}

/**
 * How much slower this machine is at present than the reference machine, by the CPU time of a fixed piece of work; 1 where
 * it is as fast or faster.
 */
export function slowness(): number {
  const document = JSON.stringify(Array.from({ length: 200 }, (_, index) => ({ index, name: `name ${index}`, list: [index, [index]] })));
  const times = Array.from({ length: 15 }, () => {
    const before = process.cpuUsage();
    for (let round = 0; round < 20; round++) JSON.stringify(JSON.parse(document));
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.max(1, median(times.slice(5)) / REFERENCE_MICROSECONDS);
}

/** CPU time of that work on the reference machine: two shared cores of an AMD EPYC at 2.5 GHz. */
const REFERENCE_MICROSECONDS = 2500;

/** A client that sends one request after the other on one connection, and opens another where the service closes it. */
export class Client {
  readonly #port: number;
  #socket: Socket | undefined;
  #text = '';
  #answered: ((status: number) => void) | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends a request as it is. @returns the status; 0 where the connection ended without an answer */
  ask(request: Buffer): Promise<number> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#open().write(request);
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect(this.#port, '127.0.0.1');
    this.#socket = socket;
    this.#text = '';
    socket.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString('latin1');
      this.#look();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      // The client has opened another connection since.
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#answer(0);
    });
    return socket;
  }

  #look(): void {
    const end = this.#text.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#text.slice(0, end).toLowerCase();
    const status = Number(head.slice(9, 12));
    const length = Number(/^content-length: (\d+)$/m.exec(head)?.[1] ?? 0);
    // No request here is a HEAD, and 304 has no content-length.
    if (this.#text.length < end + 4 + length) return;
    this.#text = '';
    if (/^connection: close$/m.test(head)) {
      this.#socket?.destroy();
      this.#socket = undefined;
    }
    this.#answer(status);
  }

  #answer(status: number): void {
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.(status);
  }
}
