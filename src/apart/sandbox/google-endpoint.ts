import { setImmediate as nextTurn } from 'node:timers/promises';
import type { z } from 'zod';
import { Refusal } from '../../errors.ts';
import { Reply, type Call, type Encoded, type Endpoint, type EndpointDeclaration } from '../../server/http/endpoint.ts';
import { refuseBearer, scopes, type Scope } from './issue-access-token.ts';
import { GOOGLE_JSON, googleReply, unavailable } from './google-reply.ts';
import { KEY_MAKING_MS } from './signing-keys.ts';
import { ofSandbox, type SandboxServices, type ServicesWithStore } from './sandbox-services.ts';

type Checked<S> = S extends z.ZodType ? z.output<S> : undefined;

/** What a stand-in answers. A plain object is sent as Google's JSON with status 200. */
type GoogleAnswer<Body> = Body | Reply<Encoded> | Refusal<'store_unavailable'>;

/**
 * Declares an endpoint of the sandbox that stands in for one of Google's. The endpoint answers in Google's format, without `ok`. The
 * service itself is its client, so the endpoint counts against no limit, MAX_IN_FLIGHT included. Otherwise a service at its limit could not
 * verify the tokens of the requests that it is serving.
 */
export function googleEndpoint<
  Params extends z.ZodObject | undefined,
  Query extends z.ZodObject | undefined,
  Body extends z.ZodObject | undefined,
  ReplyShape extends z.ZodObject,
>(
  declaration: Pick<
    EndpointDeclaration,
    'method' | 'path' | 'operationId' | 'summary' | 'description' | 'form' | 'emptyBody' | 'example'
  > & {
    /**
     * The scope that the request's access token must have; without it the answer is 401 or 403 in Google's format. Undefined: no access
     * token is needed.
     */
    scope?: Scope;
    params?: Params;
    query?: Query;
    body?: Body;
    reply: ReplyShape;
    handle: (
      call: Call<Checked<Params>, Checked<Query>, Checked<Body>, undefined>,
      services: SandboxServices,
    ) => GoogleAnswer<z.input<ReplyShape>> | Promise<GoogleAnswer<z.input<ReplyShape>>>;
  },
): Endpoint<ServicesWithStore> {
  const { scope, handle, ...described } = declaration;
  return {
    ...described,
    caller: 'none',
    errors: ['store_unavailable'],
    mediaType: GOOGLE_JSON,
    probe: true,
    unlimited: true,
    deadlineMs: KEY_MAKING_MS,
    ...(scope === undefined ? {} : { headers: { authorization: 'Bearer and an access token.' } }),
    async handle(call, services) {
      const sandboxServices = ofSandbox(services);
      // Even a refusal costs some 300 µs. Because the answer is sent in a later turn of the event loop, uWS ends a connection that sends
      // more requests ahead.
      await nextTurn();
      const refusal = scope === undefined ? undefined : await refuseBearer(call.meta, scope, sandboxServices);
      if (refusal !== undefined) return refusal;
      const chaos = scope === scopes.publisher ? sandboxServices.sandbox.chaos : undefined;
      const fate = (await chaos?.ofCall()) ?? 'works';
      if (fate === 'fails') return unavailable();
      const answer = await handle(call, sandboxServices);
      if (fate === 'fails_afterwards') return unavailable();
      return answer instanceof Reply || answer instanceof Refusal ? answer : googleReply(answer);
    },
  };
}
