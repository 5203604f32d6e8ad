import { connect, type Socket } from 'node:net';
import { BEGUN, floods, type Target } from './floods.ts';

/**
 * A process that floods the service: `node flooder.ts NAME CONNECTIONS MILLISECONDS PORT FROM TARGET`. Each connection sends as fast as
 * the service takes the bytes, and is opened again after the service has closed it. Prints its counts as JSON.
 */
const [name, connections, milliseconds, port, from, targetText] = process.argv.slice(2);
const flood = floods.find((one) => one.name === name)!;
const target = JSON.parse(targetText!) as Target;

/** Bytes of one write. Node then makes as few calls as it can. */
const WRITE_BYTES = 256 * 1024;

let sentBytes = 0;
let opened = 0;

/** The bytes of one write: many units. Each unit is made separately, because some floods have random parts. */
function fill(): Buffer {
  const units: Buffer[] = [];
  let bytes = 0;
  while (bytes < WRITE_BYTES) {
    const unit = Buffer.from(flood.unit(target, 0, units.length) as string);
    units.push(unit);
    bytes += unit.length;
  }
  return Buffer.concat(units);
}

const block = flood.perSecond === undefined ? fill() : Buffer.alloc(0);
/** Opens paced sockets one after the other: the upgrade and hello of each count against the limit of 50 requests a second. */
const OPEN_EVERY_MS = 45;
const openingMs = flood.perSecond === undefined ? 0 : Number(connections) * OPEN_EVERY_MS;

const endsAt = performance.now() + openingMs + Number(milliseconds);
setTimeout(() => {
  sentBytes = opened = 0;
  console.log(BEGUN);
}, openingMs);

/** Sends units at their pace until the connection ends. A connection that is not drained goes on: the service then has to bound it. */
function paced(socket: Socket, connection: number, perSecond: number): void {
  const startedAt = performance.now();
  let count = 0;
  const timer = setInterval(() => {
    if (socket.destroyed) return clearInterval(timer);
    if (performance.now() > endsAt) return clearInterval(timer);
    const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond);
    const units: Buffer[] = [];
    // A process that lags does not catch up, because it would send all missed units at once.
    const most = Math.ceil((2 * perSecond * PACE_MS) / 1000);
    while (count < due && units.length < most) units.push(Buffer.from(flood.unit(target, connection, count++) as string));
    if (units.length === 0 || socket.writableLength > WRITE_BYTES) return;
    const bytes = Buffer.concat(units);
    sentBytes += bytes.length;
    socket.write(bytes);
  }, PACE_MS);
}

const PACE_MS = 50;

/** A flood that keeps a pace must not be a storm of connections either. */
const AGAIN_MS = 1000;

function run(connection: number): void {
  if (performance.now() > endsAt) return;
  const socket: Socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: from! });
  let leftBytes = flood.stopsAfterBytes ?? Infinity;
  const pump = (): void => {
    if (flood.perSecond !== undefined) return paced(socket, connection, flood.perSecond);
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
    const opening = flood.opening?.(target, connection);
    if (opening !== undefined) socket.write(opening);
    if (flood.awaits === undefined) pump();
  });
  let [text, isAnswered, isPumping] = ['', false, flood.awaits === undefined];
  if (flood.isDeaf !== true || flood.awaits !== undefined) {
    socket.on('data', (chunk: Buffer) => {
      if (isPumping) return;
      text += chunk.toString('latin1');
      if (!isAnswered && flood.awaits !== undefined && text.startsWith(flood.awaits)) {
        isAnswered = true;
        const once = flood.afterAnswer?.(target, connection);
        if (once !== undefined) socket.write(once);
      }
      if (!isAnswered || !(flood.begins === undefined || text.includes(flood.begins))) return;
      isPumping = true;
      if (flood.isDeaf === true) socket.pause();
      pump();
    });
  }
  if (flood.perSecond === undefined) socket.on('drain', pump);
  socket.on('error', () => {});
  // In a separate turn, because a service that refuses connections would otherwise keep this process from ending.
  socket.on('close', () => (flood.perSecond === undefined ? setImmediate(run, connection) : setTimeout(run, AGAIN_MS, connection)));
  setTimeout(() => socket.destroy(), Math.max(0, endsAt - performance.now())).unref();
}

for (let index = 0; index < Number(connections); index++)
  if (openingMs === 0) run(index);
  else setTimeout(run, index * OPEN_EVERY_MS, index);
setTimeout(
  () => {
    console.log(JSON.stringify({ sentBytes, opened }));
    process.exit(0);
  },
  openingMs + Number(milliseconds) + 200,
);
