/**
 * A request whose end can be put in doubt, and the answer that RFC 9110 and RFC 9112 ask for.
 *
 * The ideas are those of Http11Probe, http-garden, smuggler and PortSwigger's HTTP Request Smuggler. Every case is a credit
 * of coins, so that an execution shows in the ledger. The test sends each case three times: alone, with a second credit in
 * the same bytes, and with the second credit after the answer. The second credit must never run.
 */
export interface FramingCase {
  readonly name: string;
  /** The request, one byte a character. */
  readonly bytes: (body: string) => string;
  readonly expected: Outcome;
  /** uWebSockets.js answers before the service sees the request, or hides bytes from the service. */
  readonly exception?: Exception;
}

/**
 * `served`: 200, executed, and the connection stays open; `served last`: then closed. `answered 404`: not executed, but the
 * end of the request is beyond doubt, so the connection stays open; `answered 404 last`: then closed. `refused`: 400, not
 * executed, closed. `dropped`: closed without an answer. `waits`: neither answered nor closed; uWS closes it after 10 s.
 */
export type Outcome = 'served' | 'served last' | 'refused' | `answered ${number}` | `answered ${number} last` | 'dropped' | 'waits';

export interface Exception {
  readonly why: keyof typeof reasons;
  /** On both builds, 20.51.4 and 20.69.0: no case tells them apart. */
  readonly seen: Outcome;
}

export const reasons = {
  'no request line':
    'uWS answers 505 to a first line that is no `METHOD /path HTTP/1.1`, before the service sees it. Only the status is wrong.',
  'absolute form': 'uWS answers 505 to a target that does not begin with a slash. RFC 9112, section 3.2.2, wants it served.',
  unfinished: 'uWS takes a CR without LF, and a line end before the request, for an unfinished head. It waits, and closes after 10 s.',
  'head size': 'uWS has one bound for request line and headers, and one status.',
  trimmed: 'uWS trims bytes of 0x80 and above off both ends of a header value. The service is given the value without them.',
  DEL: 'uWS lets DEL pass. The service checks only the values that it uses.',
  extension: 'uWS reads the extension of a chunk as digits of its size, and answers 400 or waits for that much data.',
  size: 'uWS reads the size of a chunk laxly, and hands over the data without the size.',
  separator: 'uWS drops the two bytes after the data of a chunk, whatever they are.',
  end: 'uWS ends the body at the size 0 and drops two bytes. The service learns neither whether they came nor their values.',
  trailer: 'uWS takes trailers, but for two bytes, for the next request. It answers 505 or closes, and the service runs neither request.',
} as const;

/** A credit with these header lines. */
export function post(lines: readonly string[], body: string, requestLine = 'POST /v1/coins/credit HTTP/1.1'): string {
  return [requestLine, 'Host: x', 'Content-Type: application/json', ...lines, '', body].join('\r\n');
}

export function chunk(data: string): string {
  return `${data.length.toString(16)}\r\n${data}\r\n`;
}

export function chunked(body: string): string {
  return `${chunk(body)}0\r\n\r\n`;
}

export function byteName(byte: number): string {
  return `0x${byte.toString(16).padStart(2, '0')}`;
}

/** What uWS does with a byte before, after or inside a header value. */
export function byteException(byte: number, place: string, otherwise: Outcome): Exception | undefined {
  if (place.endsWith('the name')) return undefined;
  if (byte === 0x0d) return { why: 'unfinished', seen: 'waits' };
  return byte >= 0x80 && !place.startsWith('inside') ? { why: 'trimmed', seen: otherwise } : undefined;
}

/** The entries of a list in one text, with ` | ` between them. */
export function listed(text: string): string[] {
  return text.split(' | ');
}

export type ByOutcome<Case> = { readonly [Expected in Outcome]?: readonly Case[] };

/** Makes cases from entries that stand below the outcome that they ought to have. */
export function casesOf<Case>(
  entries: ByOutcome<Case>,
  make: (entry: Case) => Pick<FramingCase, 'name' | 'bytes' | 'exception'>,
): FramingCase[] {
  return Object.entries(entries).flatMap(([expected, each = []]) =>
    each.map((entry) => ({ ...make(entry), expected: expected as Outcome })),
  );
}
