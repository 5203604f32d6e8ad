import { connect, type Socket } from 'node:net';
import { BEGUN, floods, type Target } from './floods.ts';

/**
 * A process that floods the service: `node flooder.ts NAME CONNECTIONS MILLISECONDS PORT FROM TARGET`. Each connection sends as fast as
 * the service takes the bytes, and opens again once the service has closed it. Prints what it sent as JSON.
 */
const [name, connections, milliseconds, port, from, targetText] = process.argv.slice(2);
const flood = floods.find((one) => one.name === name)!;
const target = JSON.parse(targetText!) as Target;

/** Bytes of one write. Node then makes as few calls as it can. */
const WRITE_BYTES = 256 * 1024;

let sentBytes = 0;
let opened = 0;

/** The bytes of one write: many units. Each unit is made for itself, because a part of it is random in some floods. */
function fill(): Buffer {
  const units: Buffer[] = [];
  let bytes = 0;
  while (bytes < WRITE_BYTES) {
    const unit = Buffer.from(flood.unit(target) as string);
    units.push(unit);
    bytes += unit.length;
  }
  return Buffer.concat(units);
}

const block = fill();
const endsAt = performance.now() + Number(milliseconds);
console.log(BEGUN);

function run(): void {
  if (performance.now() > endsAt) return;
  const socket: Socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: from! });
  let leftBytes = flood.stopsAfterBytes ?? Infinity;
  const pump = (): void => {
    while (!socket.destroyed && performance.now() < endsAt) {
      const bytes = leftBytes < block.length ? block.subarray(0, leftBytes) : block;
      if (bytes.length === 0) return;
      leftBytes -= bytes.length;
      sentBytes += bytes.length;
      if (!socket.write(bytes)) return;
    }
  };
  socket.on('connect', () => {
    opened++;
    const opening = flood.opening?.(target);
    if (opening !== undefined) socket.write(opening);
    if (flood.awaits === undefined) pump();
  });
  let begins = '';
  if (flood.isDeaf !== true) {
    socket.on('data', (chunk: Buffer) => {
      if (flood.awaits === undefined || begins === flood.awaits) return;
      begins = (begins + chunk.toString('latin1')).slice(0, flood.awaits.length);
      if (begins !== flood.awaits) return;
      const once = flood.afterAnswer?.();
      if (once !== undefined) socket.write(once);
      pump();
    });
  }
  socket.on('drain', pump);
  socket.on('error', () => {});
  // In a turn of its own: a service that refuses connections would otherwise keep this process from ending.
  socket.on('close', () => setImmediate(run));
  setTimeout(() => socket.destroy(), Math.max(0, endsAt - performance.now())).unref();
}

for (let index = 0; index < Number(connections); index++) run();
setTimeout(
  () => {
    console.log(JSON.stringify({ sentBytes, opened }));
    process.exit(0);
  },
  Number(milliseconds) + 200,
);
