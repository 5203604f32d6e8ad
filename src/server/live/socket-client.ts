import { refuse, Refusal } from '../../errors.ts';
import { accountIdOf } from '../../accounts/ids.ts';
import type { Admission, Held } from '../admission.ts';
import type { Exchange } from '../http/exchange.ts';
import { invalidBearer } from '../http/error-answer.ts';
import { callerFrom, type Caller } from '../identity/caller.ts';
import type { KeyCheck } from '../identity/key-check.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import type { Session, Sessions } from '../identity/sessions.ts';
import type { MessageCredentials } from './channel.ts';

/** The client of a live channel: its address, the caller for whom it may act, and the limits against which its messages count. */
export interface SocketClient {
  readonly address: string;
  /**
   * Whether the session of `sessionCaller` came as a bearer. If a bearer's session has ended, the client gets an error; if a cookie's
   * session has ended, the client only watches.
   */
  readonly hasBearer: boolean;
  /** The caller that the session of the upgrade names. */
  sessionCaller(): Caller | undefined;
  callerOf(credentials: MessageCredentials): Promise<Caller>;
  /** @throws Refusal if the token is no server key */
  keyOf(token: string): ServerKey;
  /**
   * Counts a message against the request limit of its address, or against the limit of the server key. Returns 0 if the message may pass,
   * else the milliseconds to wait. Without this count, 19 messages a second on each of 200 sockets used 88 % of Redis's time, and a coin
   * credit took 133 ms instead of 2.
   */
  charge(key: ServerKey | undefined): number;
  /**
   * Counts an act against the limit on the acts of its address, or against the limit of the server key. Returns 0 if the act may pass, else
   * the milliseconds to wait.
   */
  chargeAct(key: ServerKey | undefined): number;
  /** Gives back the reservations of the socket. */
  left(): void;
}

/** The parts of a process that identify and limit its clients. */
interface Limits {
  readonly admission: Admission;
  readonly sessions: Sessions;
  readonly keyCheck: KeyCheck;
}

/** The client that sent an upgrade. There may be ten thousand at a time, so each keeps only a few fields, and no functions of its own. */
export class UpgradedClient implements SocketClient {
  readonly address: string;
  readonly hasBearer: boolean;
  readonly #group: string;
  readonly #origin: string;
  readonly #fetchSite: string;
  readonly #key: ServerKey | undefined;
  readonly #limits: Limits;
  readonly #session: Session | undefined;
  readonly #held: Held;

  constructor(limits: Limits, exchange: Exchange, session: Session | undefined, held: Held) {
    const { origin, fetchSite, bearer } = exchange.headers;
    this.address = exchange.address;
    this.hasBearer = bearer !== undefined;
    this.#group = exchange.group;
    this.#origin = origin;
    this.#fetchSite = fetchSite;
    this.#key = exchange.key;
    this.#limits = limits;
    this.#session = session;
    this.#held = held;
  }

  sessionCaller(): Caller | undefined {
    return this.#session && this.#callerOf(this.#session.accountId, this.#session);
  }

  async callerOf({ installId, sessionToken }: MessageCredentials): Promise<Caller> {
    if (sessionToken === undefined) return this.#callerOf(accountIdOf(installId!), undefined);
    const named = this.#limits.sessions.find(sessionToken);
    if (named === undefined) throw invalidBearer();
    return this.#callerOf(named.accountId, named);
  }

  #callerOf(accountId: string, session: Session | undefined): Caller {
    return callerFrom({ address: this.address }, accountId, session, this.#limits.admission);
  }

  keyOf(token: string): ServerKey {
    const browser = { origin: this.#origin, fetchSite: this.#fetchSite };
    const found = this.#limits.keyCheck.check({ bearer: token, ...browser }, () => this.address, { isIgnored: false }) ?? refuse('bad_key');
    if (found instanceof Refusal) throw found;
    return found;
  }

  charge(key: ServerKey | undefined): number {
    return this.#chargeKey(key) ?? this.#limits.admission.charge(this.#group);
  }

  chargeAct(key: ServerKey | undefined): number {
    return this.#chargeKey(key) ?? this.#limits.admission.chargeAct(this.#group);
  }

  #chargeKey(key = this.#key): number | undefined {
    return key && this.#limits.admission.chargeKey(key.id);
  }

  left(): void {
    this.#held.giveBack('sockets');
  }
}
