import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { Sender } from '../../../src/features/webhooks/sender.ts';
import { newSecret } from '../../../src/features/webhooks/signature.ts';
import { freePort } from '../../free-port.ts';
import { eventually } from '../../realtime/watcher.ts';
import { childEnvironment } from '../../environment.ts';

test('the example receives an event once, and refuses an unsigned request', async () => {
  const [port, secret] = [await freePort(), newSecret()];
  const file = fileURLToPath(new URL('../../../docs/examples/webhook-receiver.mjs', import.meta.url));
  const child = spawn(process.execPath, [file], { env: childEnvironment({ COINOP_WEBHOOK_SECRET: secret, PORT: String(port) }) });
  onTestFinished(() => void child.kill());
  let out = '';
  child.stdout.on('data', (text: Buffer) => void (out += text.toString()));
  const url = `http://127.0.0.1:${port}/`;
  const sender = new Sender({ url, allowsPrivate: true, resolve: () => Promise.reject(new Error()), connections: 1, now: Date.now });
  onTestFinished(() => sender.close());
  const body = JSON.stringify({ id: 'e1', type: 'coins.changed', accountId: 'ada', data: { coins: 5 } });
  await eventually(async () => (await sender.send({ id: 'e1', body }, [secret])).status === 204);
  expect(await sender.send({ id: 'e1', body }, [secret])).toMatchObject({ status: 204 });
  expect(await sender.send({ id: 'e1', body }, [newSecret()])).toMatchObject({ status: 401 });
  await eventually(() => out !== '');
  expect(out).toBe('coins.changed ada {"coins":5}\n');
});
