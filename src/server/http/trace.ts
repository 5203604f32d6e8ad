/**
 * The distributed trace of a request, from its header traceparent (W3C Trace Context, https://www.w3.org/TR/trace-context/).
 */
export interface Trace {
  /** The id of the trace: 32 hexadecimal digits. */
  readonly id: string;
  /**
   * The header traceparent for calls that this request causes. Its parent is the caller's span, as in the request. The service exports no
   * spans, so nobody could find a span that the service added.
   */
  readonly traceparent: string;
}

/** The trace that a header names. Undefined for a malformed header, which is ignored (section 4.3 of the specification). */
export function traceOf(header: string): Trace | undefined {
  const [, version, id, parent, flags, rest] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== '')) return undefined;
  if (/^0+$/.test(id!) || /^0+$/.test(parent!)) return undefined;
  const known = (Number.parseInt(flags!, 16) & KNOWN_FLAGS).toString(16);
  return { id: id!, traceparent: `00-${id}-${parent}-0${known}` };
}

/** Matches a traceparent. A header of a later version may have more fields at its end. */
const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})((?:-[\x21-\x7e]{0,200})?)$/;

/** The bits of the flags `sampled` and `random-trace-id`. All other flags must be sent on as 0. */
const KNOWN_FLAGS = 3;
