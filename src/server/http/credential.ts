import type { Refusal } from '../../errors.ts';
import type { Caller } from '../identity/caller.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import type { Session } from '../identity/sessions.ts';
import type { RequestMeta } from './endpoint.ts';

/** How a request names its caller in one attempt to answer it. The next attempt has another credential. */
export interface Credential {
  readonly session: Session | undefined;
  readonly key: ServerKey | undefined;
  /** The installId of the request is dropped unchecked, even if it is malformed. */
  readonly ignoresInstallId: boolean;
  /**
   * The caller of a validated call, by the rules of `CallerRule`.
   * @throws Refusal
   */
  callerOf(call: PlainCall): Identified | Promise<Identified>;
  /**
   * The credential of the attempt that follows a failed one. Undefined: the error is the answer.
   * @throws Refusal
   */
  after(error: unknown, call: PlainCall): Credential | undefined | Promise<Credential>;
}

export type Identified = Caller | undefined | Refusal;

/** As `Call`, without the types of an endpoint. */
export interface PlainCall {
  readonly params: unknown;
  readonly query: Record<string, unknown> | undefined;
  readonly body: Record<string, unknown> | undefined;
  readonly session: Session | undefined;
  readonly key: ServerKey | undefined;
  readonly meta: RequestMeta;
  /** Set after the data was validated. */
  caller: Caller | undefined;
}
