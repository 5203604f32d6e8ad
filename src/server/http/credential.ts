import type { Refusal } from '../../errors.ts';
import type { Caller } from '../identity/caller.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import type { Session } from '../identity/sessions.ts';
import type { RequestMeta } from './endpoint.ts';

/**
 * The way in which a request names its caller in one attempt to answer the request. If the credential is refused, a second attempt may
 * follow with another credential.
 */
export interface Credential {
  readonly session: Session | undefined;
  readonly key: ServerKey | undefined;
  /** Whether the installId of the request is removed without a check, even if it is malformed. */
  readonly ignoresInstallId: boolean;
  /**
   * The caller of a validated call, by the rules of `CallerRule`.
   * @throws Refusal
   */
  callerOf(call: PlainCall): Identified | Promise<Identified>;
  /**
   * The credential for another attempt, after an attempt has failed with this error. Undefined: there is no other attempt, and the error is
   * the answer.
   * @throws Refusal
   */
  after(error: unknown, call: PlainCall): Credential | undefined | Promise<Credential>;
}

export type Identified = Caller | undefined | Refusal;

/** The data of a request as in `Call`, but without the types of an endpoint. */
export interface PlainCall {
  readonly params: unknown;
  readonly query: Record<string, unknown> | undefined;
  readonly body: Record<string, unknown> | undefined;
  readonly session: Session | undefined;
  readonly key: ServerKey | undefined;
  readonly meta: RequestMeta;
  /** The caller; set once the data is valid and the caller is known. */
  caller: Caller | undefined;
}
