import { byteException, byteName, casesOf, chunked, listed, post, type ByOutcome, type FramingCase } from './case.ts';

const coded = (codings: string): string[] => listed(codings).map((coding) => `Transfer-Encoding: ${coding}`);

/** Header lines by which a body is chunked, or looks chunked. RFC 9112, sections 6.1 and 6.3. */
const lines: ByOutcome<string> = {
  'served last': [
    ...listed('Transfer-Encoding: chunked | transfer-encoding: chunked | TRANSFER-ENCODING: chunked | tRANSFER-eNCODING: chunked'),
    ...listed('Transfer-Encoding:chunked | Transfer-Encoding:  chunked | Transfer-Encoding:\tchunked'),
    ...['Transfer-Encoding: chunked ', 'Transfer-Encoding: chunked\t'],
    ...coded('Chunked | CHUNKED | cHuNkeD'),
    'Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked',
  ],
  refused: [
    'Transfer-Encoding:',
    ...coded('identity | gzip | cow | xchunked | chunkedx | chunk | "chunked" | \'chunked\' | chunked;q=1 | chunked; x'),
    ...coded('chunked, identity | identity, chunked | gzip, chunked | chunked, gzip | chunked, chunked | chunked chunked'),
    ...coded('identity, chunked, identity | cow chunked bar | ,chunked | chunked, | chun\u00e2\u0084\u00aaed | ch\u0096nked'),
    ...coded('=?iso-8859-1?B?Y2h1bmtlZA==?= | =?UTF-8?B?Y2h1bmtlZA==?= | chunked\r\n , identity'),
    ...['chunked', 'identity', 'cow'].map((coding) => `Transfer-Encoding: ${coding}\r\nTransfer-Encoding: chunked`),
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    'Transfer-Encoding:\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding:',
    ...['\r\n ', '\r\n\t', '\n ', '\n\u000b', '\r\n \r\n '].map((fold) => `Transfer-Encoding:${fold}chunked`),
    ...listed('Transfer-Encoding\n : chunked | Transfer-Encoding : chunked | Transfer-Encoding\t: chunked | Transfer-Encoding x: chunked'),
    ...listed('Transfer Encoding: chunked | Transfer Encoding:chunked | Transfer\\Encoding: chunked | Transfer_Encoding: chunked'),
    ...listed('Transfer-%45ncoding: chunked | Transf\u0082r-Encoding: chunked | Transfer\u00adEncoding: chunked'),
    ...listed('Tra\rnsfer-Encoding: chunked | Transfer\r-Encoding: chunked | Transfer\0Encoding: chunked'),
    ...[' ', '\t', 'Foo: bar\r\n ', 'Foo: bar\r\n\t', 'Foo: bar\n', 'Foo: bar\r\n\r', 'Foo: bar\n\n', 'X:X\n', ': x\r\n'].map(
      (before) => `${before}Transfer-Encoding: chunked`,
    ),
    'TE: chunked',
  ],
  'answered 415 last': ['Content-Encoding: chunked'],
};

/** The bytes that smuggler puts in these places, one of each kind. */
const bytes = [0x00, 0x01, 0x04, 0x08, 0x0a, 0x0b, 0x0c, 0x0d, 0x1f, 0x7f, 0x80, 0x85, 0xa0, 0xad, 0xff];

const places: [place: string, line: (byte: string) => string][] = [
  ['before the name', (byte) => `${byte}Transfer-Encoding: chunked`],
  ['after the name', (byte) => `Transfer-Encoding${byte}: chunked`],
  ['before the value', (byte) => `Transfer-Encoding:${byte}chunked`],
  ['after the value', (byte) => `Transfer-Encoding: chunked${byte}`],
  ['inside the value', (byte) => `Transfer-Encoding: chu${byte}nked`],
];

/** With a Content-Length besides, where L is the length of the frame: always refused (RFC 9112, section 6.1). */
const both: [name: string, lines: string][] = [
  ['the length of the frame first', 'Content-Length: L\r\nTransfer-Encoding: chunked'],
  ['the coding first', 'Transfer-Encoding: chunked\r\nContent-Length: L'],
  ['a length of 0', 'Content-Length: 0\r\nTransfer-Encoding: chunked'],
  ['a length of 4', 'Content-Length: 4\r\nTransfer-Encoding: chunked'],
  ['an empty length', 'Content-Length:\r\nTransfer-Encoding: chunked'],
  ['a length that is none', 'Content-Length: x\r\nTransfer-Encoding: chunked'],
  ['a signed length', 'Content-Length: +L\r\nTransfer-Encoding: chunked'],
  ['an empty coding', 'Content-Length: L\r\nTransfer-Encoding:'],
  ['identity', 'Content-Length: L\r\nTransfer-Encoding: identity'],
  ['another case', 'Content-Length: L\r\nTransfer-Encoding: Chunked'],
  ['a leading comma', 'Content-Length: L\r\nTransfer-Encoding: ,chunked'],
  ['a folded coding', 'Content-Length: L\r\nTransfer-Encoding:\r\n chunked'],
  ['a coding with 0xff before', 'Content-Length: L\r\nTransfer-Encoding: \u00ffchunked'],
  ['two codings', 'Content-Length: L\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: chunked'],
  ['close', 'Content-Length: L\r\nTransfer-Encoding: chunked\r\nConnection: close'],
  ['two lengths', 'Content-Length: L\r\nTransfer-Encoding: chunked\r\nContent-Length: 0'],
];

export const transferEncodings: FramingCase[] = [
  ...casesOf(lines, (line) => ({ name: JSON.stringify(line), bytes: (body) => post([line], chunked(body)) })),
  ...['Foo: bar', 'X:X'].map((line): FramingCase => ({
    name: `${line}, a bare CR and Transfer-Encoding`,
    bytes: (body) => post([`${line}\rTransfer-Encoding: chunked`], chunked(body)),
    expected: 'refused',
    exception: { why: 'unfinished', seen: 'waits' },
  })),
  ...places.flatMap(([place, line]) =>
    bytes.map((byte): FramingCase => ({
      name: `Transfer-Encoding with ${byteName(byte)} ${place}`,
      bytes: (body) => post([line(String.fromCharCode(byte))], chunked(body)),
      expected: 'refused',
      exception: byteException(byte, place, 'served last'),
    })),
  ),
  ...both.map(([name, lengthAndCoding]): FramingCase => ({
    name: `Content-Length with Transfer-Encoding: ${name}`,
    bytes: (body) => post([lengthAndCoding.replace(/(?<=: \+?)L/, String(chunked(body).length))], chunked(body)),
    expected: 'refused',
  })),
];
