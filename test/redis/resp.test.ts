import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { ReplyReader, type Reply } from '../../src/redis/resp.ts';

const REPLIES: [text: string, reply: Reply][] = [
  ['*2\r\n$4\r\ndone\r\n$3\r\n123\r\n', ['done', '123']],
  ['*3\r\n$3\r\ntop\r\n$9\r\nZoë 🎲\r\n$6\r\na\r\nb\r\n\r\n', ['top', 'Zoë 🎲', 'a\r\nb\r\n']],
  ['+PONG\r\n', 'PONG'],
  [':-7\r\n', -7],
  ['$-1\r\n', null],
  ['_\r\n', null],
  ['*0\r\n', []],
  ['%1\r\n$5\r\nproto\r\n:3\r\n', ['proto', 3]],
  ['>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$302\r\n' + 'é'.repeat(151) + '\r\n', ['message', 'c', 'é'.repeat(151)]],
  ['*2\r\n*1\r\n:1\r\n$0\r\n\r\n', [[1], '']],
  ['-NOSCRIPT No matching script. Zoë\r\n', new Error('NOSCRIPT No matching script. Zoë')],
];
const bytes = Buffer.from(REPLIES.map(([text]) => text).join(''));
const expected = REPLIES.map(([, reply]) => reply);

test('replies are read whole wherever their bytes are cut into two pieces, in the middle of a character as well', () => {
  for (let cut = 0; cut < bytes.length; cut++) {
    const reader = new ReplyReader();
    expect([...reader.read(bytes.subarray(0, cut)), ...reader.read(bytes.subarray(cut))]).toEqual(expected);
  }
});

test.each([1, 2, 3, 7, 64])('replies are read whole if they come in pieces of %i bytes in the same memory', (size) => {
  const memory = Buffer.alloc(size);
  const reader = new ReplyReader();
  const replies: Reply[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const length = bytes.copy(memory, 0, at, at + size);
    replies.push(...reader.read(memory.subarray(0, length)));
    memory.fill(0);
  }
  expect(replies).toEqual(expected);
});

test('a reply that is kept does not keep the buffer that it came in', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const filler = `$60000\r\n${'x'.repeat(60_000)}\r\n`;
  const reader = new ReplyReader();
  const kept: string[] = [];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 200; index++)
    for (const reply of reader.read(Buffer.from(`*2\r\n$20\r\n${String(index).padStart(20, '0')}\r\n${filler}`)))
      kept.push((reply as string[])[0]!);
  collect();
  expect(kept.at(-1)).toBe('00000000000000000199');
  // Slices would hold 12 MB of buffers.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(4e6);
});

test('a reply of an unknown type is an error', () => {
  expect(() => [...new ReplyReader().read(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))]).toThrow('unknown type: H');
});
