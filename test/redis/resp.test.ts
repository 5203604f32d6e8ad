import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { encodeCommand, ReplyReader, type Reply } from '../../src/redis/resp.ts';

test('a command is encoded as its words with their lengths in bytes', () => {
  expect(encodeCommand('EVALSHA', ['ab', 1, '{a}:ledger', 'Zoë 🎲', '', -5])).toBe(
    '*7\r\n$7\r\nEVALSHA\r\n$2\r\nab\r\n$1\r\n1\r\n$10\r\n{a}:ledger\r\n$9\r\nZoë 🎲\r\n$0\r\n\r\n$2\r\n-5\r\n',
  );
});

const STREAM = [
  '*2\r\n$4\r\ndone\r\n$3\r\n123\r\n',
  '*3\r\n$3\r\ntop\r\n$9\r\nZoë 🎲\r\n$6\r\na\r\nb\r\n\r\n',
  '+PONG\r\n',
  ':-7\r\n',
  '$-1\r\n',
  '_\r\n',
  '*0\r\n',
  '>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$302\r\n' + 'é'.repeat(151) + '\r\n',
  '*2\r\n*1\r\n:1\r\n$0\r\n\r\n',
  '-NOSCRIPT No matching script. Zoë\r\n',
].join('');

const REPLIES: Reply[] = [
  ['done', '123'],
  ['top', 'Zoë 🎲', 'a\r\nb\r\n'.slice(0, 6)],
  'PONG',
  -7,
  null,
  null,
  [],
  ['message', 'c', 'é'.repeat(151)],
  [[1], ''],
  new Error('NOSCRIPT No matching script. Zoë'),
];

describe('a reply', () => {
  test('of each type is read', () => {
    expect([...new ReplyReader().read(Buffer.from(STREAM))]).toEqual(REPLIES);
  });

  test('is read whole wherever its bytes are cut into pieces, in the middle of a character as well', () => {
    const bytes = Buffer.from(STREAM);
    for (let cut = 1; cut < bytes.length; cut++) {
      const reader = new ReplyReader();
      expect([...reader.read(bytes.subarray(0, cut)), ...reader.read(bytes.subarray(cut))]).toEqual(REPLIES);
    }
    const reader = new ReplyReader();
    expect(Array.from(bytes, (byte) => [...reader.read(Buffer.from([byte]))]).flat()).toEqual(REPLIES);
  });

  test('is read whole if all its pieces come in the same memory', () => {
    const bytes = Buffer.from(STREAM);
    for (const size of [1, 2, 3, 7, 64]) {
      const memory = Buffer.alloc(size);
      const reader = new ReplyReader();
      const replies: Reply[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        const length = bytes.copy(memory, 0, at, at + size);
        replies.push(...reader.read(memory.subarray(0, length)));
        memory.fill(0);
      }
      expect(replies).toEqual(REPLIES);
    }
  });

  test('that is kept does not keep the buffer that it came in', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const filler = `$60000\r\n${'x'.repeat(60_000)}\r\n`;
    const reader = new ReplyReader();
    const kept: string[] = [];
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 200; index++) {
      for (const reply of reader.read(Buffer.from(`*2\r\n$20\r\n${String(index).padStart(20, '0')}\r\n${filler}`))) {
        kept.push((reply as string[])[0]!);
      }
    }
    collect();
    expect(kept.at(-1)).toBe('00000000000000000199');
    // Slices would hold 12 MB of buffers.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(4e6);
  });

  test('of an unknown type is an error', () => {
    expect(() => [...new ReplyReader().read(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))]).toThrow('unknown type: H');
  });
});
