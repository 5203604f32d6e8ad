import { casesOf, chunked, listed, post, type ByOutcome, type Exception, type FramingCase, type Outcome } from './case.ts';

const NO_REQUEST_LINE: Exception = { why: 'no request line', seen: 'answered 505 last' };
const UNFINISHED: Exception = { why: 'unfinished', seen: 'waits' };
const HEAD_SIZE: Exception = { why: 'head size', seen: 'answered 431 last' };

const posted = (lines: string[], body: string, requestLine?: string): string =>
  post([...lines, `Content-Length: ${body.length}`], body, requestLine);
const hosted = (hosts: string[], body: string): string =>
  ['POST /v1/coins/credit HTTP/1.1', ...hosts, 'Content-Type: application/json', `Content-Length: ${body.length}`, '', body].join('\r\n');

/** Each entry of a list as the only header line of a case. */
const each = (lines: string): string[][] => listed(lines).map((line) => [line]);
const hostsOf = (hosts: string): string[][] => listed(hosts).map((host) => [`Host: ${host}`]);

/** Header lines in place of Host. RFC 9112, section 3.2; RFC 9110, section 7.2. */
const hosts: ByOutcome<string[]> = {
  served: hostsOf('x | X.Example | x:8080 | x: | 127.0.0.1:3000 | [::1]:3000 | xn--bcher-kva.example | under_score.example | a%20b'),
  refused: [
    [],
    ['Host:'],
    ['Host: x', 'Host: x'],
    ['Host: x', 'Host: y'],
    ['Host:', 'Host: x'],
    ['Host: x', 'Host:'],
    ...hostsOf('x, y | x y | x/path | user@x | user:password@x | http://x | x?q | x#f | x\\y | x:80:80 | x:eighty | x:123456 | [::1 | ::1'),
    ...hostsOf(`<x> | "x" | a%2 | a\u0000 | a\u007fb | a\u00ffb | ${'a'.repeat(260)}`),
    ['Host : x'],
    [' Host: x'],
    ['X: y', ' Host: x'],
    [': y', 'Host: x'],
  ],
};

/** RFC 9110, sections 5.1 and 5.5; RFC 9112, section 5. */
const fields: ByOutcome<string[]> = {
  served: [
    ['X-Long: ' + 'a'.repeat(8000)],
    ...each('X: tab\tinside | X: | Connection: keep-alive | Expect: 100-continue | Expect: something-else | Range: bytes=0-0'),
    ...each("X_Y: underscore | X!#$%&'*+.^`|~Y: token"),
    ['Upgrade: h2c', 'Connection: Upgrade'],
    ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
  ],
  'served last': [
    ...each('Connection: close | Connection: Close | Connection: keep-alive, close | Connection: close, keep-alive | Connection: abcde'),
    ['Connection: keep-alive', 'Connection: close'],
  ],
  refused: [
    ...each('no colon | NoColon | : no name | X Y: blank in the name | X\u0001: control in the name | X\u00ffY: byte in the name'),
    ...each('X(Y): no token | X: y\r\n folded | X: y\r\n\tfolded | X: a\u0000b | X: a\u0001b | X: a\u0008b | X: a\u000bb | X: a\u001bb'),
    ...each('X: a\nb | X: a\nY: b | \r | Content-Type: application/json | Content-Type: text/plain'),
    ['Origin: http://x', 'Origin: http://evil.example'],
    ['Origin:', 'Origin: http://x'],
    ['Authorization: Bearer a', 'Authorization: Bearer b'],
    ['X-Install-Id: install-one', 'X-Install-Id: install-two'],
    ['X-Device-Id: device-one', 'X-Device-Id: device-two'],
  ],
  'answered 431 last': [Array.from({ length: 120 }, (_, index) => `X${index}: y`), ['X: ' + 'a'.repeat(17_000)]],
};

/** RFC 9112, sections 2.2, 2.3 and 3. */
const requestLines: ByOutcome<string> = {
  served: ['POST /v1/coins/credit?x=y HTTP/1.1'],
  'answered 405 last': ['post', 'PosT', 'PUT', 'TRACE', 'GET', 'HEAD'].map((method) => `${method} /v1/coins/credit HTTP/1.1`),
  'answered 404 last': [
    ...listed('/v1/coins/credit#fragment | /v1/coins/credit%00 | /v1/coins/credit%0d%0aX:y | //v1/coins/credit'),
    ...listed('/v1/../v1/coins/credit | /v1\\coins\\credit | /v1/coins/credit\u00ff'),
  ].map((target) => `POST ${target} HTTP/1.1`),
  'answered 505 last': ['1.0', '1.2', '2.0', '9.9'].map((version) => `POST /v1/coins/credit HTTP/${version}`),
};

/** Lines that are no request line to uWS. */
const noRequestLines = [
  ...listed('POST * HTTP/1.1 | POST  /v1/coins/credit HTTP/1.1 | POST\t/v1/coins/credit HTTP/1.1 | POST /v1/coins/credit  HTTP/1.1'),
  ...listed('POST /v1/coins/credit\tHTTP/1.1 | POST /v1/coins/ credit HTTP/1.1 | POST /v1/coins/credit\u0000 HTTP/1.1 | POST HTTP/1.1'),
  ...['POST /v1/coins/credit HTTP/1.1 ', ' POST /v1/coins/credit HTTP/1.1'],
  ...listed('HTTP/1 | HTTP/01.1 | http/1.1 | HTTP/ 1.1 | HTTPS/1.1 | HTTP/1.1\nX: y | HTTP/1.1\rX: y').map(
    (version) => `POST /v1/coins/credit ${version}`,
  ),
  ...listed('\u0016\u0003\u0001 not TLS | PRI * HTTP/2.0'),
];

/** Cases for which uWS has another outcome than the RFCs. */
const exceptions: [name: string, bytes: (body: string) => string, expected: Outcome, exception: Exception][] = [
  ['a host that ends in 0xff', (body) => hosted(['Host: x\u00ff'], body), 'refused', { why: 'trimmed', seen: 'served' }],
  ['a DEL in a header', (body) => posted(['X: a\u007fb'], body), 'refused', { why: 'DEL', seen: 'served' }],
  ['a bare CR in a header', (body) => posted(['X: a\rb'], body), 'refused', UNFINISHED],
  ...['http://x', 'https://evil.example'].map((origin): (typeof exceptions)[number] => [
    `a target that begins with ${origin}`,
    (body) => posted([], body, `POST ${origin}/v1/coins/credit HTTP/1.1`),
    'served',
    { why: 'absolute form', seen: 'answered 505 last' },
  ]),
  ['an empty line first', (body) => posted([], body, '\r\nPOST /v1/coins/credit HTTP/1.1'), 'served', UNFINISHED],
  ['no version', (body) => posted([], body, 'POST /v1/coins/credit'), 'refused', UNFINISHED],
  ['a method alone', (body) => posted([], body, 'POST'), 'refused', UNFINISHED],
  ['a long target', (body) => posted([], body, `POST /${'a'.repeat(17_000)} HTTP/1.1`), 'answered 414 last', HEAD_SIZE],
  ['a long method', (body) => posted([], body, `${'P'.repeat(17_000)} / HTTP/1.1`), 'refused', HEAD_SIZE],
  ...noRequestLines.map((line): (typeof exceptions)[number] => [
    `request line: ${JSON.stringify(line)}`,
    (body) => posted([], body, line),
    'refused',
    NO_REQUEST_LINE,
  ]),
  ['bare CRs for all line ends', (body) => posted([], body).replaceAll('\r\n', '\r'), 'refused', NO_REQUEST_LINE],
  ['bare LFs for all line ends', (body) => posted([], body).replaceAll('\r\n', '\n'), 'refused', NO_REQUEST_LINE],
  ['binary nonsense', () => '\u0000\u0001\u0002\u00ff'.repeat(50), 'refused', NO_REQUEST_LINE],
];

const nameOf = (lines: string | string[]): string => JSON.stringify(lines).slice(0, 60);

export const headerFields: FramingCase[] = [
  ...casesOf(hosts, (lines) => ({ name: `host: ${nameOf(lines)}`, bytes: (body) => hosted(lines, body) })),
  ...casesOf(fields, (lines) => ({ name: `field: ${nameOf(lines)}`, bytes: (body) => posted(lines, body) })),
  ...casesOf(requestLines, (line) => ({ name: `request line: ${nameOf(line)}`, bytes: (body) => posted([], body, line) })),
  ...exceptions.map(([name, bytes, expected, exception]) => ({ name, bytes, expected, exception })),
  { name: 'no length and no coding', bytes: () => post(['X: y'], ''), expected: 'refused' },
  { name: 'a length of 0', bytes: () => post(['Content-Length: 0'], ''), expected: 'answered 400' },
  { name: 'a body that does not come', bytes: (body) => post([`Content-Length: ${body.length}`], ''), expected: 'waits' },
  { name: 'half a body', bytes: (body) => post([`Content-Length: ${body.length}`], body.slice(0, 9)), expected: 'waits' },
  { name: 'half a head', bytes: () => 'POST /v1/coins/credit HTTP/1.1\r\nHost: x\r\n', expected: 'waits' },
  {
    name: 'a body larger than 16 KiB in chunks',
    bytes: () => post(['Transfer-Encoding: chunked'], chunked(' '.repeat(17_000))),
    expected: 'answered 413 last',
  },
  {
    name: 'a media type that is none, in chunks',
    bytes: (body) => post(['Transfer-Encoding: chunked'], chunked(body)).replace('application/json', 'text/plain'),
    expected: 'answered 415 last',
  },
];
