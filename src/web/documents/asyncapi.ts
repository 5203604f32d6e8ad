import type { z } from 'zod';
import { errors } from '../../errors.ts';
import { channelErrors, type ChannelDeclaration } from '../../server/live/channel.ts';
import { closeCodes } from '../../server/live/close-codes.ts';
import { ErrorMessage } from '../../server/live/socket.ts';
import {
  BAD_MESSAGES,
  CUT_OFF_BYTES,
  FRAMES_PER_SECOND,
  MESSAGE_LIMIT_BYTES,
  MESSAGES_PER_SECOND,
  TOO_SLOW_MS,
} from '../../server/live/frame-limits.ts';
import { nameOf, operationIdOf } from './operation-names.ts';
import { errorReply } from './error-replies.ts';
import type { Schema, Schemas } from './schemas.ts';

export type Channels = readonly ChannelDeclaration[];

/**
 * Makes the AsyncAPI document of the channels: https://www.asyncapi.com/docs/reference/specification/v3.0.0
 * @param schemas makes schemas in draft 7, AsyncAPI's dialect. It has `errorSchemas`; the schemas of the messages are added here.
 */
export function asyncapiDocument(channels: Channels, schemas: Schemas) {
  const described: Record<string, object> = {};
  const operations: Record<string, object> = {};
  const operationIds = new Set<string>();
  for (const channel of channels) {
    const id = channelIdOf(channel.path);
    described[id] = describeChannel(channel, schemas);
    // AsyncAPI 3.0 names operations from the service's side: the service sends the messages that a watcher receives.
    operations[operationIdOf('send', channel.path, operationIds)] = describeOperation('send', id, messagesSent(channel), channel.summary);
    if (Object.keys(channel.receives).length === 0) continue;
    operations[operationIdOf('receive', channel.path, operationIds)] = describeOperation(
      'receive',
      id,
      channel.receives,
      'The messages that a client may send.',
    );
  }
  return {
    asyncapi: '3.0.0',
    info,
    defaultContentType: 'application/json',
    servers,
    channels: described,
    operations,
    components: { messages: { error: describeMessage('error', ErrorMessage, schemas) }, schemas: schemas.components },
    'x-close-codes': describedCloseCodes,
  };
}

/** The id of a channel, made from its path: `/v1/rooms/{code}/live` becomes `roomsByCodeLive`. */
export function channelIdOf(path: string): string {
  const name = nameOf(path);
  return name[0]!.toLowerCase() + name.slice(1);
}

/** The messages that the service sends on the channel: the channel's own, and `error`, which every channel may send. */
export function messagesSent(channel: ChannelDeclaration): Readonly<Record<string, z.ZodObject>> {
  return { ...channel.sends, error: ErrorMessage };
}

function describeChannel(channel: ChannelDeclaration, schemas: Schemas): object {
  const { path, summary, description, params, query, sends, receives } = channel;
  const refusals = refusalsOf(channel);
  const listed = refusals.map(({ status, code }) => `\`${code}\` (${status})`).join(', ');
  const messages = Object.entries({ ...sends, ...receives }).map(([type, shape]) => [type, describeMessage(type, shape, schemas)] as const);
  return {
    address: path,
    title: path,
    summary,
    description: [description ?? '', `A refused upgrade gets the HTTP status and JSON error of a refused request: ${listed}.`]
      .join('\n\n')
      .trim(),
    messages: { ...Object.fromEntries(messages), error: { $ref: '#/components/messages/error' } },
    ...(params === undefined ? {} : { parameters: describeParameters(schemas.object(params).properties) }),
    bindings: {
      ws: {
        method: 'GET',
        ...(query === undefined ? {} : { query: schemas.object(query) }),
        headers: describeHeaders(channel),
        bindingVersion: '0.1.0',
      },
    },
    'x-upgrade-errors': { schema: errorReply({ $ref: '#/components/schemas/ErrorDetails' }), errors: refusals },
  };
}

/**
 * The errors that can refuse the upgrade, sorted by status. They are an extension of the document, because AsyncAPI has no field for HTTP
 * responses.
 */
function refusalsOf(channel: ChannelDeclaration) {
  return channelErrors(channel)
    .map((code) => ({ status: errors[code].status, code, message: errors[code].message }))
    .sort((one, other) => one.status - other.status);
}

/**
 * Describes the parameters of a channel's path. AsyncAPI's Parameter Object is always a string. Of a schema's keywords it has only
 * `description`, `enum`, `default` and `examples`.
 */
function describeParameters(properties: Readonly<Record<string, Schema>>): object {
  const parameters = Object.entries(properties).map(([name, schema]) => {
    const known = ['description', 'enum', 'default', 'examples'].filter((word) => schema[word] !== undefined);
    return [name, Object.fromEntries(known.map((word) => [word, schema[word]]))];
  });
  return Object.fromEntries(parameters) as object;
}

function describeHeaders(channel: ChannelDeclaration): Schema {
  const headers = {
    ...channel.headers,
    origin:
      'Browsers send it. The service refuses every origin but its own, those of `ALLOWED_ORIGINS` and, in development on a loopback address, those of the same machine.',
  };
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }])),
  };
}

function describeMessage(type: string, shape: z.ZodObject, schemas: Schemas): object {
  const { description, ...payload } = schemas.object(shape);
  return { name: type, title: type, ...(description === undefined ? {} : { description }), payload };
}

function describeOperation(action: 'send' | 'receive', channelId: string, messages: object, summary: string): object {
  return {
    action,
    channel: { $ref: `#/channels/${channelId}` },
    summary,
    messages: Object.keys(messages).map((type) => ({ $ref: `#/channels/${channelId}/messages/${type}` })),
  };
}

const closeMeanings: Readonly<Record<keyof typeof closeCodes, string>> = {
  goingAway: 'The service is stopping or restarting.',
  messageTooBig: `A message was larger than ${MESSAGE_LIMIT_BYTES / 1024} KiB. Above ${CUT_OFF_BYTES / 1024} KiB the service closes the connection without a code, which clients report as 1006.`,
  tooSlow: `The client did not read for ${TOO_SLOW_MS / 1000} seconds. A client that still does not read loses the connection without seeing the code.`,
  wentBack: 'Redis lost changes that watchers had already received. After a reconnect the service sends the state that Redis has now.',
  badMessages: `The client sent ${BAD_MESSAGES} invalid messages.`,
  tooManyMessages: `The client sent more than ${MESSAGES_PER_SECOND} messages within a second, or more than ${FRAMES_PER_SECOND} after a welcome to a room.`,
  gone: 'The room or pairing no longer exists.',
  callerMissing: 'The channel needs a caller, and no message named one within 10 seconds.',
  callerLost: 'The caller may no longer watch. The service sent the reason as an error before it closed.',
  finished: 'The room or pairing reached its final state. The service sent that state before it closed.',
};

const FIRST_FINAL_CODE = 4500;

const describedCloseCodes = Object.entries(closeCodes)
  .map(([name, code]) => ({ code, name, reconnect: code < FIRST_FINAL_CODE, description: closeMeanings[name as keyof typeof closeCodes] }))
  .sort((one, other) => one.code - other.code);

const info = {
  title: 'coinop',
  version: '1.0.0',
  description: [
    'The live channels of coinop. A channel is a WebSocket that watches one room, list of rooms, pairing, board or account. The service sends its whole state at once and after every change, so a watcher needs no history and loses nothing when the connection breaks. The OpenAPI document at `/openapi.json` describes the requests that change rooms and pairings.',
    'Messages are JSON texts with a `type`. New fields and types may be added: ignore unknown ones.',
    'Anyone who knows the room code or the pairing token may watch. Messages hold nothing that lets a watcher act. A `hello` with a `sessionToken` or an `installId`, or the session of the upgrade request, tells the service which player is connected. Both are secrets: the service sends them to no other client.',
    `A client may send ${MESSAGES_PER_SECOND} messages a second of at most ${MESSAGE_LIMIT_BYTES / 1024} KiB each. A player or a server that a room welcomed may send ${FRAMES_PER_SECOND}; of a seat's acts the room takes 30 a second, 60 at once. Clients need not send pings: the service sends them, and WebSocket clients answer them automatically.`,
    [
      `Close codes from ${FIRST_FINAL_CODE} to 4999 are final. After any other code, including 4000 to 4499 and 1006 (a connection that ended without a code), wait for a random moment and connect again: a new connection starts with the whole state.`,
      ...describedCloseCodes.map(({ code, reconnect, description }) => `- ${code} (${reconnect ? 'reconnect' : 'final'}): ${description}`),
    ].join('\n'),
    'WebSocket clients hide why an upgrade was refused. A GET of the same room or pairing answers with the reason. In networks without WebSocket use the long-polls `GET /v1/rooms/{code}?since=&wait=` and `GET /v1/pair/status?token=&wait=`.',
  ].join('\n\n'),
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
};

/**
 * The host as a variable of the document: the service does not know its public addresses, and AsyncAPI's Server Object has no relative
 * URLs.
 */
const host = {
  default: '127.0.0.1:3000',
  description: 'The host that this document came from, with the port unless it is the default port.',
};

const servers = {
  plain: { host: '{host}', protocol: 'ws', variables: { host }, description: 'Use it if this document came over http.' },
  secure: { host: '{host}', protocol: 'wss', variables: { host }, description: 'Use it if this document came over https.' },
};
