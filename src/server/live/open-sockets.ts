import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { invalid, rateLimited, refuse, Refusal } from '../../errors.ts';
import { Held } from '../admission.ts';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import type { KeyCheck } from '../identity/key-check.ts';
import { callerFrom } from '../identity/caller.ts';
import type { Arrivals } from './arrivals.ts';
import type { Channel } from './channel.ts';
import type { Exchange } from '../http/exchange.ts';
import { closeCodes } from './close-codes.ts';
import type { WatchedTopics } from './watched-topics.ts';
import { LiveSocket, type SocketData, type SocketHost } from './socket.ts';
import { UpgradedClient } from './socket-client.ts';
import { REDIS_DEADLINE_MS, type PipelineOptions } from '../http/pipeline.ts';
import { invalidBearer, refusalOf, sendRefusal } from '../http/error-answer.ts';
import { checkParams, checkQuery } from '../http/request-data.ts';
import { refuseKey } from '../http/server-key-credential.ts';
import { refuseHandshake } from './handshake.ts';
import type { Session } from '../identity/sessions.ts';
import type { Topic } from './topic.ts';
import type { UpgradeCork } from './upgrade-cork.ts';
import type { UpgradeContext } from '../uws.ts';

export interface OpenSocketsOptions<Services> extends Omit<PipelineOptions<Services>, 'overload' | 'costlyWork'> {
  readonly topics: WatchedTopics;
  readonly upgradeCork: UpgradeCork;
  readonly watchersPerTopic: number;
  readonly arrivals: Arrivals;
  readonly keyCheck: KeyCheck;
}

/**
 * The WebSockets of this process. This class admits sockets and counts them, closes sockets that do not read, and closes all sockets when
 * the server drains. `features/rooms/presence.ts` ends the connections of players who are banned or whose session ends.
 */
export class OpenSockets<Services> implements SocketHost<Services> {
  readonly #options: OpenSocketsOptions<Services>;
  readonly #sockets = new Set<LiveSocket<Services>>();
  readonly #pacing: NodeJS.Timeout;
  #draining = false;

  constructor(options: OpenSocketsOptions<Services>) {
    this.#options = options;
    this.#pacing = setInterval(() => this.#checkPace(), PACE_INTERVAL_MS);
  }

  get count(): number {
    return this.#sockets.size;
  }

  /** Answers an upgrade request with a socket or a refusal. */
  async admit(channel: Channel<Services>, exchange: Exchange, params: readonly string[], context: UpgradeContext): Promise<void> {
    const held = new Held(this.#options.admission, exchange.group);
    let admitted = false;
    try {
      const socket = await this.#prepare(channel, exchange, params, held);
      held.settleMiss(socket, channel.misses);
      if (socket instanceof Refusal) return this.#refuse(exchange, socket);
      // The refusal is checked in the same turn of the event loop as the upgrade. During an `await` the server could start to drain, or the
      // topic could reach its highest number of watchers.
      const refusal = this.#refusal(socket.topic);
      if (refusal !== undefined || exchange.isFinished) {
        socket.abandon();
        return refusal && this.#refuse(exchange, refusal);
      }
      admitted = true;
      this.#sockets.add(socket);
      exchange.upgrade({ live: socket } satisfies SocketData<Services>, context, this.#options.upgradeCork);
    } catch (error) {
      held.giveBack('misses');
      this.#refuse(exchange, refusalOf(error, exchange, channel.path, this.#options.log));
    } finally {
      if (!admitted) held.giveBack('sockets');
    }
  }

  /** Refuses a request to a channel's path that uWS does not treat as an upgrade. */
  refuseOther(exchange: Exchange): void {
    this.#refuse(exchange, refuseHandshake(exchange.headers) ?? invalid('upgrade', 'Must be websocket'));
  }

  /** Closes all sockets with code 1001, spread over `spreadMs` so that the clients do not all reconnect at once. */
  async drain(spreadMs: number): Promise<void> {
    this.#draining = true;
    clearInterval(this.#pacing);
    const all = [...this.#sockets];
    const steps = Math.ceil(spreadMs / DRAIN_STEP_MS);
    const perStep = Math.max(MINIMUM_A_STEP, Math.ceil(all.length / steps));
    for (let start = 0; start < all.length; start += perStep) {
      for (const socket of all.slice(start, start + perStep)) socket.end(closeCodes.goingAway, 'going away');
      if (start + perStep < all.length) await new Promise((resolve) => setTimeout(resolve, DRAIN_STEP_MS));
    }
  }

  async #prepare(
    channel: Channel<Services>,
    exchange: Exchange,
    params: readonly string[],
    held: Held,
  ): Promise<LiveSocket<Services> | Refusal> {
    const { origins, services, topics } = this.#options;
    const { origin, host, bearer, fetchSite } = exchange.headers;
    const handshakeRefusal = refuseHandshake(exchange.headers);
    if (handshakeRefusal !== undefined) return handshakeRefusal;
    const { key } = exchange;
    const keyRefusal = key && (channel.keyScope !== undefined || channel.takesSession === true) ? refuseKey(key, channel) : undefined;
    if (keyRefusal !== undefined) return keyRefusal;
    // A request with a bearer does not come from a foreign page: browsers attach no bearer to an upgrade.
    if (bearer === undefined && origins.isForeign(origin, host))
      return refuse('cross_site', { message: 'A page of another origin may not open this channel.' });
    const socketWaitMs = await held.reserve('sockets');
    if (socketWaitMs > 0) return rateLimited(socketWaitMs, 'Too many channels from this address.');
    const missWaitMs = channel.misses === undefined || key !== undefined ? 0 : await held.reserve('misses');
    if (missWaitMs > 0) return rateLimited(missWaitMs);
    const query = checkQuery(channel.query, exchange);
    const id = channel.subject?.({ params: checkParams(channel.params, params), query } as never);
    if (id instanceof Refusal) return id;
    const early = await this.#awaitTurn(exchange, id === undefined ? channel.path : channel.feed(services).channel(id));
    if (early !== undefined) return early;
    const session = await this.#sessionOf(channel, exchange);
    if (session instanceof Refusal) return session;
    exchange.identified(session?.accountId);
    const topic = id === undefined ? undefined : await topics.watch(channel.feed(services), id);
    if (id !== undefined && topic === undefined) return refuse(channel.notFound!);
    return new LiveSocket({
      host: this,
      channel,
      client: new UpgradedClient(this.#options, exchange, session, held),
      topic,
      takesPatches: channel.takesPatches?.(query as never) === true,
    });
  }

  /** Holds an upgrade back until its turn. The exchange does not count as a request in flight meanwhile. @returns the refusal, if any */
  async #awaitTurn(exchange: Exchange, thing: string): Promise<Refusal | undefined> {
    const { arrivals, redisDeadlineMs = REDIS_DEADLINE_MS } = this.#options;
    const waitMs = arrivals.take();
    if (typeof waitMs !== 'number') {
      arrivals.note(exchange.address, thing);
      return waitMs;
    }
    if (waitMs < 1) return undefined;
    exchange.park(waitMs + redisDeadlineMs, waitMs);
    await pause(waitMs);
    return undefined;
  }

  /**
   * The session of an upgrade. The session of a bearer is checked in Redis. If it has ended, the client is refused instead of only
   * watching.
   */
  async #sessionOf(channel: Channel<Services>, exchange: Exchange): Promise<Session | undefined | Refusal> {
    const { sessions, checkCaller } = this.#options;
    const { cookie, bearer } = exchange.headers;
    if (channel.takesSession !== true || exchange.key !== undefined) return undefined;
    if (bearer === undefined) return sessions.ofCookies(cookie);
    const session = sessions.find(bearer);
    if (session === undefined) return invalidBearer();
    try {
      await checkCaller(callerFrom(exchange, session.accountId, session, undefined));
    } catch (error) {
      if (error instanceof SessionEnded) sessions.markEnded(session);
      throw error;
    }
    return session;
  }

  get services(): Services {
    return this.#options.services;
  }

  get log(): Logger {
    return this.#options.log;
  }

  /** The topic that a socket asks for after its upgrade. @throws Refusal `overloaded` */
  async find(channel: Channel<Services>, id: string): Promise<Topic | undefined> {
    const { topics, services } = this.#options;
    const topic = await topics.watch(channel.feed(services), id);
    const refusal = topic && this.#refusal(topic);
    if (refusal === undefined) return topic;
    topic!.release();
    throw refusal;
  }

  closed(socket: LiveSocket<Services>): void {
    this.#sockets.delete(socket);
    socket.client.left();
  }

  #refusal(topic: Topic | undefined): Refusal | undefined {
    if (this.#draining) return refuse('overloaded', { message: 'This server is going away.', retryAfterMs: 1000 });
    if (topic === undefined || topic.watcherCount < this.#options.watchersPerTopic) return undefined;
    return refuse('overloaded', { message: 'This already has the highest number of watchers.', retryAfterMs: 10_000 });
  }

  #refuse(exchange: Exchange, refusal: Refusal): void {
    const cors = this.#options.origins.corsHeaders(exchange.headers.origin);
    sendRefusal(exchange, refusal, refusal.code === 'upgrade_required' ? [...VERSION_SPOKEN, ...cors] : cors);
  }

  #checkPace(): void {
    const now = performance.now();
    for (const socket of this.#sockets) socket.sendQueue.checkPace(now);
    this.check();
  }

  /** Checks the credentials of all sockets, and repeats failed work. */
  check(): void {
    for (const socket of this.#sockets) socket.check();
  }
}

/** Headers that a 426 answer must have (RFC 6455, section 4.2.2; RFC 9110, section 15.5.22). */
const VERSION_SPOKEN = [
  ['sec-websocket-version', '13'],
  ['upgrade', 'websocket'],
] as const;

const PACE_INTERVAL_MS = 1000;
const DRAIN_STEP_MS = 100;
const MINIMUM_A_STEP = 20;
