import type { z } from 'zod';
import type { Endpoint } from '../../../server/http/endpoint.ts';
import { GOOGLE_JSON, unavailable } from './google-reply.ts';
import { refuseBearer, scopes, type Scope } from './issue-access-token.ts';
import type { ServicesWithStore } from '../sandbox-services.ts';
import { standInEndpoint, type StandInDeclaration } from '../stand-in-endpoint.ts';

/** Declares an endpoint of the sandbox that stands in for an endpoint of Google's. */
export function googleEndpoint<
  Params extends z.ZodObject | undefined,
  Query extends z.ZodObject | undefined,
  Body extends z.ZodObject | undefined,
  ReplyShape extends z.ZodObject,
>({
  scope,
  ...declaration
}: StandInDeclaration<Params, Query, Body, ReplyShape> & {
  /**
   * The scope that the request's access token must have; without it the answer is 401 or 403 in Google's format. Undefined: no access
   * token is needed.
   */
  scope?: Scope;
}): Endpoint<ServicesWithStore> {
  const headers = scope === undefined ? {} : { headers: { authorization: 'Bearer and an access token.' } };
  return standInEndpoint(
    { ...declaration, ...headers } as StandInDeclaration<Params, Query, Body, ReplyShape>,
    { mediaType: GOOGLE_JSON, unavailable },
    {
      refuseRequest: scope === undefined ? undefined : (meta, services) => refuseBearer(meta, scope, services),
      hasFaults: scope === scopes.publisher,
    },
  );
}
