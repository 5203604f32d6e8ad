import { api as publicApi } from '../src/api.ts';
import { endpoints } from '../src/apart/sandbox/door.ts';
import type { Services } from '../src/declare.ts';
import type { Endpoint } from '../src/server/http/endpoint.ts';

/** Every endpoint that a service with STORE=sandbox serves, but those of operators. */
export const api: readonly Endpoint<Services>[] = [...publicApi, ...endpoints];
