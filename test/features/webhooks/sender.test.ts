import { createServer as createTcp, type AddressInfo, type Server } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Sender, isDelivered, type SenderParts } from '../../../src/features/webhooks/sender.ts';
import { newSecret, SECRET } from '../../../src/features/webhooks/signature.ts';
import { startReceiver } from './receiver.ts';

const message = { id: 'e1', body: '{"id":"e1","type":"coins.changed","data":{"coins":5}}' };

/** No name resolves, unless the test says so. */
const nowhere = () => Promise.reject(new Error('no such name'));

function open(url: string, parts: Partial<SenderParts> = {}): Sender {
  const sender = new Sender({ url, allowsPrivate: true, resolve: nowhere, connections: 4, now: Date.now, ...parts });
  onTestFinished(() => sender.close());
  return sender;
}

/** A server that answers with given bytes. */
async function rawServer(answer: (write: (text: string) => void, end: () => void) => void): Promise<string> {
  const server: Server = createTcp((socket) => {
    socket.on('error', () => {});
    socket.once('data', () =>
      answer(
        (text) => void socket.write(text),
        () => void socket.end(),
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe('a request', () => {
  test('is verified by the library of Standard Webhooks', async () => {
    await using receiver = await startReceiver();
    const secret = newSecret();
    expect(secret).toMatch(SECRET);
    const attempt = await open(receiver.url).send(message, [secret]);
    expect([attempt.status, attempt.error, isDelivered(attempt)]).toEqual([204, undefined, true]);
    const [{ headers, body }] = receiver.received as [(typeof receiver.received)[0]];
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(message.body));
    expect(headers).toMatchObject({ 'webhook-id': 'e1', 'content-type': 'application/json' });
    expect(headers['user-agent']).toMatch(/^coinop-webhooks\/\d/);
    expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow('No matching signature');
    expect(() => new Webhook(secret).verify(body.replace('5', '6'), headers)).toThrow('No matching signature');
  });

  test('is signed by the old and the new secret of a rotation', async () => {
    await using receiver = await startReceiver();
    const secrets = [newSecret(), newSecret()];
    await open(receiver.url).send(message, secrets);
    const { headers, body } = receiver.received[0]!;
    for (const secret of secrets) expect(new Webhook(secret).verify(body, headers)).toMatchObject({ id: 'e1' });
    expect(headers['webhook-signature']!.split(' ')).toHaveLength(2);
  });

  test('goes over TLS to an address, whose certificate must verify', async () => {
    await using receiver = await startReceiver({ tls: true });
    expect(await open(receiver.url, { ca: receiver.ca! }).send(message, [newSecret()])).toMatchObject({ status: 204 });
    expect(await open(receiver.url).send(message, [newSecret()])).toMatchObject({ error: 'tls' });
    expect(await open(receiver.url.replace('https:', 'http:')).send(message, [newSecret()])).toMatchObject({ error: 'connection' });
    expect(receiver.received).toHaveLength(1);
  });

  test('compares the certificate with the name, and not with the address that the name leads to', async () => {
    await using receiver = await startReceiver({ tls: true });
    const named = `https://play.example:${receiver.port}${receiver.path}`;
    const sender = open(named, { ca: receiver.ca!, resolve: async () => ['127.0.0.1'] });
    expect(await sender.send(message, [newSecret()])).toMatchObject({ error: 'tls' });
    expect(receiver.received).toEqual([]);
  });

  test('reuses the connection of the one before, and opens another if the server has just closed it', async () => {
    await using receiver = await startReceiver();
    const sender = open(receiver.url);
    for (let count = 0; count < 3; count++) await sender.send(message, [newSecret()]);
    expect(receiver.connections()).toBe(1);
    // The server resets the connection instead of answering, as if its idle timeout ended at this moment.
    let resets = 0;
    receiver.answer = (_, response, raw) => {
      if (resets++ === 0) raw.socket.resetAndDestroy();
      else response.writeHead(200).end();
    };
    expect(await sender.send(message, [newSecret()])).toMatchObject({ status: 200 });
    expect([receiver.connections(), resets]).toEqual([2, 2]);
  });
});

describe('an answer', () => {
  test.each([
    [200, true],
    [202, true],
    [400, false],
    [410, false],
    [500, false],
  ])('of %i is reported, and only 2xx is a delivery', async (status, delivered) => {
    await using receiver = await startReceiver();
    receiver.answer = (_, response) => void response.writeHead(status).end('text');
    const attempt = await open(receiver.url).send(message, [newSecret()]);
    expect([attempt.status, isDelivered(attempt)]).toEqual([status, delivered]);
  });

  test('that redirects is not followed', async () => {
    await using receiver = await startReceiver();
    await using other = await startReceiver();
    for (const status of [301, 302, 303, 307, 308]) {
      receiver.answer = (_, response) => void response.writeHead(status, { location: other.url }).end();
      const attempt = await open(receiver.url).send(message, [newSecret()]);
      expect([attempt.status, isDelivered(attempt)]).toEqual([status, false]);
    }
    expect(other.received).toEqual([]);
  });

  test.each([
    ['120', 120_000],
    ['0', 0],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['soon', undefined],
  ])('reports its Retry-After: %s', async (header, expected) => {
    await using receiver = await startReceiver();
    receiver.answer = (_, response) => void response.writeHead(503, { 'retry-after': header }).end();
    const sender = open(receiver.url, { now: () => Date.parse('2026-01-01T00:00:00Z') });
    expect((await sender.send(message, [newSecret()])).retryAfterMs).toBe(expected);
  });

  test('that never comes, or never ends, is cut after the time limit', async () => {
    await using receiver = await startReceiver();
    const sender = open(receiver.url, { answerMs: 60 });
    receiver.answer = () => {};
    expect(await sender.send(message, [newSecret()])).toMatchObject({ error: 'timeout' });
    receiver.answer = (_, response) => void response.writeHead(200).write('never ');
    const attempt = await sender.send(message, [newSecret()]);
    expect([attempt.error, attempt.status, isDelivered(attempt)]).toEqual(['timeout', undefined, false]);
    // One byte after the other, so that no idle timeout ends the answer.
    const drip = await rawServer((write) => {
      write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => write('x: y\r\n'), 5);
      onTestFinished(() => clearInterval(timer));
    });
    expect(await open(drip, { answerMs: 60 }).send(message, [newSecret()])).toMatchObject({ error: 'timeout' });
  });

  test('with too large a body, or that is no HTTP, or breaks off, is no delivery', async () => {
    await using receiver = await startReceiver();
    receiver.answer = (_, response) => {
      response.writeHead(200);
      response.on('error', () => {});
      const more = (): void => void (response.destroyed || response.write('x'.repeat(16_384), more));
      more();
    };
    expect(await open(receiver.url).send(message, [newSecret()])).toMatchObject({ error: 'answer_too_large' });
    const answers = [
      'SSH-2.0-OpenSSH_9.2\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort',
      `HTTP/1.1 200 OK\r\na: ${'b'.repeat(20_000)}\r\n`,
    ];
    for (const answer of answers) {
      const url = await rawServer((write, end) => (write(answer), end()));
      const attempt = await open(url).send(message, [newSecret()]);
      expect([attempt.error, isDelivered(attempt)]).toEqual([expect.stringMatching(/^(bad_answer|connection)$/), false]);
    }
    const [port] = [(await startReceiver().then(async (gone) => (await gone[Symbol.asyncDispose](), gone))).port];
    expect(await open(`http://127.0.0.1:${port}/`).send(message, [newSecret()])).toMatchObject({ error: 'connection' });
  });
});

describe('an address', () => {
  const strict = { allowsPrivate: false };

  test('that is private gets no connection, whether the URL has it or its name leads there', async () => {
    await using receiver = await startReceiver({ tls: true });
    expect(await open(receiver.url, strict).send(message, [newSecret()])).toMatchObject({ error: 'private_address' });
    const named = `https://play.example:${receiver.port}${receiver.path}`;
    for (const addresses of [['127.0.0.1'], ['::1', '10.0.0.1'], ['::ffff:127.0.0.1']])
      expect(await open(named, { ...strict, resolve: async () => addresses }).send(message, [newSecret()])).toMatchObject({
        error: 'private_address',
      });
    expect(receiver.connections()).toBe(0);
    // A URL that begins with http: needs WEBHOOKS_PRIVATE=on.
    await using plain = await startReceiver();
    const toPlain = open(`http://play.example:${plain.port}/`, { ...strict, resolve: async () => ['127.0.0.1'] });
    expect(await toPlain.send(message, [newSecret()])).toMatchObject({ error: 'private_address' });
    expect(plain.connections()).toBe(0);
    const withPrivate = `http://play.example:${plain.port}${plain.path}`;
    expect(await open(withPrivate, { resolve: async () => ['127.0.0.1'] }).send(message, [newSecret()])).toMatchObject({ status: 204 });
  });

  test('is looked up for each connection, and the one that was checked is connected to', async () => {
    await using receiver = await startReceiver();
    receiver.answer = (_, response) => void response.writeHead(200, { connection: 'close' }).end();
    // The address of the name changes to a forbidden one, and back.
    const found = ['127.0.0.1', '169.254.169.254', '127.0.0.1'];
    let asked = 0;
    const sender = open(`http://rebind.example:${receiver.port}${receiver.path}`, { resolve: async () => [found[asked++]!] });
    const attempts = [];
    for (let count = 0; count < 3; count++) attempts.push(await sender.send(message, [newSecret()]));
    expect(attempts.map(({ status, error }) => status ?? error)).toEqual([200, 'private_address', 200]);
    // There is only one look-up: a second one after the check could give another address.
    expect([asked, receiver.connections()]).toEqual([3, 2]);
  });

  test('of a name that does not exist is a failure of DNS', async () => {
    expect(await open('https://nobody.example/').send(message, [newSecret()])).toMatchObject({ error: 'dns' });
  });
});
