import type { Endpoint } from '../../../src/server/http/endpoint.ts';
import type { Services } from '../../../src/declare.ts';
import { filled, nameOf, validRequests, type Fields } from '../../valid-requests.ts';

/** A request to be measured, in its bytes. */
export interface Case {
  readonly name: string;
  readonly request: Buffer;
  /** Another request, which is sent in turn with that one. */
  readonly other?: Buffer;
}

/** The largest body that the service reads at most endpoints, and the longest URL or header that uWS takes beside the other headers. */
const BODY_BYTES = 16 * 1024;
const HEADER_BYTES = 3400;

/** Repeats a text that is costly to normalise, compare or encode up to this many bytes. */
const fill = (unit: string, bytes: number): string => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));

/** Combining marks in the wrong order: NFC moves each of the second half past the whole first half. */
const UNORDERED_MARKS = fill('\u0301', HEADER_BYTES / 2) + fill('\u0323', HEADER_BYTES / 2);

export function get(path: string, headers: Record<string, string> = {}): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${headerLines(headers)}\r\n`);
}

export function post(path: string, body: string, headers: Record<string, string> = {}, mediaType = 'application/json'): Buffer {
  const lines = headerLines({ 'content-type': mediaType, 'content-length': String(Buffer.byteLength(body)), ...headers });
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines}\r\n${body}`);
}

function headerLines(headers: Record<string, string>): string {
  return Object.entries({ host: '127.0.0.1', ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}

/** JSON values that fill a body. */
function hostileValues(bytes: number): [name: string, json: string][] {
  return [
    ['combining marks', `"${fill('\u0301\u0323', bytes)}"`],
    ['combining marks, escaped', `"${fill('\\u0301', bytes)}"`],
    ['unordered marks', `"${fill('\u0301', bytes / 2)}${fill('\u0323', bytes / 2)}"`],
    ['Hangul that composes', `"${fill('\u1112\u1161\u11ab', bytes)}"`],
    ['blanks', `"${fill(' ', bytes)}"`],
    ['joiners', `"${fill('\u200d', bytes)}"`],
    ['printable ASCII', `"${fill('a', bytes)}"`],
    ['lists in lists', fill('[', bytes / 2) + fill(']', bytes / 2)],
    ['objects in objects', `${fill('{"a":', bytes / 6)}1${'}'.repeat(Math.floor(Math.floor(bytes / 6) / 5))}`],
    ['lists side by side', `[${fill('[],', bytes - 4)}0]`],
    ['31 deep, over and over', `[${fill(`${'['.repeat(29)}${']'.repeat(29)},`, bytes - 4)}0]`],
    ['digits', fill('9', bytes)],
    ['small numbers', `[${fill('1e-300,', bytes - 4)}0]`],
  ];
}

/** Bodies that are hostile to every endpoint. */
function hostileBodies(bytes: number): [name: string, json: string][] {
  const fields = Array.from({ length: 1100 }, (_, index) => `"field${index}":[]`).join(',');
  return [
    ['nothing but brackets', fill('[', bytes)],
    ['a thousand fields', `{${fields}}`],
    ['one field a thousand times', `{${fill('"installId":1,', bytes - 20)}"a":1}`],
    ['a field name that fills the body', `{"${fill('\u0301', bytes - 20)}":1}`],
    ['no JSON', fill('{"a', bytes)],
  ];
}

/** For each field of the body a request in which that field is hostile, and the others are as in `valid`. */
export function bodyCases(endpoint: Endpoint<Services>, path: string, valid: Fields): Case[] {
  if (endpoint.form === true) {
    const mediaType = 'application/x-www-form-urlencoded';
    return ['a&', '%CC%81', 'assertion=a&', '+'].map((unit) => ({
      name: `a form of ${unit}`,
      request: post(path, fill(unit, BODY_BYTES), {}, mediaType),
    }));
  }
  const { bytes = BODY_BYTES } = endpoint.bodyBounds ?? {};
  const cases = hostileBodies(bytes).map(([name, json]) => ({ name, request: post(path, json) }));
  for (const field of Object.keys(endpoint.body?.shape ?? {})) {
    const others = JSON.stringify({ ...valid, [field]: undefined }).slice(1, -1);
    for (const [name, json] of hostileValues(bytes - others.length - field.length - 20))
      cases.push({ name: `${field}: ${name}`, request: post(path, `{${others}${others === '' ? '' : ','}"${field}":${json}}`) });
  }
  return cases;
}

/** Hostile texts for a URL or a header. */
export const hostileTexts: [name: string, text: string][] = [
  ['percent-encoded marks', fill('%CC%81%CC%A3', HEADER_BYTES)],
  ['percent signs', fill('%', HEADER_BYTES)],
  ['commas', fill(',', HEADER_BYTES)],
  ['semicolons', fill(';a', HEADER_BYTES)],
  ['letters', fill('a', HEADER_BYTES)],
  ['dots', fill('a.', HEADER_BYTES)],
];

/** For each path parameter and each field of the query a request in which it is hostile. */
export function urlCases(endpoint: Endpoint<Services>): Case[] {
  const send = (path: string): Buffer => (endpoint.method === 'GET' ? get(path) : post(path, '{}'));
  const { params, query } = endpoint;
  // The query is left out: each case adds its own.
  const fields = validRequests[nameOf(endpoint)]!;
  const path = filled(endpoint.path, fields);
  const cases: Case[] = [{ name: 'a query of ampersands', request: send(`${path}?${fill('a&', HEADER_BYTES)}`) }];
  for (const [name, text] of hostileTexts) {
    for (const field of Object.keys(query?.shape ?? {}))
      cases.push({ name: `?${field}= ${name}`, request: send(`${path}?${field}=${text}`) });
    for (const field of Object.keys(params?.shape ?? {}))
      cases.push({ name: `{${field}}: ${name}`, request: send(filled(endpoint.path, { ...fields, [field]: text })) });
  }
  return cases;
}

/** For each of these headers a request in which it is hostile. */
export function headerCases(names: readonly string[], path: string, body: string): Case[] {
  return names.flatMap((name) => {
    const values: [string, string][] = [
      ...hostileTexts,
      ['an origin of unordered marks', `http://a${UNORDERED_MARKS}.example`],
      ['a host of unordered marks', `a${UNORDERED_MARKS}.example`],
      ['an origin of encoded marks', `http://a${fill('%CC%81', HEADER_BYTES / 2)}${fill('%CC%A3', HEADER_BYTES / 2)}.example`],
      ['punycode', `http://${fill('xn--', HEADER_BYTES)}.example`],
      ['a host of labels', `http://${fill('a.', HEADER_BYTES)}example`],
      ['cookies', fill('svc_session=a; ', HEADER_BYTES)],
      ['a token', `svc_session=${Buffer.from(`{"alg":"HS256","x":${fill('[', 1800)}`).toString('base64url')}.e30.AAAA`],
      ['addresses', fill('127.0.0.1,', HEADER_BYTES)],
      ['long addresses', fill('[2001:db8::1]:80,', HEADER_BYTES)],
      ['tags', fill('W/"a",', HEADER_BYTES)],
      ['escaped quotes', fill('\\"', HEADER_BYTES)],
    ];
    return values.map(([what, value]) => {
      // The service looks at some headers only beside a cookie and an origin.
      const company = { cookie: 'svc_session=a', origin: 'http://127.0.0.1', 'sec-websocket-version': '13' };
      return { name: `${name}: ${what}`, request: requestWith(name, value, company, path, body) };
    });
  });
}

/** Requests with a hostile bearer. */
export function bearerCases(): Case[] {
  const encoded = (json: string): string => Buffer.from(json).toString('base64url');
  const signature = `${'a'.repeat(42)}A`;
  const tokens: [name: string, token: string][] = [
    ...hostileTexts,
    ['blanks', `${fill(' ', HEADER_BYTES)}a`],
    ['a long token', `${encoded('{"alg":"HS256"}')}.${fill('a', HEADER_BYTES)}.${signature}`],
    ['a token of lists', `${encoded('{"alg":"HS256"}')}.${encoded(fill('[', 600))}.${signature}`],
    ['a header of lists', `${encoded(`{"alg":"HS256","x":${fill('[', 500)}`)}.e30.${signature}`],
    ['a long server key', `coinop_sk_${fill('a', HEADER_BYTES)}`],
    ['a server key of separators', `coinop_sk_${'_'.repeat(41)}`],
  ];
  return tokens.map(([what, token]) => ({
    name: `a bearer: ${what}`,
    request: get('/v1/session', { authorization: `Bearer ${token}`, cookie: 'svc_session=a', origin: 'http://elsewhere.example' }),
  }));
}

function requestWith(name: string, value: string, company: Record<string, string>, path: string, body: string): Buffer {
  // A body with a wrong length or coding would never end, so these requests have none.
  if (name === 'content-length' || name === 'transfer-encoding') return get(path, { ...company, [name]: value });
  return post(path, body, { ...company, [name]: value });
}
