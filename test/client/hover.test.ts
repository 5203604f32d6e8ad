import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { player } from './player.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

interface Message {
  id?: number;
  method?: string;
  result?: unknown;
}

/** An editor, as TypeScript's language server sees one (the Language Server Protocol 3.17, over standard input and output). */
function openEditor() {
  const server = spawn(`${project}node_modules/.bin/tsc`, ['--lsp', '--stdio'], { cwd: project, stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, (result: unknown) => void>();
  let read = Buffer.alloc(0);
  let lastId = 0;
  const send = (message: object): void => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  const received = ({ id, method, result }: Message): void => {
    // The server sends requests too, for example for the settings of the editor.
    if (method !== undefined) return void (id !== undefined && send({ id, result: null }));
    waiting.get(id!)?.(result);
  };
  server.stdout.on('data', (bytes: Buffer) => {
    read = Buffer.concat([read, bytes]);
    for (;;) {
      const end = read.indexOf('\r\n\r\n');
      const length = Number(/Content-Length: (\d+)/.exec(read.subarray(0, Math.max(end, 0)).toString())?.[1]);
      if (end < 0 || read.length < end + 4 + length) return;
      received(JSON.parse(read.subarray(end + 4, end + 4 + length).toString()) as Message);
      read = read.subarray(end + 4 + length);
    }
  });
  return {
    send,
    ask: (method: string, params: object) =>
      new Promise<unknown>((resolve) => {
        waiting.set(++lastId, resolve);
        send({ id: lastId, method, params });
      }),
    close: () => server.kill(),
  };
}

const editor = openEditor();
afterAll(() => editor.close());
beforeAll(async () => {
  const capabilities = { textDocument: { hover: { contentFormat: ['markdown'] } } };
  await editor.ask('initialize', { processId: process.pid, rootUri: `file://${project}`, capabilities });
  editor.send({ method: 'initialized', params: {} });
});

/** The text that the editor shows beside the type of the last name of each line. */
async function textsOf(head: string, lines: readonly string[]): Promise<string[]> {
  const uri = `file://${project}test/client/shown-${lines.length}.ts`;
  const text = [head, ...lines].join('\n');
  editor.send({ method: 'textDocument/didOpen', params: { textDocument: { uri, languageId: 'typescript', version: 1, text } } });
  const texts = [];
  for (const [index, line] of lines.entries()) {
    const position = { line: index + head.split('\n').length, character: line.length - 1 };
    const shown = (await editor.ask('textDocument/hover', { textDocument: { uri }, position })) as { contents: { value: string } } | null;
    texts.push(shown?.contents.value.split(/\n```\n/)[1] ?? '');
  }
  return texts;
}

test('an editor shows a text for each call of the client', { timeout: 90_000 }, async () => {
  using client = player('http://127.0.0.1:9');
  const features = Object.entries(client).filter(([name, value]) => typeof value === 'object' && !['parts', 'kept'].includes(name));
  const names = features.flatMap(([feature, calls]) =>
    Array.isArray(calls) ? [] : Object.keys(calls as object).map((name) => `client.${feature}.${name}`),
  );
  expect(names.length).toBeGreaterThan(45);
  const texts = await textsOf("import type { Client } from '../../src/client/client.ts';\ndeclare const client: Client;", names);
  expect(names.filter((_, index) => texts[index]!.length < 20)).toEqual([]);
  expect(texts[names.indexOf('client.rooms.transfer')]).toContain('makes another player the host');
});

test('an editor shows a text for each act of a game server', { timeout: 90_000 }, async () => {
  const names = ['read', 'start', 'end', 'kick', 'transfer', 'lock', 'unlock', 'settings', 'state', 'verifyTicket', 'rematch'];
  const lines = names.map((name) => `room.${name}`);
  const texts = await textsOf("import type { HostedRoom } from '../../src/client/server.ts';\ndeclare const room: HostedRoom;", lines);
  expect(lines.filter((_, index) => texts[index]!.length < 20)).toEqual([]);
});
