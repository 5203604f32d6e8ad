import { isUtf8 } from 'node:buffer';
import { invalid, refuse, Refusal } from '../../errors.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import type { EndpointDeclaration } from './endpoint.ts';
import { parseJson } from './json.ts';
import { MAX_JSON_CONTAINERS, MAX_JSON_DEPTH, tooNestedField } from './json-depth.ts';
import type { RequestHeaders } from './request-headers.ts';

/** The most bytes of a request's body, except for endpoints with a `bodyLimitBytes`. Chunked bodies have the same limit. */
export const BODY_LIMIT_BYTES = 16 * 1024;

/** Milliseconds that a client may take to send its body. After that the server closes the connection. */
export const BODY_DEADLINE_MS = 10_000;

type BodyRules = Pick<EndpointDeclaration, 'body' | 'emptyBody' | 'form'>;

/** The most bytes of the body of this request. An endpoint for server keys takes longer bodies only with a key of its scope. */
export function bodyLimitOf({ bodyLimitBytes, keyScope }: EndpointDeclaration, key: ServerKey | undefined): number {
  const mayBeLonger = keyScope === undefined || key?.scopes.includes(keyScope) === true;
  return mayBeLonger ? (bodyLimitBytes ?? BODY_LIMIT_BYTES) : BODY_LIMIT_BYTES;
}

/** Refuses a body by its headers alone: for its media type or its length. */
export function refuseBodyOf(headers: RequestHeaders, { form }: BodyRules, limitBytes: number): Refusal | undefined {
  const { contentType, contentEncoding, contentLength } = headers;
  if (!NOT_ENCODED.test(contentEncoding))
    return refuse('unsupported_media_type', {
      message: 'Send the body as it is: with no Content-Encoding other than identity.',
      field: 'content-encoding',
    });
  if (!(form === true ? FORM_MEDIA_TYPE : JSON_MEDIA_TYPE).test(contentType)) return refuse('unsupported_media_type');
  if (contentLength !== '' && Number(contentLength) > limitBytes) return refuse('payload_too_large');
  return undefined;
}

/** Parses a body that arrived whole. The result has the types of JSON; the endpoint's shape is checked later. */
export function parseBody(bytes: Buffer, headers: RequestHeaders, rules: BodyRules): unknown {
  if (headers.transferEncoding !== '' && CHUNK_FRAMING.test(bytes.toString('latin1')))
    return refuse('invalid_json', { message: 'The body contains chunk framing.' });
  if (bytes.length === 0 && rules.emptyBody === true) return {};
  if (!isUtf8(bytes)) return refuse('invalid_json', { message: 'The body is not valid UTF-8.' });
  const nestedField = tooNestedField(bytes);
  if (nestedField !== undefined) return refuseNesting(nestedField, rules);
  if (rules.form === true) return parseForm(bytes.toString());
  try {
    return parseJson(bytes.toString());
  } catch {
    return refuse('invalid_json');
  }
}

function refuseNesting(field: string, { body }: BodyRules): Refusal {
  const message = `Must nest at most ${MAX_JSON_DEPTH} levels deep, the body included, with at most ${MAX_JSON_CONTAINERS} lists and objects`;
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
 * Matches the line of a chunked body that has the size of a chunk. Such a line within the decoded body means that uWS cut the body in the
 * wrong place: in `2;a` uWS takes the extension for a part of the size, 698, and the following bytes for data.
 */
const CHUNK_FRAMING = /\n[\da-f]+[ \t]*(?:;[^\r\n]*)?\r?\n/i;
