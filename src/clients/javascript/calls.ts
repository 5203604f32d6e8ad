import type { Call, Calls } from './call-types.ts';
import type { Credential } from './identity.ts';
import type { Operate } from './operate.ts';
import type { Kept } from './pending-operations.ts';
import type { Input } from './request.ts';
import { acts, operations, routes, type CallOptions, type Result } from './routes.ts';
import type { Send, SpecialCall } from './sign-ins.ts';
import { randomText } from './storage.ts';
import type { Route, Wire } from './wire.ts';

type Plain<R> = R extends `!${infer P extends keyof Wire}` ? P : R & keyof Wire;
type Acts = { [A in (typeof acts)[number]]: `POST /v1/rooms/{code}/${A}` };
type Routes = Omit<typeof routes, 'rooms'> & { rooms: (typeof routes)['rooms'] & Acts };
/** The type of `Calls`, computed from the routes, to check that `Calls` has every route. */
export type CallsByRoute = { [F in keyof Routes]: { [Name in keyof Routes[F]]: Call<Plain<Routes[F][Name]>> } };

type AnyCall = (input?: Input, more?: CallOptions) => Promise<Result>;

/** Every call of a client, by feature and name. @param special by their names, the calls that do more than send a request */
export function callsOf(
  send: Send,
  operate: Operate,
  special: Partial<Record<string, SpecialCall>>,
  credential: () => Promise<Credential>,
): Calls {
  const client: Record<string, Record<string, AnyCall>> = {};
  const all: Record<string, Record<string, Route>> = routes;
  for (const feature in all) {
    client[feature] = {};
    for (const call in all[feature]) {
      const route = all[feature][call]!;
      client[feature][call] = (input = {}, more = {}) =>
        operations[call as Kept['type']] === route
          ? operate(call as Kept['type'], input, more)
          : (special[call] ?? send)(route, input, more, credential);
    }
  }
  const tab = randomText().slice(0, 16);
  let order = 0;
  let before: Promise<unknown>;
  // Acts in rooms are sent one after the other, each under its order. The service takes an act whose order is below the last one for a
  // repetition, so it would drop an act that a later act has overtaken.
  for (const act of acts)
    client['rooms']![act] = (input, more = {}) => {
      const others = before;
      const result = send(`POST /v1/rooms/{code}/${act}`, { ...input, order: ++order, tab }, more, async (whole) => {
        await Promise.race([others, new Promise((stop) => (whole.onabort = stop))]);
        return credential();
      });
      before = result.then(() => others);
      return result;
    };
  return client as unknown as CallsByRoute;
}
