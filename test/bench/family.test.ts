import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { familyOf, holders } from '../../bench/processes/family.ts';

test('the family of a process is its children of the same program', async () => {
  const code = `
    const { spawn } = require('node:child_process');
    const children = [spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)']), spawn('sleep', ['60'])];
    process.on('SIGTERM', () => { for (const child of children) child.kill(); process.exit(); });
    console.log(children[0].pid);
  `;
  const parent = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void parent.kill('SIGTERM'));
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  await expect.poll(() => familyOf(parent.pid!)).toEqual([parent.pid, Number(line.toString())]);
});

test('the holder of a connection is found by the port of its client, among processes that may be read', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  await Promise.all([once(server, 'connection'), once(client, 'connect')]);
  // An ordinary user may not read process 1.
  expect([...holders([1, process.pid], port)]).toEqual([[client.localPort, process.pid]]);
  expect([...holders([1], port)]).toEqual([]);
  client.destroy();
  server.close();
});
