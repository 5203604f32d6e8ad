import { setImmediate as nextTurn } from 'node:timers/promises';
import type { z } from 'zod';
import { Refusal } from '../../errors.ts';
import { Encoded, Reply, type Call, type Endpoint, type EndpointDeclaration, type RequestMeta } from '../../server/http/endpoint.ts';
import { KEY_MAKING_MS } from './signing-keys.ts';
import { ofSandbox, type SandboxServices, type ServicesWithStore } from './sandbox-services.ts';

type Checked<S> = S extends z.ZodType ? z.output<S> : undefined;

/** What a stand-in answers. A plain object is sent as the store's JSON with status 200. */
type StandInAnswer<Body> = Body | Reply<Encoded> | Refusal<'store_unavailable'>;

/** The differences between the stores, as far as they concern all endpoints of a store. */
export interface Manner {
  readonly mediaType: string;
  /** The store's answer during an outage. */
  readonly unavailable: () => Reply<Encoded>;
}

type RequestRefusal = Reply<Encoded> | Refusal<'store_unavailable'> | undefined;

export type StandInDeclaration<Params, Query, Body, ReplyShape> = Pick<
  EndpointDeclaration,
  'method' | 'path' | 'operationId' | 'summary' | 'description' | 'form' | 'emptyBody' | 'example' | 'headers'
> & {
  params?: Params;
  query?: Query;
  body?: Body;
  reply: ReplyShape;
  handle: (
    call: Call<Checked<Params>, Checked<Query>, Checked<Body>, undefined>,
    services: SandboxServices,
  ) => StandInAnswer<z.input<ReplyShape>> | Promise<StandInAnswer<z.input<ReplyShape>>>;
};

/**
 * Declares an endpoint of the sandbox that stands in for an endpoint of a store. The endpoint answers in the store's format, without `ok`.
 * The service itself calls these endpoints while it serves a request, for example to verify a token. So no limit counts these calls, not
 * even MAX_IN_FLIGHT. Otherwise a service at its limit could not finish the requests that it has begun.
 */
export function standInEndpoint<
  Params extends z.ZodObject | undefined,
  Query extends z.ZodObject | undefined,
  Body extends z.ZodObject | undefined,
  ReplyShape extends z.ZodObject,
>(
  { handle, ...described }: StandInDeclaration<Params, Query, Body, ReplyShape>,
  { mediaType, unavailable }: Manner,
  {
    refuseRequest,
    hasFaults,
  }: {
    /** The store's refusal of a request without a valid credential. */
    readonly refuseRequest?: ((meta: RequestMeta, services: SandboxServices) => Promise<RequestRefusal>) | undefined;
    /** Whether SANDBOX_CHAOS makes the endpoint fail. */
    readonly hasFaults: boolean;
  },
): Endpoint<ServicesWithStore> {
  return {
    ...described,
    caller: 'none',
    errors: ['store_unavailable'],
    mediaType,
    probe: true,
    unlimited: true,
    deadlineMs: KEY_MAKING_MS,
    async handle(call, services) {
      const sandboxServices = ofSandbox(services);
      // Even a refusal costs some 300 µs. The answer is sent in a later turn of the event loop. So if a connection has sent more requests
      // ahead, uWS ends it.
      await nextTurn();
      const refusal = await refuseRequest?.(call.meta, sandboxServices);
      if (refusal !== undefined) return refusal;
      const fate = (await (hasFaults ? sandboxServices.sandbox.chaos : undefined)?.ofCall()) ?? 'works';
      if (fate === 'fails') return unavailable();
      const answer = await handle(call, sandboxServices);
      if (fate === 'fails_afterwards') return unavailable();
      return answer instanceof Reply || answer instanceof Refusal ? answer : new Reply(new Encoded(JSON.stringify(answer)));
    },
  };
}
