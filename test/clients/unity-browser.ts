import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { WebSocketServer } from 'ws';
import type { Stand } from '../proofs/proof.ts';
import { chromiumPath } from './javascript/prove-react.ts';

const library = readFileSync(
  fileURLToPath(new URL('../../src/clients/csharp/Runtime/Unity/Plugins/WebGL/coinop.jslib', import.meta.url)),
  'utf8',
);

/**
 * What Unity's compiler gives a library in a browser: the memory of the game with texts in UTF-8, and what makes functions of the library.
 * `call` is a call from C#: texts go in and out as addresses in that memory.
 */
const STAND_INS = `
  const memory = new Uint8Array(1 << 25);
  let end = 8;
  const _malloc = (size) => (end += size) - size;
  const lengthBytesUTF8 = (text) => new TextEncoder().encode(text).length;
  const stringToUTF8 = (text, at, size) => {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length + 1 > size) throw new Error('The text is longer than its place');
    memory.set(bytes, at);
    memory[at + bytes.length] = 0;
  };
  const UTF8ToString = (at) => new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
  const LibraryManager = { library: {} };
  const mergeInto = Object.assign;
  const autoAddDeps = (made, name) => {
    window[name.slice(1)] = made[name];
  };
  const given = (value) => {
    if (typeof value !== 'string') return value;
    const size = lengthBytesUTF8(value) + 1;
    const at = _malloc(size);
    stringToUTF8(value, at, size);
    return at;
  };
  window.call = (name, ...values) => LibraryManager.library[name](...values.map(given));
  window.textOf = (name, ...values) => {
    const at = window.call(name, ...values);
    return at === 0 ? null : UTF8ToString(at);
  };
  window.waitFor = async (holds) => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1));
  };
`;

/** A game that uses the library in a browser. It returns the faults that it finds. */
const GAME = `async (url) => {
  const state = (id) => call('CoinopSocketState', id);
  const next = async (id) => {
    let text = null;
    await waitFor(() => (text = textOf('CoinopSocketNext', id)) !== null || state(id) === 2);
    return text;
  };
  const found = {};
  const id = call('CoinopSocketOpen', url);
  found.opening = state(id);
  call('CoinopSocketSend', id, 'too early');
  await waitFor(() => state(id) !== 0);
  found.open = state(id);
  found.nothing = textOf('CoinopSocketNext', id);
  for (const text of ['one', 'é 😀', '{"two":2}']) call('CoinopSocketSend', id, text);
  found.texts = [await next(id), await next(id), await next(id)];
  call('CoinopSocketSend', id, 'close 4501');
  // What came before the close is still given.
  found.last = await next(id);
  found.end = await next(id);
  found.ended = [state(id), call('CoinopSocketCode', id)];
  call('CoinopSocketClose', id);
  found.closed = [state(id), textOf('CoinopSocketNext', id)];
  const other = call('CoinopSocketOpen', url.replace(/\\d+$/, '9'));
  await waitFor(() => state(other) === 2);
  found.refused = call('CoinopSocketCode', other);
  found.bad = state(call('CoinopSocketOpen', 'ftp://a'));
  found.stored = [call('CoinopStoreSet', 'coinop:a', 'é 😀'), textOf('CoinopStoreGet', 'coinop:a'), textOf('CoinopStoreGet', 'coinop:b')];
  found.keys = textOf('CoinopStoreKeys');
  found.removed = [call('CoinopStoreRemove', 'coinop:a'), textOf('CoinopStoreGet', 'coinop:a')];
  // A page may keep some five million characters.
  found.full = [call('CoinopStoreSet', 'a', 'x'.repeat(4_000_000)), call('CoinopStoreSet', 'b', 'y'.repeat(4_000_000))];
  return found;
}`;

/** The library of the C# client for games of Unity in a browser does in Chromium what the client asks of it. */
export async function proveInBrowser({ figures, closing }: Stand): Promise<void> {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  closing.push(() => sockets.close());
  const seen: string[] = [];
  sockets.on('connection', (socket) =>
    socket.on('message', (data) => {
      seen.push(String(data));
      socket.send(`got ${String(data)}`);
      const code = /^close (\d+)$/.exec(String(data))?.[1];
      if (code) socket.close(Number(code));
    }),
  );
  const site = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end(`<!doctype html><meta charset="utf-8"><script>${STAND_INS}${library}</script>`),
  );
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  closing.push(() => (site.closeAllConnections(), site.close()));
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
  closing.push(() => browser.close());
  const tab = await browser.newPage();
  await tab.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}`);
  const url = `ws://127.0.0.1:${(sockets.address() as AddressInfo).port}`;
  const found = await tab.evaluate(`(${GAME})(${JSON.stringify(url)})`);
  const expected = {
    ...{ opening: 0, open: 1, nothing: null, texts: ['got one', 'got é 😀', 'got {"two":2}'] },
    ...{ last: 'got close 4501', end: null, ended: [2, 4501], closed: [2, null], refused: 1006, bad: 2 },
    ...{ stored: [1, '"é 😀"', 'null'], keys: '["coinop:a"]', removed: [1, 'null'], full: [1, 0] },
  };
  const isRight = JSON.stringify(found) === JSON.stringify(expected);
  if (!isRight) console.log(JSON.stringify(found), JSON.stringify(expected), seen);
  figures.report(
    'coinop.jslib opens, reads, writes and closes sockets, and keeps texts, in Chromium',
    isRight ? 'yes' : 'no',
    'yes',
    isRight,
  );
  figures.exactly('texts that it sent', seen.length, 4);
}
