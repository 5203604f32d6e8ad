import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { boundReceiveBuffer } from '../../src/server/receive-buffer.ts';
import { freshId } from '../harness.ts';
import { post, startChild, type Child } from '../realtime/child.ts';
import { frame, opcodes, RawSocket } from '../realtime/raw-socket.ts';

async function withService(settings: Record<string, string>, use: (service: Child) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-buffer-'));
  const service = await startChild({ DATA_DIR: folder, ...settings });
  try {
    await use(service);
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true });
  }
}

test('an endless message of empty fragments does not hold up other clients', () =>
  withService({}, async ({ url, port }) => {
    const { room } = await post(url, '/v1/rooms', { installId: freshId() });
    const socket = await RawSocket.open(port, `/v1/rooms/${room.code}/live`);
    const fragments = Buffer.concat(Array.from({ length: 100_000 }, () => frame(opcodes.continuation, '', { isLast: false })));
    socket.write(frame(opcodes.text, '', { isLast: false }));
    let answered = 0;
    const flood = async (): Promise<void> => {
      while (answered < 5) await socket.written(fragments);
    };
    const over = flood();
    while (answered < 5) if ((await fetch(`${url}/health`)).ok) answered++;
    socket.destroy();
    await over;
  }));

test('a start warns with the reason if perl fails', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-perl-'));
  writeFileSync(join(folder, 'perl'), '#!/bin/sh\necho no sockets >&2\nexit 1\n', { mode: 0o755 });
  await withService({ PATH: `${folder}:${process.env['PATH']}` }, async (service) => {
    expect(service.output()).toMatch(/"reason":"no sockets","msg":"could not bound the receive buffers/);
  });
  rmSync(folder, { recursive: true });
});

/** The receive buffer of a connection in bytes, as the kernel counts it. */
function receiveBufferOf(socket: Socket): number {
  const { fd } = (socket as unknown as { _handle: { fd: number } })._handle;
  const program = 'open(my $socket, "+<&=", 3) or die; print unpack("i", getsockopt($socket, SOL_SOCKET, SO_RCVBUF))';
  return Number(spawnSync('perl', ['-MSocket', '-e', program], { stdio: ['ignore', 'pipe', 'inherit', fd] }).stdout.toString());
}

test('connections that opened before the bound was set get it too', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const open = async (): Promise<Socket> => {
    const accepted = once(server, 'connection');
    connect(port, '127.0.0.1').unref();
    return ((await accepted) as [Socket])[0];
  };
  const early = [await open(), await open()];
  expect(await boundReceiveBuffer(port)).toBeUndefined();
  const sockets = [...early, await open()];
  expect(sockets.map(receiveBufferOf)).toEqual([65_536, 65_536, 65_536]);
  for (const socket of sockets) socket.destroy();
  server.close();
});

test('connections that close while others get the bound cause no error', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-perl-'));
  // The second child has the first connections. It ends once the last ones are closed.
  const wait = 'while [ $(wc -l < calls) -eq 2 ] && [ ! -e closed ]; do sleep 0.05; done';
  writeFileSync(join(folder, 'perl'), `#!/bin/sh\ncd ${folder}\necho >> calls\n${wait}\n`, { mode: 0o755 });
  const { PATH } = process.env;
  process.env['PATH'] = `${folder}:${PATH}`;
  const accepted: Socket[] = [];
  const server = createServer((socket) => accepted.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = Array.from({ length: 230 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await expect.poll(() => accepted.length).toBe(clients.length);
  const bounding = boundReceiveBuffer(port);
  const calls = (): string => readFileSync(join(folder, 'calls'), 'utf8');
  await expect.poll(() => existsSync(join(folder, 'calls')) && calls().length).toBe(2);
  for (const socket of accepted) socket.destroy();
  await pause(50);
  writeFileSync(join(folder, 'closed'), '');
  expect(await bounding).toBeUndefined();
  process.env['PATH'] = PATH;
  for (const socket of clients) socket.destroy();
  server.close();
  rmSync(folder, { recursive: true });
});
