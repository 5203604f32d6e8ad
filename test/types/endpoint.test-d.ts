import { z } from 'zod';
import type { features } from '../../src/api.ts';
import { endpoint, type Services } from '../../src/declare.ts';
import { refuse } from '../../src/errors.ts';
import { Reply, Unchecked, type Endpoint } from '../../src/server/http/endpoint.ts';

/**
 * The types that an endpoint's declaration gives its handler. `tsc` checks this file (`npm run check`); it never runs.
 * The line below each `@ts-expect-error` must not compile: `tsc` fails if it does. All other lines must compile, and show
 * that the mistake alone makes the difference.
 */

const bare = {
  method: 'POST',
  path: '/v1/seats/{code}',
  summary: 'Takes a seat.',
  example: 'curl $base/v1/seats/BCDFG',
  reply: z.object({ balanceCoins: z.number(), top: z.array(z.string()).optional() }),
} as const;
const common = {
  ...bare,
  params: z.object({ code: z.string() }),
  query: z.object({ wait: z.string().optional() }),
  body: z.object({ name: z.string(), seat: z.number().optional() }),
  errors: ['room_full', 'room_locked'],
} as const;
const seat = { ...common, caller: 'required' } as const;
const done = { balanceCoins: 1 };

// A handler returns declared error codes only.
endpoint({ ...seat, handle: () => refuse('room_full') });
endpoint({ ...seat, handle: async ({ body }) => (body.name === '' ? refuse('room_full') : refuse('room_locked')) });
// @ts-expect-error not_host is not declared
endpoint({ ...seat, handle: () => refuse('not_host') });
// @ts-expect-error one of two codes is not declared
endpoint({ ...seat, handle: async ({ body }) => (body.name === '' ? refuse('room_full') : refuse('not_host')) });
endpoint({ ...seat, handle: () => new Unchecked(refuse('room_full')) });
// @ts-expect-error not_host is not declared
endpoint({ ...seat, handle: () => new Unchecked(refuse('not_host')) });
// @ts-expect-error no_such_code is no error code
endpoint({ ...seat, errors: ['no_such_code'], handle: () => done });

// session_required follows from each caller rule that refuses an invalid bearer, sign_in_required from each rule that names an
// account which may have moved.
endpoint({ ...seat, handle: () => refuse('sign_in_required') });
endpoint({ ...common, caller: 'optional', handle: () => refuse('sign_in_required') });
endpoint({ ...common, caller: 'install', handle: () => refuse('session_required') });
endpoint({ ...common, caller: 'lenient', handle: () => refuse('session_required') });
// @ts-expect-error caller: 'none' reads no bearer
endpoint({ ...common, caller: 'none', handle: () => refuse('session_required') });
// @ts-expect-error caller: 'any' refuses no bearer
endpoint({ ...common, caller: 'any', handle: () => refuse('session_required') });
// @ts-expect-error caller: 'none' names no account
endpoint({ ...common, caller: 'none', handle: () => refuse('sign_in_required') });
// @ts-expect-error caller: 'lenient' treats a moved account as no caller
endpoint({ ...common, caller: 'lenient', handle: () => refuse('sign_in_required') });

// A reply has the declared fields, each of its type.
endpoint({ ...seat, handle: () => done });
endpoint({ ...seat, handle: async () => ({ ...done, top: ['Ada'] }) });
endpoint({ ...seat, handle: () => new Reply(done, { cookies: ['seat=1'] }) });
// @ts-expect-error balanceCoins is missing
endpoint({ ...seat, handle: () => ({}) });
// @ts-expect-error balanceCoins is a number
endpoint({ ...seat, handle: () => ({ balanceCoins: '1' }) });
// @ts-expect-error top holds strings
endpoint({ ...seat, handle: async () => ({ ...done, top: [1] }) });
// @ts-expect-error balanceCoins is a number
endpoint({ ...seat, handle: () => new Reply({ balanceCoins: '1' }) });
// @ts-expect-error balanceCoins is missing
endpoint({ ...seat, handle: () => new Unchecked({}) });
// @ts-expect-error one branch returns no reply
endpoint({ ...seat, handle: ({ body }) => (body.name === '' ? undefined : done) });

// A call holds the declared data, each of its type.
endpoint({ ...seat, handle: ({ body }) => ({ balanceCoins: body.name.length }) });
endpoint({ ...seat, handle: ({ query }) => ({ balanceCoins: query.wait?.length ?? 0 }) });
endpoint({ ...seat, handle: ({ params }) => ({ balanceCoins: params.code.length }) });
// @ts-expect-error the body has no field coins
endpoint({ ...seat, handle: ({ body }) => ({ balanceCoins: Number(body.coins) }) });
// @ts-expect-error the query has no field since
endpoint({ ...seat, handle: ({ query }) => ({ balanceCoins: Number(query.since) }) });
// @ts-expect-error the path has no parameter room
endpoint({ ...seat, handle: ({ params }) => ({ balanceCoins: Number(params.room) }) });
// @ts-expect-error seat is optional
endpoint({ ...seat, handle: ({ body }) => ({ balanceCoins: body.seat }) });
endpoint({ ...bare, caller: 'none', handle: () => done });
// @ts-expect-error there are no parameters
endpoint({ ...bare, caller: 'none', handle: ({ params }) => ({ balanceCoins: Number(params?.code) }) });
// @ts-expect-error there is no query
endpoint({ ...bare, caller: 'none', handle: ({ query }) => ({ balanceCoins: Number(query?.wait) }) });
// @ts-expect-error there is no body
endpoint({ ...bare, caller: 'none', handle: ({ body }) => ({ balanceCoins: Number(body?.name) }) });
// @ts-expect-error nothing is declared
endpoint({ ...bare, caller: 'none', handle: () => refuse('not_host') });

// The caller rule says whether there is a caller.
endpoint({ ...common, caller: 'required', handle: ({ caller }) => ({ balanceCoins: caller.accountId.length }) });
endpoint({ ...common, caller: 'session', handle: ({ caller }) => ({ balanceCoins: caller.accountId.length }) });
endpoint({ ...common, caller: 'optional', handle: ({ caller }) => ({ balanceCoins: caller?.accountId.length ?? 0 }) });
endpoint({ ...common, caller: 'any', handle: ({ caller }) => ({ balanceCoins: caller?.accountId.length ?? 0 }) });
// @ts-expect-error there may be no caller
endpoint({ ...common, caller: 'optional', handle: ({ caller }) => ({ balanceCoins: caller.accountId.length }) });
// @ts-expect-error there may be no caller
endpoint({ ...common, caller: 'lenient', handle: ({ caller }) => ({ balanceCoins: caller.accountId.length }) });
// @ts-expect-error there is no caller
endpoint({ ...common, caller: 'none', handle: ({ caller }) => ({ balanceCoins: caller?.accountId.length ?? 0 }) });
// @ts-expect-error there is no such caller rule
endpoint({ ...common, caller: 'anybody', handle: () => done });

// The type of a handler's second parameter names the services that it takes. Without a type it gets none.
endpoint({ ...seat, handle: (_, { now }: Pick<Services, 'now'>) => ({ balanceCoins: now() }) });
// @ts-expect-error no service is named
endpoint({ ...seat, handle: (_, { now }) => ({ balanceCoins: now() }) });
// @ts-expect-error the sandbox is there only with STORE=sandbox
endpoint({ ...seat, handle: (_, { sandbox }: Pick<Services, 'sandbox'>) => ({ balanceCoins: String(sandbox.keys).length }) });

// The caller of a handler passes the services that the handler names. The table of contents passes all.
const timed = endpoint({ ...seat, handle: (_, { now }: Pick<Services, 'now'>) => ({ balanceCoins: now() }) });
timed.handle({} as never, { now: Date.now });
// @ts-expect-error now is missing
timed.handle({} as never, {});
timed satisfies Endpoint<Services>;
// @ts-expect-error there is no such service
endpoint({ ...seat, handle: (_, { clock }: { clock: number }) => ({ balanceCoins: clock }) }) satisfies Endpoint<Services>;

// No endpoint takes all services. If an endpoint does, the error of a line below names its route.
type TakesAll<E> = E extends Endpoint<infer Taken> ? (keyof Services extends keyof Taken ? E : never) : never;
const takesAll = <E>() => undefined as unknown as TakesAll<E>;
takesAll<(typeof features)[keyof typeof features][number]>() satisfies never;
takesAll<typeof timed>() satisfies never;
const greedy = endpoint({ ...seat, handle: (_, { now }: Services) => ({ balanceCoins: now() }) });
// @ts-expect-error this endpoint takes all services
takesAll<typeof greedy | typeof timed>() satisfies never;
