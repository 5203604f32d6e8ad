import { errors, type ErrorCode } from '../../errors.ts';
import { declaredErrors } from '../../server/http/endpoint.ts';
import { channelErrors } from '../../server/live/channel.ts';
import { channelIdOf, type Channels } from '../documents/asyncapi.ts';
import type { Features } from '../documents/openapi.ts';
import { operationNameOf } from '../documents/operation-names.ts';
import { referencePath } from './reference-page.ts';

/** An endpoint or channel that can answer with a code. */
export interface Giver {
  /** The HTTP method of the endpoint, or `WS` for a channel that refuses its upgrade with the code. */
  readonly method: string;
  readonly path: string;
  /** The address of the endpoint's or channel's section in the documentation. */
  readonly href: string;
}

export type ErrorGivers = Readonly<Record<ErrorCode, readonly Giver[]>>;

/** The endpoints and channels that declare each error code: endpoints first, then channels. */
export function errorGivers(features: Features, channels: Channels): ErrorGivers {
  const endpoints = Object.entries(features).flatMap(([tag, ofTag]) => ofTag.map((endpoint) => ({ tag, endpoint })));
  const entries = (Object.keys(errors) as ErrorCode[]).map((code): [ErrorCode, Giver[]] => [
    code,
    [
      ...endpoints
        .filter(({ endpoint }) => declaredErrors(endpoint).includes(code))
        .map(({ tag, endpoint }) => ({
          method: endpoint.method,
          path: endpoint.path,
          href: referencePath(tag, operationNameOf(endpoint)),
        })),
      ...channels
        .filter((channel) => channelErrors(channel).includes(code))
        .map(({ path }) => ({ method: 'WS', path, href: `/docs/channels#${channelIdOf(path)}` })),
    ],
  ]);
  return Object.fromEntries(entries) as unknown as ErrorGivers;
}
