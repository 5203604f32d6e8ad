import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { familyOf, holders } from '../../bench/processes/family.ts';

test('the family of a process is its children of the same program', async () => {
  const code = `
    const { spawn } = require('node:child_process');
    const worker = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)']);
    const other = spawn('sleep', ['60']);
    process.on('SIGTERM', () => { worker.kill(); other.kill(); process.exit(); });
    Promise.all([worker, other].map((child) => new Promise((done) => child.once('spawn', done)))).then(() => console.log(worker.pid));
  `;
  const parent = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    await expect.poll(() => familyOf(parent.pid!)).toEqual([parent.pid, Number(line.toString())]);
  } finally {
    parent.kill('SIGTERM');
    await once(parent, 'exit');
  }
});

test('the holder of a connection is found by the port of its client', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection');
  const client = connect(port, '127.0.0.1');
  await Promise.all([accepted, once(client, 'connect')]);
  expect([...holders([process.pid], port)]).toEqual([[client.localPort, process.pid]]);
  expect([...holders([1], port)]).toEqual([]);
  client.destroy();
  server.close();
});
