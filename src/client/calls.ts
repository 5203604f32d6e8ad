import type { Credential } from './identity.ts';
import type { Operate } from './operate.ts';
import type { Operation } from './outbox.ts';
import type { Input } from './request.ts';
import { actions, routes, type CallOptions, type Calls } from './routes.ts';
import type { Send, SpecialCall } from './sign-ins.ts';

/** Every call of a client, by feature and name. @param special the calls that do more than send a request, by their names */
export function callsOf(send: Send, operate: Operate, special: Record<string, SpecialCall>, credential: () => Promise<Credential>): Calls {
  const client: Record<string, unknown> = {};
  const all: Record<string, Record<string, string>> = { ...routes, rooms: { ...routes.rooms } };
  // A message that is repeated after a lost answer could be said twice.
  for (const action of actions) all['rooms']![action] = `${action === 'message' ? '!' : ''}POST /v1/rooms/{code}/${action}`;
  for (const feature in all) {
    const calls: Record<string, unknown> = (client[feature] = {});
    for (const each in all[feature]) {
      const route = all[feature][each]!;
      calls[each] = (input: Input = {}, more: CallOptions = {}) =>
        route.includes('POST /v1/coins')
          ? operate(each as Operation['type'], input, more)
          : (special[each]?.(route, input, more) ?? send(route, input, more, credential));
    }
  }
  return client as unknown as Calls;
}
