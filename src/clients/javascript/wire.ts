// Only types: the service's declarations of endpoints, in the form that the client needs. The client's package has these types written out
// (scripts/pack-client.mjs), because the declarations need zod and other files of the service.
import type { features } from '../../api.ts';
import type { RefusalDetails, RequiredDetails } from '../../errors.ts';
import type { actions } from '../../features/rooms/actions.ts';
import type { actCodes } from '../../features/rooms/room-acts.ts';

type Endpoints = (typeof features)[keyof typeof features][number];
type WireOf<E> = E extends { readonly wire?: infer W } ? Exclude<W, undefined> : never;
type Declared = WireOf<Endpoints>;

/** The same fields, but texts may also be numbers, because the client writes path parameters and the query into the address. */
type Loose<T> = { [K in keyof T]: string extends T[K] ? T[K] | number : T[K] };

/** The fields with credentials, which the client adds itself. */
type Credential = 'installId' | 'session';

type Input<W> = W extends { route: `GET ${string}`; input: infer I }
  ? Loose<Omit<I, Credential>>
  : W extends { input: infer I }
    ? Omit<I, Credential>
    : never;

/** The error codes that only a request with a server key gets (`KEY_CODES`). server.ts adds them. */
type OfKeys = 'bad_key' | 'forbidden';

/** The error codes of an endpoint without a server key. Only the end of a session has `forbidden`: a session from a pairing gets it. */
type CodeOf<W extends { route: string; code: string }> = W['route'] extends 'POST /v1/sessions/end'
  ? W['code']
  : Exclude<W['code'], OfKeys>;

/** The declarations of all endpoints. */
export type DeclaredWire = { [W in Declared as W['route']]: { input: Input<W>; reply: W['reply']; code: CodeOf<W> } };

type Actions = typeof actions;
type Act = DeclaredWire['POST /v1/rooms/{code}/{action}'];
type Listed<A, List extends string> = A extends { [L in List]: readonly (infer Item)[] } ? Item : never;

/** A type with exactly one of the fields. */
type OneOf<Fields extends keyof Body, Body> = {
  [F in Fields]: Required<Pick<Body, F>> & { [Other in Exclude<Fields, F>]?: never };
}[Fields];

/** The fields of an action besides the room's code, as `checkAct` of the service demands them. The client adds `order` and `tab` itself. */
type FieldsOf<A, Body = Act['input'], Needed = Listed<A, 'required'>, Either = Listed<A, 'oneOf'>> = Partial<
  Pick<Body, Exclude<Listed<A, 'fields'>, Needed | Either> & keyof Body>
> &
  Required<Pick<Body, Needed & keyof Body>> &
  ([Either] extends [never] ? unknown : OneOf<Either & keyof Body, Body>);

/** Each action of a room, with its own fields and error codes. */
type Acts = {
  [A in keyof Actions as `POST /v1/rooms/{code}/${A}`]: {
    input: { code: string } & FieldsOf<Actions[A]>;
    reply: Act['reply'];
    code: Exclude<Act['code'], Exclude<(typeof actCodes)[number], 'invalid_request'> | 'unknown_action'> | Actions[A]['errors'][number];
  };
};

/** The name of an action in a room. */
export type ActionName = keyof Actions;

/** Every endpoint by method and path: its input, its reply without `ok`, and its error codes. Each action of a room counts as an endpoint. */
export type Wire = DeclaredWire & Acts;

/** The method and the path of an endpoint. `!` marks a call that must not be repeated after a lost answer. */
export type Route = keyof Wire | `!${keyof Wire}`;

/** The fields of errors besides `code` and `message`: `any` has the fields of every error, `of` has the fields of errors with one code. */
export interface Details {
  any: Pick<RefusalDetails, 'field' | 'issues' | 'retryAfterMs'> & { outcome?: 'unknown' };
  of: RequiredDetails;
}
