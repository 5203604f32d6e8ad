import type { z } from 'zod';
import type { ErrorCode, Refusal } from '../../errors.ts';
import type { Caller } from '../identity/caller.ts';
import type { Scope, ServerKey } from '../identity/server-keys.ts';
import { KEY_CODES, type Shape } from '../http/endpoint.ts';
import type { Feed, State } from './feed-types.ts';

/**
 * A live channel, declared as data like an endpoint: a WebSocket that receives the whole state of one thing (a room, a pairing) at once and
 * after every change. Router, validation, AsyncAPI and tests read the same declaration.
 */
export interface ChannelDeclaration {
  /** The path, with parameters in braces: `/v1/rooms/{code}/live`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Whether the channel reads the session of the upgrade: the cookie, or a bearer. */
  readonly takesSession?: boolean;
  /**
   * The scope that a server key needs to watch the channel. Undefined: server keys are refused; on a channel that takes no session a key
   * makes no difference.
   */
  readonly keyScope?: Scope;
  /** Headers of the upgrade request that the channel reads, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The shapes of the messages that the service sends, each under its `type`. */
  readonly sends: Readonly<Record<string, z.ZodObject>>;
  /** The shapes of the messages that a client may send, each under its `type`. */
  readonly receives: Readonly<Record<string, z.ZodObject>>;
  /** The messages with which a client acts. They have a rate limit of their own, besides the limit on the requests of the address. */
  readonly acts?: ActMessages;
  /** The error codes that can refuse the upgrade, beyond those of every channel (`channelErrors`). */
  readonly errors: readonly ErrorCode[];
  /**
   * The error codes that mean a wrong guess, such as the code for an unknown room. Each refusal with one of them counts as one miss of the
   * client's address, which limits guessing.
   */
  readonly misses?: readonly ErrorCode[];
}

/** The messages with which a client acts, such as a move of a player. */
export interface ActMessages {
  /** The `type` of acts. If it is the first field of the message, the service recognises the act before it parses the message. */
  readonly type: string;
  /**
   * The error message for an act that lacks a field without which no answer is possible; undefined if the act has all such fields. The
   * channel checks all other fields.
   */
  lacks(message: { readonly [field: string]: unknown }): string | undefined;
  /** The most frames per second of a socket that has a name, which means that its player was admitted. */
  readonly framesPerSecond: number;
  /**
   * The answer to an act that is refused before it is parsed.
   * @param head the message, or its first characters
   */
  refused(head: string, refusal: Refusal): object;
}

/** The validated data of an upgrade request. */
export interface UpgradeCall<Params, Query> {
  readonly params: Params;
  readonly query: Query;
}

/** A connected client, as a channel's handlers see it. */
export interface ChannelSocket<Memory = unknown> {
  /** The id of this connection, which no other connection of any process has. */
  readonly connectionId: string;
  /** The id of the watched thing, such as a room's code or a pairing's token. '' while the socket watches nothing. */
  readonly id: string;
  /** The caller by the session of the upgrade request, if it has a session. */
  readonly sessionCaller: Caller | undefined;
  /**
   * The caller that the credentials in a message name. A token comes before an installId, and an invalid token is refused even if there is
   * an installId.
   * @throws Refusal `session_required` if the token does not verify
   */
  callerOf(credentials: MessageCredentials): Promise<Caller>;
  /** The channel's own data about this connection, made by `memory` of its declaration. */
  readonly memory: Memory;
  /** The latest state of the watched thing. Undefined once the thing no longer exists. */
  readonly state: State | undefined;
  /**
   * From now on the socket watches the thing with this id in place of the earlier thing, and is sent its state. For channels without a
   * `subject`.
   * @param mayWatch asked when the thing was read, before its state is sent
   * @returns false if the socket does not watch the thing: it does not exist, `mayWatch` refused, or the socket has closed
   * @throws Refusal `overloaded` if the thing has the most watchers that it can have
   */
  watch(id: string, mayWatch: () => boolean): Promise<boolean>;
  /** Closes the socket once the messages that were sent to it have gone out. */
  end(code: number, reason: string): void;
  /** The client's address, against which new accounts count. */
  readonly address: string;
  /**
   * Gives the socket a name: from now on it gets the messages and private parts for this name, and no longer those for its earlier name.
   * Undefined: the socket has no name.
   */
  name(name: string | undefined): void;
  /** The server key of a token in a message. @throws Refusal `bad_key` */
  keyOf(token: string): ServerKey;
  /** Counts the socket's messages against this server key instead of the address. Undefined: against the address. */
  readonly chargesTo: (key: ServerKey | undefined) => void;
  /** Notes that the socket's private part has changed. `sendPrivate` is then called soon. */
  privateChanged(): void;
  /** Sends a message. @param message an object to be encoded, or JSON text */
  send(message: object | string): void;
  /** Sends a message once the connection was sent a state of at least this position. 0: at once. */
  sendAfter(position: number, message: string): void;
  /** Sends an error message with the refusal's code. */
  refuse(refusal: Refusal): void;
  readonly isOpen: boolean;
}

/** The credentials in a message: an installId, a session token, or both. */
export interface MessageCredentials {
  readonly installId?: string | undefined;
  readonly sessionToken?: string | undefined;
}

/**
 * A channel's declaration with its handlers.
 * @typeParam Taken the services that the handlers take
 * @typeParam Memory the data that the channel keeps about a connection, and may change
 */
export interface Channel<Taken, Memory = unknown> extends ChannelDeclaration {
  /** The id of the thing to watch, or a refusal of the upgrade. Undefined: the handlers call `watch` once they know what to watch. */
  readonly subject?: (call: UpgradeCall<never, never>) => string | Refusal;
  readonly feed: (services: Taken) => Feed;
  /** Whether the client asks for patches (the changes) in place of whole states. */
  readonly takesPatches?: (query: never) => boolean;
  /** The error code that refuses the upgrade if the thing does not exist. Needed with a `subject`. */
  readonly notFound?: ErrorCode;
  /** Makes the data that the channel keeps about a new connection. */
  readonly memory?: () => Memory;
  readonly opened?: (socket: ChannelSocket<Memory>, services: Taken) => Promise<void>;
  /** The answer to a message that is answered at once, before the messages that wait. Undefined for all other messages. */
  readonly answer?: (message: { type: string; [field: string]: unknown }, services: Taken) => object | undefined;
  /** Called with each message of a client that has a declared shape and that `answer` does not answer. */
  readonly received?: (
    socket: ChannelSocket<Memory>,
    message: { type: string; [field: string]: unknown },
    services: Taken,
  ) => Promise<void>;
  /** Sends the socket its private part if the part has changed since it was last sent. */
  readonly sendPrivate?: (socket: ChannelSocket<Memory>, services: Taken) => Promise<void>;
  /** Called every second. It takes the name from a socket that has lost its right to the name. */
  readonly checked?: (socket: ChannelSocket<Memory>, services: Taken) => void;
  /**
   * Called when nothing has come for some seconds from a connection that has a name and lags. Called again with `isHeard` when something
   * has come. A connection that does not lag is closed.
   */
  readonly silent?: (socket: ChannelSocket<Memory>, services: Taken, isHeard: boolean) => Promise<void>;
  /** @param silentMs for how long nothing had come from a connection that was closed for its silence; else 0 */
  readonly closed?: (socket: ChannelSocket<Memory>, services: Taken, silentMs: number) => Promise<void>;
}

type Output<S, Otherwise> = S extends Shape ? z.output<S> : Otherwise;

/**
 * Declares a channel. The handlers get data of the declared shapes. The types of their last parameters name the services that they need.
 */
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
    subject?: (call: UpgradeCall<Output<Params, undefined>, Output<Query, undefined>>) => string | Refusal;
  },
): Channel<Taken> {
  return declaration as unknown as Channel<Taken>;
}

/** All error codes that can refuse the channel's upgrade. */
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
