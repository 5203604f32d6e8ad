import { byteException, byteName, casesOf, listed, post, type ByOutcome, type FramingCase } from './case.ts';

/** Values of Content-Length; L stands for the length of the body. RFC 9112, section 6.3; RFC 9110, section 8.6: `1*DIGIT`. */
const values: ByOutcome<string> = {
  served: ['L', '  L', '\tL', 'L \t ', '0L', '00000000000L'],
  refused: [
    '',
    ' ',
    ...listed('+L | -L | -0 | - L | 0xL | 0oL | 0bL | L.0 | .L | Le0 | L_ | _L | 1_0 | 1 0 | 0 L | L L'),
    ...listed('L,L | L, L | L, L, L | 0, L | L, 0 | L, | ,L | L; | L;x=y | "L" | \'L\' | (L) | L%00'),
    ...listed('L\\r\\n | NaN | Infinity | abc | Labc | 99999999999999999999999999 | 18446744073709551616 | 9223372036854775807'),
    '\u00ef\u00bc\u0091',
    '\u00d9\u00a1',
  ],
  'answered 413 last': listed('999999999999999999 | 9999999999 | 4294967296 | 999999999'),
};

const bytes = [0x00, 0x01, 0x08, 0x0b, 0x0c, 0x0d, 0x0a, 0x1f, 0x7f, 0x80, 0x85, 0xa0, 0xff];

const places: [place: string, value: (byte: string) => string][] = [
  ['before', (byte) => `${byte}L`],
  ['after', (byte) => `L${byte}`],
  ['inside', (byte) => `0${byte}L`],
];

const whole = (value: string, body: string): string => value.replaceAll('L', String(body.length));

export const contentLengths: FramingCase[] = [
  ...casesOf(values, (value) => ({
    name: `Content-Length: ${JSON.stringify(value)}`,
    bytes: (body) => post([`Content-Length:${/^[ \t]/.test(value) ? '' : ' '}${whole(value, body)}`], body),
  })),
  ...places.flatMap(([place, value]) =>
    bytes.map((byte): FramingCase => ({
      name: `Content-Length with ${byteName(byte)} ${place}`,
      bytes: (body) => post([`Content-Length: ${whole(value(String.fromCharCode(byte)), body)}`], body),
      expected: 'refused',
      exception: byteException(byte, place, 'served'),
    })),
  ),
  ...(
    [
      ['twice the same', (length) => [`Content-Length: ${length}`, `Content-Length: ${length}`]],
      ['twice, the first shorter', (length) => ['Content-Length: 0', `Content-Length: ${length}`]],
      ['twice, the second shorter', (length) => [`Content-Length: ${length}`, 'Content-Length: 0']],
      ['twice, the first empty', (length) => ['Content-Length:', `Content-Length: ${length}`]],
      ['twice, the second empty', (length) => [`Content-Length: ${length}`, 'Content-Length:']],
      ['three times', (length) => Array<string>(3).fill(`Content-Length: ${length}`)],
      ['twice, in other letters', (length) => [`content-length: ${length}`, `CONTENT-LENGTH: ${length}`]],
      ['folded', (length) => [`Content-Length:\r\n ${length}`]],
      ['with a blank before the colon', (length) => [`Content-Length : ${length}`]],
      ['with a tab before the colon', (length) => [`Content-Length\t: ${length}`]],
      ['with a blank before the name', (length) => [` Content-Length: ${length}`]],
      ['after a bare LF', (length) => [`X: y\nContent-Length: ${length}`]],
      ['after a header without a name', (length) => [': x', `Content-Length: ${length}`]],
      ['after a header without a name or value', (length) => [':', `Content-Length: ${length}`]],
    ] as [string, (length: number) => string[]][]
  ).map(([name, lines]): FramingCase => ({
    name: `Content-Length ${name}`,
    bytes: (body) => post(lines(body.length), body),
    expected: 'refused',
  })),
  {
    name: 'Content-Length after a bare CR',
    bytes: (body) => post([`X: y\rContent-Length: ${body.length}`], body),
    expected: 'refused',
    exception: { why: 'unfinished', seen: 'waits' },
  },
  {
    name: 'Content_Length, another header, after the true one',
    bytes: (body) => post([`Content-Length: ${body.length}`, 'Content_Length: 0'], body),
    expected: 'served',
  },
];
