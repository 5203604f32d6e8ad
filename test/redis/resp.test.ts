import { describe, expect, test } from 'vitest';
import { encodeCommand, ReplyReader, type Reply } from '../../src/redis/resp.ts';

test('a command is its words with their lengths in bytes', () => {
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

describe('replies', () => {
  test('are read as they come', () => {
    expect([...new ReplyReader().read(Buffer.from(STREAM))]).toEqual(REPLIES);
  });

  test('are read whole wherever the pieces are cut, in the middle of a character as well', () => {
    const bytes = Buffer.from(STREAM);
    for (let cut = 1; cut < bytes.length; cut++) {
      const reader = new ReplyReader();
      expect([...reader.read(bytes.subarray(0, cut)), ...reader.read(bytes.subarray(cut))]).toEqual(REPLIES);
    }
    const reader = new ReplyReader();
    expect(Array.from(bytes, (byte) => [...reader.read(Buffer.from([byte]))]).flat()).toEqual(REPLIES);
  });

  test('of another kind are an error, and no guess', () => {
    expect(() => [...new ReplyReader().read(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))]).toThrow('unknown type: H');
  });
});
