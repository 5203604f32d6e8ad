import type { z } from 'zod';
import { errors } from '../errors.ts';
import { channelErrors, type ChannelDeclaration } from '../server/live/channel.ts';
import { closeCodes } from '../server/live/feed.ts';
import { BAD_MESSAGES, CUT_OFF_BYTES, ErrorMessage, MESSAGE_LIMIT_BYTES, MESSAGES_PER_SECOND, TOO_SLOW_MS } from '../server/live/socket.ts';
import { nameOf, operationIdOf } from './operation.ts';
import type { Schema, Schemas } from './schemas.ts';

export type Channels = readonly ChannelDeclaration[];

/**
 * The AsyncAPI document of these channels: https://www.asyncapi.com/docs/reference/specification/v3.0.0
 * @param schemas of draft 7, which is AsyncAPI's own; holds `componentSchemas`, and is given what the messages' shapes add
 */
export function asyncapiDocument(channels: Channels, schemas: Schemas) {
  const described: Record<string, object> = {};
  const operations: Record<string, object> = {};
  const operationIds = new Set<string>();
  for (const channel of channels) {
    const id = channelIdOf(channel.path);
    described[id] = describeChannel(channel, schemas);
    // From the service's view: it sends what a watcher receives.
    operations[operationIdOf('send', channel.path, operationIds)] = describeOperation('send', id, messagesSent(channel), channel.summary);
    if (Object.keys(channel.receives).length === 0) continue;
    operations[operationIdOf('receive', channel.path, operationIds)] = describeOperation(
      'receive',
      id,
      channel.receives,
      'What a client may say.',
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

/** `/v1/rooms/{code}/live` is roomsByCodeLive. */
export function channelIdOf(path: string): string {
  const name = nameOf(path);
  return name[0]!.toLowerCase() + name.slice(1);
}

/** Its own messages, and the one that every channel may send. */
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
    description: [description ?? '', `A refused upgrade is answered as any refused request: ${listed}.`].join('\n\n').trim(),
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
    'x-upgrade-errors': { schema: { $ref: '#/components/schemas/Error' }, errors: refusals },
  };
}

/** What the upgrade can be refused with, by status. AsyncAPI has no place for HTTP answers. */
function refusalsOf(channel: ChannelDeclaration) {
  return channelErrors(channel)
    .map((code) => ({ status: errors[code].status, code, message: errors[code].message }))
    .sort((one, other) => one.status - other.status);
}

/** A parameter of an address is a string; it has words for some of what its schema says. */
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
    origin: 'Sent by browsers. One that is neither the service itself nor among its `ALLOWED_ORIGINS` is refused.',
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
  goingAway: 'The service stops or restarts.',
  messageTooBig: `A message was larger than ${MESSAGE_LIMIT_BYTES / 1024} KiB. Beyond ${CUT_OFF_BYTES / 1024} KiB the connection is cut without a code, which clients see as 1006.`,
  tooSlow: `The client did not read for ${TOO_SLOW_MS / 1000} seconds. One that goes on not reading never sees the code, and is cut off.`,
  wentBack: 'The store lost changes that were sent already. The next connection sends what stands.',
  badMessages: `${BAD_MESSAGES} messages were not understood.`,
  tooManyMessages: `More than ${MESSAGES_PER_SECOND} messages came within a second.`,
  gone: 'What was watched is gone.',
  finished: 'What was watched has reached its final state, which was sent before.',
};

const FIRST_FINAL_CODE = 4500;

const describedCloseCodes = Object.entries(closeCodes)
  .map(([name, code]) => ({ code, name, reconnect: code < FIRST_FINAL_CODE, description: closeMeanings[name as keyof typeof closeCodes] }))
  .sort((one, other) => one.code - other.code);

const info = {
  title: 'coinop',
  version: '1.0.0',
  description: [
    'What can be watched live. A channel is one WebSocket to one thing: it is sent the whole state of it at once and after every change, so a watcher needs no history and a gap in the connection loses nothing. The requests that change these things stand in the OpenAPI document at `/openapi.json`.',
    'Messages are JSON texts with a `type`. Fields and types may be added: ignore those you do not know.',
    'Anybody who knows the code or the token may watch, and sees nothing that would let them act. A `hello` with an `installId`, or the session cookie of the upgrade, says who is connected. An `installId` is a secret: it is never sent to anybody.',
    `A client may send ${MESSAGES_PER_SECOND} messages a second of at most ${MESSAGE_LIMIT_BYTES / 1024} KiB each. It need not send pings: the service does, and clients answer them by themselves.`,
    [
      `Close codes from ${FIRST_FINAL_CODE} to 4999 are final. After any other, 4000 to 4499 and a connection that ended without a code (1006) among them, connect again, a random moment later: the state comes with the connection.`,
      ...describedCloseCodes.map(({ code, reconnect, description }) => `- ${code} (${reconnect ? 'reconnect' : 'final'}): ${description}`),
    ].join('\n'),
    'WebSocket clients do not tell why an upgrade was refused; a plain request for the same thing does. Networks without WebSocket have the long-polls `GET /v1/rooms/{code}?since=&wait=` and `GET /v1/pair/status?token=&wait=`.',
  ].join('\n\n'),
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
};

/** The service does not know the addresses that lead to it, and a server has no relative one. */
const host = {
  default: '127.0.0.1:3000',
  description: 'The host, and the port where it is not the usual one: those this document came from.',
};

const servers = {
  plain: { host: '{host}', protocol: 'ws', variables: { host }, description: 'Where this document came over http.' },
  secure: { host: '{host}', protocol: 'wss', variables: { host }, description: 'Where this document came over https.' },
};
