import type { z } from 'zod';
import type { ErrorCode, Refusal } from '../../errors.ts';
import type { Caller } from '../identity/caller.ts';
import type { Scope, ServerKey } from '../identity/server-keys.ts';
import { KEY_CODES, type Shape } from '../http/endpoint.ts';
import type { Feed, State } from './feed.ts';

/**
 * A live channel as data, like an endpoint: a WebSocket that receives the whole state of one thing at once and after every
 * change. Router, validation, AsyncAPI and tests read this one declaration.
 */
export interface ChannelDeclaration {
  /** With parameters in braces: `/v1/rooms/{code}/live`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Whether the channel reads the session of the upgrade: the cookie, or a bearer. */
  readonly takesSession?: boolean;
  /** The scope of the server keys that may watch too. Undefined: no key may; on a channel that takes no session a key makes no difference. */
  readonly keyScope?: Scope;
  /** Headers of the upgrade request that the channel reads, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Messages that the service sends, by `type`. */
  readonly sends: Readonly<Record<string, z.ZodObject>>;
  /** Messages that a client may send, by `type`. */
  readonly receives: Readonly<Record<string, z.ZodObject>>;
  /** Messages that count against a budget of their own, beside the address's limit of requests. */
  readonly acts?: ActMessages;
  /** Codes that can refuse the upgrade, beyond those of every channel (`channelErrors`). */
  readonly errors: readonly ErrorCode[];
  /**
   * The codes of a wrong guess, such as an unknown room code. Each refusal with one of them counts as one miss of the client's address,
   * which limits guessing.
   */
  readonly misses?: readonly ErrorCode[];
}

/** Messages with which a client acts. */
export interface ActMessages {
  /** The `type` of acts. If it comes first in the message, the service recognises the act before it parses the message. */
  readonly type: string;
  /** The error message for an act without the fields that its answer needs; undefined if it has them. The channel checks the rest. */
  lacks(message: { readonly [field: string]: unknown }): string | undefined;
  /** Most frames a second of a socket that has a name. */
  readonly framesPerSecond: number;
  /**
   * The answer to an act that is refused unread.
   * @param head the message, or its first characters
   */
  refused(head: string, refusal: Refusal): object;
}

/** The checked data of an upgrade request. */
export interface UpgradeCall<Params, Query> {
  readonly params: Params;
  readonly query: Query;
}

/** A connected client, as a channel's handlers see it. */
export interface ChannelSocket<Memory = unknown> {
  /** Unique across all processes. */
  readonly connectionId: string;
  /** The id of the watched thing: a room's code, a pairing's token. */
  readonly id: string;
  /** The caller of the upgrade's session, if it has one. */
  readonly sessionCaller: Caller | undefined;
  /**
   * The caller of the credentials in a message. The token counts first, and the installId does not stand in for an invalid token.
   * @throws Refusal `session_required` if the token does not verify
   */
  callerOf(credentials: MessageCredentials): Promise<Caller>;
  /** The channel's own data about this connection, made by `memory` of its declaration. */
  readonly memory: Memory;
  /** The latest state. Undefined once the thing no longer exists. */
  readonly state: State | undefined;
  /** The client's address, which creations count against. */
  readonly address: string;
  /** From now on the socket gets the messages and private parts for this name, in place of its earlier one. Undefined: for no name. */
  name(name: string | undefined): void;
  /** The server key of a message. @throws Refusal `bad_key` */
  keyOf(token: string): ServerKey;
  /** Counts messages for this key, in place of the address. */
  readonly chargesTo: (key: ServerKey | undefined) => void;
  /** Schedules a call of `sendPrivate`. */
  privateChanged(): void;
  /** @param message to be encoded, or JSON text */
  send(message: object | string): void;
  /** As `send`, in one write to the connection with the next push of the thing, if one is due. */
  sendWithPush(message: string): void;
  /** Sends the error of a refusal. */
  refuse(refusal: Refusal): void;
  readonly isOpen: boolean;
}

/** The credentials in a message: at least one of them. */
export interface MessageCredentials {
  readonly installId?: string | undefined;
  readonly sessionToken?: string | undefined;
}

/**
 * @typeParam Taken the services that its handlers take
 * @typeParam Memory the data that the channel keeps about a connection, and may change
 */
export interface Channel<Taken, Memory = unknown> extends ChannelDeclaration {
  /** The id of the thing to watch, or the refusal of the upgrade. */
  readonly subject: (call: UpgradeCall<never, never>) => string | Refusal;
  readonly feed: (services: Taken) => Feed;
  /** Whether the client asks for patches in place of whole states. */
  readonly takesPatches?: (query: never) => boolean;
  /** The code that refuses the upgrade if the feed does not have the thing. */
  readonly notFound: ErrorCode;
  /** Makes the memory of a new connection. */
  readonly memory?: () => Memory;
  readonly opened?: (socket: ChannelSocket<Memory>, services: Taken) => Promise<void>;
  /** Called with each message that passed its shape. */
  readonly received?: (
    socket: ChannelSocket<Memory>,
    message: { type: string; [field: string]: unknown },
    services: Taken,
  ) => Promise<void>;
  /** Sends the socket its private part, if that has changed. */
  readonly sendPrivate?: (socket: ChannelSocket<Memory>, services: Taken) => Promise<void>;
  /** Called every second: takes the name from a socket that has lost the right to it. */
  readonly checked?: (socket: ChannelSocket<Memory>, services: Taken) => void;
  readonly closed?: (socket: ChannelSocket<Memory>, services: Taken) => Promise<void>;
}

type Output<S, Otherwise> = S extends Shape ? z.output<S> : Otherwise;

/** Declares a channel. Its shapes give its handlers their data. The types of their last parameters name their services. */
export function channel<
  Params extends z.ZodObject | undefined,
  Query extends z.ZodObject | undefined,
  Memory = undefined,
  Taken extends object = object,
>(
  declaration: Omit<Channel<Taken, Memory>, 'params' | 'query' | 'subject' | 'takesPatches'> & {
    params?: Params;
    query?: Query;
    takesPatches?: (query: Output<Query, undefined>) => boolean;
    subject: (call: UpgradeCall<Output<Params, undefined>, Output<Query, undefined>>) => string | Refusal;
  },
): Channel<Taken> {
  return declaration as unknown as Channel<Taken>;
}

/** All codes that can refuse the channel's upgrade. */
export function channelErrors(channel: ChannelDeclaration): ErrorCode[] {
  return [
    ...new Set<ErrorCode>([
      ...channel.errors,
      ...(channel.takesSession === true ? (['session_required', 'sign_in_required', 'account_banned', 'account_deleted'] as const) : []),
      ...(channel.takesSession === true || channel.keyScope !== undefined ? KEY_CODES : []),
      'invalid_request',
      'upgrade_required',
      'cross_site',
      'rate_limited',
      'overloaded',
      'store_unavailable',
      'internal',
    ]),
  ];
}
