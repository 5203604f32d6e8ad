import type { z } from 'zod';
import type { ErrorCode, Refusal } from '../../errors.ts';
import type { Caller } from '../identity/caller.ts';
import type { Shape } from '../http/endpoint.ts';
import type { Feed } from './feed.ts';

/**
 * A live channel is data, as an endpoint is: a WebSocket that is sent the whole state of one thing at once and after
 * every change. Router, validation, AsyncAPI and tests read this one declaration.
 */
export interface ChannelDeclaration {
  /** With parameters in braces: `/v1/rooms/{code}/live`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Headers of the upgrade that it looks at, with what they say. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Messages the service sends, by their `type`. */
  readonly sends: Readonly<Record<string, z.ZodObject>>;
  /** Messages a client may send, by their `type`. */
  readonly receives: Readonly<Record<string, z.ZodObject>>;
  /** Codes that the refused upgrade can answer beyond those every channel has (`channelErrors`). */
  readonly errors: readonly ErrorCode[];
  /** Guessing at it is limited, as for endpoints. */
  readonly misses?: readonly ErrorCode[];
}

/** What an upgrade request says: plain data, checked. */
export interface UpgradeCall<Params, Query> {
  readonly params: Params;
  readonly query: Query;
}

/** One connected client, as a channel's handlers see it. */
export interface ChannelSocket {
  /** Unique among all processes. */
  readonly connectionId: string;
  /** What is watched: the room's code, the pairing's token. */
  readonly id: string;
  /** The caller that its session cookie names, if any. */
  readonly sessionCaller: Caller | undefined;
  /** The caller of an installId that a message brought. */
  callerOf(installId: string): Caller;
  /** Room for what the channel has to remember: whom the connection counts for, and whom it welcomed last as which player. */
  accountId: string | undefined;
  greeted: { readonly accountId: string; readonly playerId: string } | undefined;
  /** The latest state, as it is sent. */
  readonly latest: string;
  send(message: object): void;
  readonly isOpen: boolean;
}

export interface Channel<Services> extends ChannelDeclaration {
  /** What is watched, or why it cannot be. */
  readonly subject: (call: UpgradeCall<never, never>) => string | Refusal;
  readonly feed: (services: Services) => Feed;
  /** The refusal where the feed knows no such thing. */
  readonly notFound: ErrorCode;
  readonly opened?: (socket: ChannelSocket, services: Services) => Promise<void>;
  /** A message that passed its shape. */
  readonly received?: (socket: ChannelSocket, message: { type: string; [field: string]: unknown }, services: Services) => Promise<void>;
  readonly closed?: (socket: ChannelSocket, services: Services) => Promise<void>;
}

type Output<S, Otherwise> = S extends Shape ? z.output<S> : Otherwise;

/** Declares a channel; its handlers are typed by the declaration itself. */
export function channelFor<Services>() {
  return function channel<Params extends z.ZodObject | undefined, Query extends z.ZodObject | undefined>(
    declaration: Omit<Channel<Services>, 'params' | 'query' | 'subject'> & {
      params?: Params;
      query?: Query;
      subject: (call: UpgradeCall<Output<Params, undefined>, Output<Query, undefined>>) => string | Refusal;
    },
  ): Channel<Services> {
    return declaration as unknown as Channel<Services>;
  };
}

/** Codes that any channel's upgrade can answer with. */
export function channelErrors(channel: ChannelDeclaration): ErrorCode[] {
  return [
    ...new Set<ErrorCode>([
      ...channel.errors,
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
