import { errors, type ErrorCode } from '../../errors.ts';
import { declaredErrors, type EndpointDeclaration } from '../../server/http/endpoint.ts';
import { errorExample } from './examples.ts';
import { capitalised } from './operation-names.ts';
import type { Schema } from './schemas.ts';

/** The header that every response has, as a part of the OpenAPI document. */
export const REQUEST_ID = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };

/**
 * The parts of the document for refused requests. The schemas of a refusal have no `allOf`, because generators for typed languages use only
 * the first part of an `allOf` and would lose the codes in the second.
 */
export interface Refusals {
  /** The described responses by name, such as `KeyReused`. */
  readonly responses: Record<string, object>;
  /** The components of the document, to which the schemas are added. */
  readonly schemas: Record<string, Schema>;
}

/** A response for each status, with the endpoint's error codes of that status. Endpoints with the same codes share a response. */
export function describeRefusals(endpoint: EndpointDeclaration, refusals: Refusals): object {
  const declared = new Set(declaredErrors(endpoint));
  // The headers of any request may be malformed (request-headers.ts), which is refused with a 4xx code. An endpoint that refuses nothing
  // else has only this 4xx code.
  if (![...declared].some((code) => errors[code].status < 500)) declared.add('invalid_request');
  const inOrder = allCodes.filter((code) => declared.has(code));
  const responses = [...Map.groupBy(inOrder, (code) => errors[code].status)].map(([status, codes]) => {
    const name = codes.map((code) => code.split('_').map(capitalised).join('')).join('Or');
    addRefusal(name, status, codes, refusals);
    return [status, { $ref: `#/components/responses/${name}` }] as const;
  });
  addAnyRefusal(refusals);
  return { ...Object.fromEntries(responses), default: { $ref: '#/components/responses/AnyRefusal' } };
}

const allCodes = Object.keys(errors) as ErrorCode[];

function addRefusal(name: string, status: number, codes: readonly ErrorCode[], { responses, schemas }: Refusals): void {
  if (name in responses) return;
  schemas[`${name}Details`] = detailsOf(codes, { type: 'string', enum: codes });
  schemas[`${name}Refusal`] = errorReply({ $ref: `#/components/schemas/${name}Details` });
  responses[name] = {
    description: codes.map((code) => `\`${code}\`: ${errors[code].message}`).join('\n\n'),
    headers: {
      ...REQUEST_ID,
      ...(status === 429 || status === 503 ? { 'retry-after': { $ref: '#/components/headers/RetryAfter' } } : {}),
    },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${name}Refusal` },
        examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }])),
      },
    },
  };
}

/**
 * Adds a schema that fits every refusal. Every path may answer with a few more codes than its operation names. With this schema a client
 * can read any refusal without knowing its status.
 */
function addAnyRefusal({ responses, schemas }: Refusals): void {
  schemas['AnyRefusal'] ??= errorReply({ $ref: '#/components/schemas/ErrorDetails' });
  responses['AnyRefusal'] ??= {
    description: 'The response for any refusal, for example for refusals that every request may get.',
    headers: REQUEST_ID,
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/AnyRefusal' },
        examples: Object.fromEntries(OF_EVERY_PATH.map((code) => [code, { value: errorExample(code) }])),
      },
    },
  };
}

/** The codes with which any path may answer besides the codes of its operation. The introduction of the document names them too. */
const OF_EVERY_PATH = ['not_found', 'method_not_allowed', 'overloaded'] as const;

/** The schema of the body of a refusal. @param error the schema of the field `error` */
export function errorReply(error: Schema): Schema {
  return {
    type: 'object',
    required: ['ok', 'error', 'requestId'],
    properties: {
      ok: { type: 'boolean', description: 'Always `false`.' },
      error,
      requestId: { type: 'string', description: 'The same as the header x-request-id.' },
    },
  };
}

/**
 * The fields of `error` besides code and message, and the codes that have each field (`of`). Without `of`, an error of any code may have
 * the field.
 */
const details: Readonly<Record<string, { readonly of?: readonly ErrorCode[]; readonly schema: Schema }>> = {
  field: { schema: { type: 'string', description: 'The field of the request that caused the error.' } },
  issues: {
    of: ['invalid_request'],
    schema: {
      type: 'array',
      description: 'With `invalid_request`: every problem of the request.',
      items: { $ref: '#/components/schemas/RequestIssue' },
    },
  },
  retryAfterMs: {
    of: ['rate_limited', 'store_unavailable', 'app_store_unavailable', 'overloaded'],
    schema: { type: 'integer', format: 'int64', description: 'Milliseconds to wait before a retry.' },
  },
  outcome: {
    of: ['store_unavailable'],
    schema: {
      type: 'string',
      enum: ['unknown'],
      description: 'With `store_unavailable`: the write may or may not have happened. A retry with the same key takes effect once.',
    },
  },
  balanceCoins: {
    of: ['insufficient_coins', 'balance_limit'],
    schema: { type: 'integer', format: 'int64', description: 'With `insufficient_coins` and `balance_limit`: the balance.' },
  },
  debtCoins: {
    of: ['insufficient_coins', 'balance_limit'],
    schema: {
      type: 'integer',
      format: 'int64',
      description: 'With a `balanceCoins` of 0: the coins that the account owes after a refund.',
    },
  },
  scope: {
    of: ['forbidden'],
    schema: { type: 'string', description: 'With `forbidden`: the scope that the server key lacks.' },
  },
  failed: {
    of: ['integrity_failed'],
    schema: { type: 'array', items: { type: 'string' }, description: 'With `integrity_failed`: the checks that failed.' },
  },
  stateSeq: {
    of: ['stale_state'],
    schema: { type: 'integer', format: 'int64', description: 'With `stale_state`: the `stateSeq` that the room has.' },
  },
  state: { of: ['stale_state'], schema: { description: 'With `stale_state`: the state that the room has.' } },
};

/** The schema of the field `error` of a refusal with one of these codes. */
function detailsOf(codes: readonly ErrorCode[], code: Schema): Schema {
  const possible = Object.entries(details).filter(
    ([, { of }]) => of === undefined || of.some((possibleCode) => codes.includes(possibleCode)),
  );
  return {
    type: 'object',
    required: ['code', 'message'],
    properties: {
      code,
      message: { type: 'string', description: 'For people; it may change.' },
      ...Object.fromEntries(possible.map(([name, { schema }]) => [name, schema])),
    },
  };
}

/** The schemas of any error: for a response that names no codes, and for a refused upgrade of a channel. */
export const errorSchemas: Readonly<Record<string, Schema>> = {
  ErrorCode: {
    type: 'string',
    enum: allCodes,
    description: allCodes.map((code) => `- \`${code}\` (${errors[code].status}): ${errors[code].message}`).join('\n'),
  },
  ErrorDetails: detailsOf(allCodes, { $ref: '#/components/schemas/ErrorCode' }),
  RequestIssue: {
    type: 'object',
    required: ['path', 'message'],
    properties: { path: { type: 'string' }, message: { type: 'string' } },
  },
};
