import { connect, type Socket } from 'node:net';
import { Failure } from '../../process/command.ts';

/**
 * Milliseconds of silence after which the snapshot fails. Before the snapshot begins, Redis sends an empty line every ten seconds, for
 * example while it rewrites its append-only file.
 */
const SILENCE_MS = 120_000;

const MARK_LENGTH = 40;
const LONGEST_LINE = 1024;

/**
 * Reads the data of a Redis at one moment after the call, in Redis's own format (RDB). Redis sends the data as it would send it to a
 * replica: it forks, and the child process writes into this connection. So Redis goes on serving, and no file appears in its folder. The
 * data is the complete state at the moment of the fork, with every operation that was acknowledged before.
 *
 * https://redis.io/docs/latest/operate/oss_and_stack/management/replication/ ; `redis-cli --rdb` does the same.
 * @throws Failure if Redis refuses, ends the connection too early, or is silent for two minutes
 */
export async function* snapshotOf(socketPath: string, signal: AbortSignal): AsyncGenerator<Buffer, undefined> {
  const socket = connect(socketPath);
  const stop = (): void => void socket.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop);
  socket.setTimeout(SILENCE_MS, () => socket.destroy(new Failure('Redis sent nothing for two minutes: there is no backup.')));
  try {
    const incoming = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const { mark, length, rest } = await begin(socket, incoming);
    yield* mark === undefined ? sized(incoming, rest, length) : marked(incoming, rest, mark);
  } finally {
    signal.removeEventListener('abort', stop);
    socket.destroy();
  }
}

/**
 * The commands that ask for a snapshot. With `eof` Redis streams from the child's memory instead of writing a file in its folder.
 * With `rdb-only` no writes follow the snapshot. Redis refuses SYNC while an answer is on its way, so each command waits for the previous
 * answer.
 */
const COMMANDS = ['REPLCONF capa eof', 'REPLCONF rdb-only 1', 'SYNC'];

/**
 * Sends the commands, and reads from the connection up to the beginning of the data. The line before the data is `$EOF:<mark>` or
 * `$<length>`.
 */
async function begin(socket: Socket, incoming: AsyncIterator<Buffer>): Promise<{ mark: Buffer | undefined; length: number; rest: Buffer }> {
  const commands = COMMANDS.values();
  const send = (): void => {
    const { value } = commands.next();
    if (value !== undefined) socket.write(`${value}\r\n`);
  };
  let pending = Buffer.alloc(0);
  send();
  for (;;) {
    const end = pending.indexOf('\n');
    if (end === -1) {
      const { value, done } = await incoming.next();
      if (done === true || pending.length > LONGEST_LINE) throw cutOff();
      pending = Buffer.concat([pending, value]);
      continue;
    }
    const line = pending.toString('latin1', 0, end).trim();
    pending = pending.subarray(end + 1);
    // Redis sends empty lines while it prepares the snapshot.
    if (line === '') continue;
    const mark = /^\$EOF:(.{40})$/.exec(line)?.[1];
    if (mark !== undefined) return { mark: Buffer.from(mark, 'latin1'), length: 0, rest: pending };
    const length = /^\$(\d+)$/.exec(line)?.[1];
    if (length !== undefined) return { mark: undefined, length: Number(length), rest: pending };
    if (line.startsWith('-')) throw new Failure(`Redis refuses a snapshot: ${line.slice(1)}`);
    send();
  }
}

/** Reads data that ends with a mark of random bytes. The line before the data has named this mark. */
async function* marked(incoming: AsyncIterator<Buffer>, rest: Buffer, mark: Buffer): AsyncGenerator<Buffer, undefined> {
  let held = rest;
  for (;;) {
    const end = held.length - MARK_LENGTH;
    if (end >= 0 && held.subarray(end).equals(mark)) {
      if (end > 0) yield held.subarray(0, end);
      return;
    }
    if (end > 0) {
      yield held.subarray(0, end);
      held = held.subarray(end);
    }
    const { value, done } = await incoming.next();
    if (done === true) throw cutOff();
    held = Buffer.concat([held, value]);
  }
}

async function* sized(incoming: AsyncIterator<Buffer>, rest: Buffer, length: number): AsyncGenerator<Buffer, undefined> {
  let left = length;
  let piece = rest;
  for (;;) {
    const own = piece.subarray(0, left);
    left -= own.length;
    if (own.length > 0) yield own;
    if (left === 0) return;
    const { value, done } = await incoming.next();
    if (done === true) throw cutOff();
    piece = value;
  }
}

function cutOff(): Failure {
  return new Failure('Redis ended the connection before the snapshot was whole: there is no backup. It was stopped, or its log says why.');
}
