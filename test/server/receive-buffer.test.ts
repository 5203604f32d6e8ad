import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { boundReceiveBuffer } from '../../src/server/receive-buffer.ts';
import { freshId } from '../harness.ts';
import { post, startChild, type Child } from '../realtime/child.ts';
import { frame, opcodes, RawSocket } from '../realtime/raw-socket.ts';

async function startService(settings: Record<string, string> = {}): Promise<Child> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-buffer-'));
  const service = await startChild({ DATA_DIR: folder, ...settings });
  onTestFinished(async () => {
    await service.stop();
    rmSync(folder, { recursive: true });
  });
  return service;
}

test('an endless message of empty fragments does not hold up other clients', async () => {
  const { url, port } = await startService();
  const { room } = await post(url, '/v1/rooms', { installId: freshId() });
  const socket = await RawSocket.open(port, `/v1/rooms/${room.code}/live`);
  const fragments = Buffer.concat(Array.from({ length: 100_000 }, () => frame(opcodes.continuation, '', { isLast: false })));
  socket.write(frame(opcodes.text, '', { isLast: false }));
  let answered = 0;
  const flood = async (): Promise<void> => {
    while (answered < 5) {
      await socket.written(fragments);
      // Once the connection is closed, a write ends at once: other work needs a turn.
      await nextTurn();
    }
  };
  const over = flood();
  // A connection that was idle for long on a busy machine is closed.
  while (answered < 5) if ((await fetch(`${url}/health`).catch(() => undefined))?.ok === true) answered++;
  socket.destroy();
  await over;
});

test('a start warns with the reason if perl fails', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-perl-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'perl'), '#!/bin/sh\necho no sockets >&2\nexit 1\n', { mode: 0o755 });
  const service = await startService({ PATH: `${folder}:${process.env['PATH']}` });
  expect(service.output()).toMatch(/"reason":"no sockets","msg":"could not bound the receive buffers/);
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
