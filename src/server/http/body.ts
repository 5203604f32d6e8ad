import { isUtf8 } from 'node:buffer';
import { invalid, refuse, Refusal } from '../../errors.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import type { BodyBounds, EndpointDeclaration } from './endpoint.ts';
import { parseAround } from './compact-field.ts';
import { parseJson } from './json.ts';
import { JSON_BOUNDS, tooNestedField } from './json-depth.ts';
import type { RequestHeaders } from './request-headers.ts';

/** The most bytes of a request's body, except where an endpoint declares other bounds. Chunked bodies have the same limit. */
export const BODY_LIMIT_BYTES = 16 * 1024;

const BODY_BOUNDS: BodyBounds = { bytes: BODY_LIMIT_BYTES, ...JSON_BOUNDS };

/** Milliseconds that a client may take to send its body. After that the server closes the connection. */
export const BODY_DEADLINE_MS = 10_000;

type BodyRules = Pick<EndpointDeclaration, 'body' | 'emptyBody' | 'form' | 'textField'>;

/** The bounds of the body of this request: an endpoint may take longer bodies with a server key. */
export function bodyBoundsOf({ bodyBounds, keyedBodyBytes, keyScope }: EndpointDeclaration, key: ServerKey | undefined): BodyBounds {
  const mayBeLonger = keyedBodyBytes !== undefined && keyScope !== undefined && key?.scopes.includes(keyScope) === true;
  return mayBeLonger ? { ...BODY_BOUNDS, bytes: keyedBodyBytes } : { ...BODY_BOUNDS, ...bodyBounds };
}

/** The number of further requests as which a body counts for its address: one for each further 16 KiB, as for large answers. */
export function furtherRequests(bytes: Buffer): number {
  return Math.max(0, Math.ceil(bytes.length / BODY_LIMIT_BYTES) - 1);
}

export function refuseLength({ bytes }: BodyBounds): Refusal<'payload_too_large'> {
  return bytes === BODY_LIMIT_BYTES
    ? refuse('payload_too_large')
    : refuse('payload_too_large', { message: `The body is larger than ${Math.floor(bytes / 1024)} KiB.` });
}

/** Refuses a body before it is read, because the headers show a wrong media type or length. */
export function refuseBodyOf(headers: RequestHeaders, { form }: BodyRules, bounds: BodyBounds): Refusal | undefined {
  const { contentType, contentEncoding, contentLength } = headers;
  if (!NOT_ENCODED.test(contentEncoding))
    return refuse('unsupported_media_type', {
      message: 'Send the body as it is: with no Content-Encoding other than identity.',
      field: 'content-encoding',
    });
  if (!(form === true ? FORM_MEDIA_TYPE : JSON_MEDIA_TYPE).test(contentType)) return refuse('unsupported_media_type');
  if (contentLength !== '' && Number(contentLength) > bounds.bytes) return refuseLength(bounds);
  return undefined;
}

/** Parses a body that arrived whole. The result has the types of JSON; the endpoint's shape is checked later. */
export function parseBody(bytes: Buffer, headers: RequestHeaders, rules: BodyRules, bounds = BODY_BOUNDS): unknown {
  if (headers.transferEncoding !== '' && CHUNK_FRAMING.test(bytes.toString('latin1')))
    return refuse('invalid_json', { message: 'The body contains chunk framing.' });
  if (bytes.length === 0 && rules.emptyBody === true) return {};
  if (!isUtf8(bytes)) return refuse('invalid_json', { message: 'The body is not valid UTF-8.' });
  const known = rules.textField === undefined ? undefined : parseAround(rules.textField, bytes, bounds.depth);
  if (known !== undefined) return known;
  const nestedField = tooNestedField(bytes, bounds);
  if (nestedField !== undefined) return refuseNesting(nestedField, rules, bounds);
  if (rules.form === true) return parseForm(bytes.toString());
  try {
    return parseJson(bytes.toString());
  } catch {
    return refuse('invalid_json');
  }
}

function refuseNesting(field: string, { body }: BodyRules, { depth, containers }: BodyBounds): Refusal {
  const most = containers === Infinity ? '' : `, with at most ${containers} lists and objects`;
  const message = `Must nest at most ${depth} levels deep, the body included${most}`;
  return body === undefined ? refuse('invalid_json', { message: `${message}.` }) : invalid(field || 'body', message);
}

function parseForm(text: string): unknown {
  if (text.split('&', MOST_FORM_FIELDS + 1).length > MOST_FORM_FIELDS)
    return invalid('body', `Must hold at most ${MOST_FORM_FIELDS} fields`);
  return Object.fromEntries(new URLSearchParams(text));
}

/** The most fields of a form. 16 KiB of empty fields would take more than a millisecond to parse. */
const MOST_FORM_FIELDS = 64;

const JSON_MEDIA_TYPE = /^application\/json\s*(;|$)/i;
/** Matches a Content-Encoding header that names no coding but `identity`, in any case (RFC 9110, section 8.4). */
const NOT_ENCODED = /^[\s,]*(?:identity\s*(?:,[\s,]*|$))*$/i;

const FORM_MEDIA_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/**
 * Matches the line that gives the size of a chunk in a chunked body. If the decoded body has such a line, uWS cut the body in the wrong
 * place: in `2;a` uWS takes the extension for a part of the size, 698, and the following bytes for data.
 */
const CHUNK_FRAMING = /\n[\da-f]+[ \t]*(?:;[^\r\n]*)?\r?\n/i;
