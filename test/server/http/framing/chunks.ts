import { casesOf, chunk, post, type ByOutcome, type Exception } from './case.ts';

/** FIRST stands for the first ten bytes of the body, and REST for a chunk that holds the others. */
type Frames = string | ((first: string, rest: string) => string);
type Row = readonly [name: string, frames: Frames, exception?: Exception];

const NO_EXTENSION: Exception = { why: 'extension', seen: 'refused' };
const LONG_EXTENSION: Exception = { why: 'extension', seen: 'waits' };
const NO_TRAILER: Exception = { why: 'trailer', seen: 'answered 505 last' };
const LAX_SIZE: Exception = { why: 'size', seen: 'served last' };
const LAX_END: Exception = { why: 'end', seen: 'served last' };

/** Bodies in chunks. RFC 9112, section 7.1. */
const bodies: ByOutcome<Row> = {
  'served last': [
    ['in two chunks', 'a\r\nFIRST\r\nREST0\r\n\r\n'],
    ['a byte a chunk', (first, rest) => `${[...(first + rest)].map(chunk).join('')}0\r\n\r\n`],
    ['size in capitals', 'A\r\nFIRST\r\nREST0\r\n\r\n'],
    ['size with leading zeros', '00a\r\nFIRST\r\nREST0\r\n\r\n'],
    ['last size of several zeros', 'a\r\nFIRST\r\nREST000\r\n\r\n'],
    ['an extension', 'a;x=y\r\nFIRST\r\nREST0\r\n\r\n', NO_EXTENSION],
    ['an extension without a value', 'a;x\r\nFIRST\r\nREST0\r\n\r\n', NO_EXTENSION],
    ['an extension of hex digits', 'a;a\r\nFIRST\r\nREST0\r\n\r\n', LONG_EXTENSION],
    ['an extension in quotes', 'a;x="y\\"z"\r\nFIRST\r\nREST0\r\n\r\n', NO_EXTENSION],
    ['an extension after a blank', 'a ;x=y\r\nFIRST\r\nREST0\r\n\r\n'],
    ['an extension of the last chunk', 'a\r\nFIRST\r\nREST0;x=y\r\n\r\n', NO_EXTENSION],
    ['a trailer', 'a\r\nFIRST\r\nREST0\r\nX-Sum: 1\r\n\r\n', NO_TRAILER],
    ['a trailer Content-Length', 'a\r\nFIRST\r\nREST0\r\nContent-Length: 5\r\n\r\n', NO_TRAILER],
    ['a trailer Transfer-Encoding', 'a\r\nFIRST\r\nREST0\r\nTransfer-Encoding: chunked\r\n\r\n', NO_TRAILER],
    ['a trailer Host', 'a\r\nFIRST\r\nREST0\r\nHost: evil\r\n\r\n', NO_TRAILER],
    ['a trailer Authorization', 'a\r\nFIRST\r\nREST0\r\nAuthorization: Bearer x\r\n\r\n', NO_TRAILER],
    [
      'trailers that look like a request',
      'a\r\nFIRST\r\nREST0\r\nX:GET /v1/catalogue HTTP/1.1\r\nHost: a\r\n\r\n',
      { why: 'trailer', seen: 'dropped' },
    ],
    ['JSON in lines', (first, rest) => chunk(`${(first + rest).slice(0, -1)},\r\n"a": [\r\n  3\r\n]\r\n}\r\n`) + '0\r\n\r\n'],
  ],
  refused: [
    ['no size', '\r\nFIRST\r\nREST0\r\n\r\n'],
    ['an empty line before the last chunk', 'a\r\nFIRST\r\nREST\r\n0\r\n\r\n', LAX_SIZE],
    ['an empty line for the last chunk', 'a\r\nFIRST\r\nREST\r\n\r\n', LAX_SIZE],
    ['size g', (first, rest) => `g\r\n${(first + rest).slice(0, 16)}\r\n${chunk((first + rest).slice(16))}0\r\n\r\n`, LAX_SIZE],
    ...['0xa', '+a', '-a', '-1', '0_a', 'a.', '"a"', 'a,', ' a', '\ta', '1000000000000000a', 'ffffffffffffffff'].map((size): Row => [
      `size ${JSON.stringify(size)}`,
      `${size}\r\nFIRST\r\nREST0\r\n\r\n`,
    ]),
    ...[':', 'a ', 'a x', 'a\0', 'a\u00ff'].map((size): Row => [
      `size ${JSON.stringify(size)}`,
      `${size}\r\nFIRST\r\nREST0\r\n\r\n`,
      LAX_SIZE,
    ]),
    ['a bare semicolon', 'a;\r\nFIRST\r\nREST0\r\n\r\n', LONG_EXTENSION],
    ['an extension without a name', 'a;=y\r\nFIRST\r\nREST0\r\n\r\n'],
    ['an extension with a control', 'a;x\u0001\r\nFIRST\r\nREST0\r\n\r\n'],
    ['an extension with a bare CR', 'a;x\ry\r\nFIRST\r\nREST0\r\n\r\n'],
    ['an extension with a bare LF', 'a;x\nFIRST\r\nREST0\r\n\r\n'],
    ['a bare LF after the size', 'a\nFIRST\r\nREST0\r\n\r\n', LAX_SIZE],
    ['a bare CR after the size', 'a\rFIRST\r\nREST0\r\n\r\n'],
    ['a bare LF after the data', 'a\r\nFIRST\nREST0\r\n\r\n'],
    ['a bare CR after the data', 'a\r\nFIRST\rREST0\r\n\r\n'],
    ['two other bytes after the data', 'a\r\nFIRSTXXREST0\r\n\r\n', { why: 'separator', seen: 'served last' }],
    ['nothing after the data', 'a\r\nFIRSTREST0\r\n\r\n'],
    ['data longer than its size', '9\r\nFIRST\r\nREST0\r\n\r\n'],
    ['data much longer than its size', '1\r\nFIRST\r\nREST0\r\n\r\n'],
    ['a bare LF for the last CRLF', 'a\r\nFIRST\r\nREST0\r\n\n', LAX_END],
    ['a bare LF after the last size', 'a\r\nFIRST\r\nREST0\n\r\n', LAX_END],
    ['bare LFs at the end', 'a\r\nFIRST\r\nREST0\n\n', LAX_END],
    ['two other bytes for the last CRLF', 'a\r\nFIRST\r\nREST0\r\nXX', LAX_END],
    ['a trailer that ends with a bare LF', 'a\r\nFIRST\r\nREST0\r\nX: y\n\r\n', NO_TRAILER],
    ['a trailer with a blank before the colon', 'a\r\nFIRST\r\nREST0\r\nX : y\r\n\r\n', NO_TRAILER],
    ['no body', '0\r\n\r\n'],
    [
      'JSON that holds the framing of chunks',
      (first, rest) => chunk(`${(first + rest).slice(0, -1)},"a":[ \r\n3\r\n,1,\r\n0\r\n]}`) + '0\r\n\r\n',
    ],
  ],
  waits: [
    ['a size beyond 32 bits', '10000000a\r\nFIRST\r\nREST0\r\n\r\n'],
    ['no last CRLF', 'a\r\nFIRST\r\nREST0\r\n', LAX_END],
    ['no last chunk', 'a\r\nFIRST\r\nREST'],
    ['half a chunk', '20\r\nFIRST'],
    ['a size without its line end', 'a'],
    ['nothing at all', ''],
  ],
};

const framed = (frames: Frames, first: string, rest: string): string =>
  typeof frames === 'string' ? frames.replace('FIRST', first).replace('REST', chunk(rest)) : frames(first, rest);

export const chunks = casesOf(bodies, ([name, frames, exception]) => ({
  name: `chunks: ${name}`,
  bytes: (body) => post(['Transfer-Encoding: chunked'], framed(frames, body.slice(0, 10), body.slice(10))),
  exception,
}));
