import { createServer as createTcp, type AddressInfo, type Server } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Sender, isDelivered, type SenderOptions } from '../../../src/features/webhooks/sender.ts';
import { newSecret, SECRET } from '../../../src/features/webhooks/signature.ts';
import { freePort } from '../../free-port.ts';
import { startReceiver } from './receiver.ts';

const message = { id: 'e1', body: '{"id":"e1","type":"coins.changed","data":{"coins":5}}' };
const secret = newSecret();

/** No name resolves, unless the test says so. */
const nowhere = () => Promise.reject(new Error('no such name'));

function open(url: string, parts: Partial<SenderOptions> = {}) {
  const sender = new Sender({ url, allowsPrivate: true, resolve: nowhere, connections: 4, now: Date.now, ...parts });
  onTestFinished(() => sender.close());
  return {
    /** @returns the status or the error of an attempt, and whether the event counts as delivered */
    async send() {
      const attempt = await sender.send(message, [secret]);
      return { told: attempt.status ?? attempt.error, isDelivered: isDelivered(attempt), retryAfterMs: attempt.retryAfterMs };
    },
  };
}

const outcomeOf = async (url: string, parts?: Partial<SenderOptions>) => (await open(url, parts).send()).told;

async function receiving(options?: { tls: boolean }) {
  const receiver = await startReceiver(options);
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  return receiver;
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
    const receiver = await receiving();
    expect(secret).toMatch(SECRET);
    expect(await open(receiver.url).send()).toMatchObject({ told: 204, isDelivered: true });
    const { headers, body } = receiver.received[0]!;
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(message.body));
    expect(headers).toMatchObject({
      'webhook-id': 'e1',
      'content-type': 'application/json',
      'user-agent': expect.stringMatching(/^coinop-webhooks\/\d/),
    });
    expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow('No matching signature');
    expect(() => new Webhook(secret).verify(body.replace('5', '6'), headers)).toThrow('No matching signature');
  });

  test('goes over TLS to an address, whose certificate must verify, for the name and not for the address that it leads to', async () => {
    const { url, ca = '', port, path, received } = await receiving({ tls: true });
    expect(await outcomeOf(url, { ca })).toBe(204);
    expect(await outcomeOf(url)).toBe('tls');
    expect(await outcomeOf(url.replace('https:', 'http:'))).toBe('connection');
    expect(await outcomeOf(`https://play.example:${port}${path}`, { ca, resolve: async () => ['127.0.0.1'] })).toBe('tls');
    expect(received).toHaveLength(1);
  });

  test('reuses the connection of the one before, and opens another if the server has just closed it', async () => {
    const receiver = await receiving();
    const sender = open(receiver.url);
    for (let count = 0; count < 3; count++) await sender.send();
    expect(receiver.connections()).toBe(1);
    // The server resets the connection instead of answering, as if its idle timeout ended at this moment.
    let resets = 0;
    receiver.answer = (_, response, raw) => {
      if (resets++ === 0) raw.socket.resetAndDestroy();
      else response.writeHead(200).end();
    };
    expect((await sender.send()).told).toBe(200);
    expect([receiver.connections(), resets]).toEqual([2, 2]);
  });
});

describe('an answer', () => {
  test.each([200, 202, 301, 302, 303, 307, 308, 400, 410, 500])(
    'of %i is reported, no redirect is followed, and only 2xx is a delivery',
    async (status) => {
      const [receiver, other] = [await receiving(), await receiving()];
      receiver.answer = (_, response) => void response.writeHead(status, { location: other.url }).end('text');
      expect(await open(receiver.url).send()).toMatchObject({ told: status, isDelivered: status < 300 });
      expect(other.received).toEqual([]);
    },
  );

  test.each([
    ['120', 120_000],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['soon', undefined],
  ])('reports its Retry-After: %s', async (header, expected) => {
    const receiver = await receiving();
    receiver.answer = (_, response) => void response.writeHead(503, { 'retry-after': header }).end();
    const sender = open(receiver.url, { now: () => Date.parse('2026-01-01T00:00:00Z') });
    expect((await sender.send()).retryAfterMs).toBe(expected);
  });

  test('that never comes, or never ends, is cut after the time limit', async () => {
    const receiver = await receiving();
    receiver.answer = () => {};
    expect(await outcomeOf(receiver.url, { answerMs: 60 })).toBe('timeout');
    receiver.answer = (_, response) => void response.writeHead(200).write('never ');
    expect(await open(receiver.url, { answerMs: 60 }).send()).toMatchObject({ told: 'timeout', isDelivered: false });
    // One byte after the other, so that no idle timeout ends the answer.
    const drip = await rawServer((write) => {
      write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => write('x: y\r\n'), 5);
      onTestFinished(() => clearInterval(timer));
    });
    expect(await outcomeOf(drip, { answerMs: 60 })).toBe('timeout');
  });

  test('with too large a body, or that is no HTTP, breaks off or is refused, is no delivery', async () => {
    const receiver = await receiving();
    receiver.answer = (_, response) => {
      response.writeHead(200);
      response.on('error', () => {});
      const more = (): void => void (response.destroyed || response.write('x'.repeat(16_384), more));
      more();
    };
    expect(await outcomeOf(receiver.url)).toBe('answer_too_large');
    const answers = [
      'SSH-2.0-OpenSSH_9.2\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort',
      `HTTP/1.1 200 OK\r\na: ${'b'.repeat(20_000)}\r\n`,
    ];
    for (const answer of answers) {
      const url = await rawServer((write, end) => (write(answer), end()));
      const told = expect.stringMatching(/^(bad_answer|connection)$/);
      expect(await open(url).send()).toMatchObject({ told, isDelivered: false });
    }
    expect(await outcomeOf(`http://127.0.0.1:${await freePort()}/`)).toBe('connection');
  });
});

describe('an address', () => {
  test('that is private gets no connection, whether the URL has it or its name leads there', async () => {
    const [receiver, plain] = [await receiving({ tls: true }), await receiving()];
    const strict = { allowsPrivate: false };
    expect(await outcomeOf(receiver.url, strict)).toBe('private_address');
    const named = `https://play.example:${receiver.port}${receiver.path}`;
    for (const addresses of [['127.0.0.1'], ['::1', '10.0.0.1'], ['::ffff:127.0.0.1']])
      expect(await outcomeOf(named, { ...strict, resolve: async () => addresses })).toBe('private_address');
    // A URL that begins with http: needs WEBHOOKS_PRIVATE=on.
    const withoutTls = `http://play.example:${plain.port}${plain.path}`;
    const resolve = async () => ['127.0.0.1'];
    expect(await outcomeOf(withoutTls, { ...strict, resolve })).toBe('private_address');
    expect([receiver.connections(), plain.connections()]).toEqual([0, 0]);
    expect(await outcomeOf(withoutTls, { resolve })).toBe(204);
    expect(await outcomeOf('https://nobody.example/')).toBe('dns');
  });

  test('is looked up for each connection, and the one that was checked is connected to', async () => {
    const receiver = await receiving();
    receiver.answer = (_, response) => void response.writeHead(200, { connection: 'close' }).end();
    // The address of the name changes to a forbidden one, and back.
    const found = ['127.0.0.1', '169.254.169.254', '127.0.0.1'];
    let asked = 0;
    const sender = open(`http://rebind.example:${receiver.port}${receiver.path}`, { resolve: async () => [found[asked++]!] });
    const told = [(await sender.send()).told, (await sender.send()).told, (await sender.send()).told];
    expect(told).toEqual([200, 'private_address', 200]);
    // There is only one look-up: a second one after the check could give another address.
    expect([asked, receiver.connections()]).toEqual([3, 2]);
  });
});
