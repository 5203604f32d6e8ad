import { SESSION_COOKIE } from '../../server/identity/sessions.ts';
import type { EndpointDeclaration } from '../../server/http/endpoint.ts';
import { describeOperation, exampleAt, pathsOf, variantOf } from './operation.ts';
import { operationNameOf, unique } from './operation-names.ts';
import type { Schemas } from './schemas.ts';

/** The endpoints by feature, as `api.ts` lists them. */
export type Features = Readonly<Record<string, readonly EndpointDeclaration[]>>;

/**
 * Makes the OpenAPI document of the endpoints: https://spec.openapis.org/oas/v3.0.3
 * @param schemas has `errorSchemas`; the schemas of the endpoints are added to it
 */
export function openapiDocument(features: Features, schemas: Schemas) {
  const paths: Record<string, Record<string, object>> = {};
  const responses: Record<string, object> = {};
  const refusals = { responses, schemas: schemas.components };
  const operationIds = new Set<string>();
  for (const [feature, endpoints] of Object.entries(features)) {
    for (const endpoint of endpoints.flatMap(withVariants)) {
      // All paths of an endpoint (its own and its aliases) share one operation.
      const operation = describeOperation(endpoint, schemas, refusals);
      for (const path of pathsOf(endpoint)) {
        const operationId = unique(operationNameOf(endpoint), operationIds);
        const aliasOf = path === endpoint.path ? '' : `The same as \`${endpoint.method} ${endpoint.path}\`. `;
        const notOfGame = endpoint.reach === undefined ? ', but not a key of one game' : '';
        const ofKey =
          endpoint.keyScope === undefined ? '' : ` A server key with the scope \`${endpoint.keyScope}\` may call too${notOfGame}.`;
        const description = (aliasOf + (endpoint.description ?? '') + (endpoint.costly === true ? COSTLY : '') + ofKey).trim();
        (paths[path] ??= {})[endpoint.method.toLowerCase()] = {
          operationId,
          tags: [feature],
          summary: endpoint.summary,
          ...(description === '' ? {} : { description }),
          ...operation,
          'x-codeSamples': [{ lang: 'Shell', label: 'curl', source: exampleAt(endpoint, path) }],
        };
      }
    }
  }
  return {
    openapi: '3.0.3',
    info,
    servers: [{ url: '/' }],
    tags: Object.keys(features).map((name) => ({ name, description: tagDescriptions[name] })),
    paths,
    components: {
      schemas: schemas.components,
      responses,
      headers: responseHeaders,
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION_COOKIE,
          description: 'The signed session cookie that `POST /v1/login` sets.',
        },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            "A session's token, for clients without cookies. A request with a bearer has no session cookie: an invalid bearer is 401 " +
            '`session_required`, and no other credential takes its place. The answer sets no session cookie.',
        },
        serverKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            "A server key, for the operator's own servers: `coinop_sk_…` in place of a session's token. Each key has scopes, and an operation " +
            'names the scope that it needs. The request names the account by `accountId` or `installId`. If that account moved, the request is ' +
            'about the account into which it moved. Cookies are ignored. The request counts against the limit of the key, and not of the ' +
            'address. A key from a browser (with an ' +
            '`Origin` header) is refused.',
        },
      },
    },
  };
}

/** A sentence that is added to the description of each costly endpoint. */
const COSTLY =
  ' A process answers requests of this and other costly endpoints one at a time. Send them one after the other: many that wait at once are `rate_limited`.';

/**
 * The endpoint, then its variants. A router prefers the path of a variant to the path of the endpoint, because a variant's path has one
 * parameter less.
 */
function withVariants(endpoint: EndpointDeclaration): EndpointDeclaration[] {
  return [endpoint, ...(endpoint.variants ?? []).map((variant) => variantOf(endpoint, variant))];
}

/** The descriptions of the features, by the names that `api.ts` gives them. */
const tagDescriptions: Readonly<Record<string, string>> = {
  service: 'The documents of the interface, and the endpoints for monitoring.',
  docs: 'Pages for people: the guides, this reference, the live channels and the error codes.',
  accounts: 'An account belongs to an install, or to a user of the app store.',
  sessions: 'Signing in and out. A session names the account in place of an installId.',
  coins: 'A balance with an exact ledger. Every operation takes effect once for each key.',
  highscores: 'A board for each game: the ten best scores, and the rank of a submission.',
  catalogue: 'The apps and games of the portfolio, and the coins that the app stores sell.',
  pairing: 'Signing a browser in with an app that scans its QR code.',
  rooms: 'Rooms in which players meet and share the public state of a game. `/v1/rooms/{code}/live` of the AsyncAPI document watches one.',
  saves: 'Data that a game keeps for a player, with versions.',
  trial: "A device's trial, started once.",
  subscription: 'Subscriptions that the app store confirmed or an app reported.',
  purchases: 'Coins bought in an app store: verified there, booked once, and taken back exactly.',
  entitlement: 'The content that the caller may use now, from a subscription or a trial.',
  events: 'With EVENTS=on only: the events of all accounts, in one order, for servers of the operator.',
  store: 'Signing in with the app store, and proving that an install is genuine.',
  operator: 'With ADMIN_API=on only, for server keys with the scope `admin`: what `npm run admin` reads and changes.',
  sandbox: [
    'With STORE=sandbox only: a stand-in for Google, Apple and their stores.',
    '`POST /sandbox/issue` issues what an app would get from a store. With the `purchaseToken`, `transactionId` or `originalTransactionId` of an earlier answer it changes or refunds that purchase, and with `notify` it tells the service, as the store would.',
    "The other calls are the stand-ins of the stores' own, in the stores' formats. The service calls them as it calls Google and Apple: for keys, purchases, subscriptions, refunds and acknowledgements. With SANDBOX_CHAOS they are slow or fail at random, as those of stores do.",
  ].join('\n\n'),
};

const info = {
  title: 'coinop',
  version: '1',
  description: [
    'Coins, scores, pairing, rooms, sessions and entitlements for a portfolio of apps and games.',
    'A caller is an install, named by `installId`, or the account of a session. A request with both acts for the session. A session comes as a cookie or as `Authorization: Bearer`.',
    'Every JSON body has `ok`. An error has a stable `error.code`, and a message for people that may change; `/docs/errors` says what to do about each code. The service ignores unknown fields of a request. Replies may gain fields.',
    'A server of the operator calls with a server key. Every request with a key that is malformed, unknown, expired or revoked gets 401 `bad_key`, and every request with a key that may not do this 403 `forbidden`.',
    'Every path that answers GET answers HEAD. Every request may also get 400 `invalid_request` for malformed headers, 404 `not_found`, 405 `method_not_allowed` or 503 `overloaded`.',
    'The AsyncAPI document at `/asyncapi.json` describes the live channels over WebSocket.',
  ].join('\n\n'),
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
};

const responseHeaders = {
  RequestId: {
    description: 'Identifies this request in the log. If the request sends a well-formed id, the response has the same id.',
    schema: { type: 'string' },
  },
  RetryAfter: { description: 'Seconds to wait before a retry.', schema: { type: 'integer' } },
  ETag: { description: 'Send it as If-None-Match: the reply has a body only if the body changed.', schema: { type: 'string' } },
};
