import { ScriptRunner } from '../src/redis/script-runner.ts';
import { ServerKeyChanges, type MadeKey, type NewKey } from '../src/server/identity/server-key-changes.ts';
import type { Scope } from '../src/server/identity/server-keys.ts';
import { request, type TestService } from './harness.ts';
import { eventually } from './realtime/watcher.ts';

/** The server keys of the operator's tool, on the Redis of a service. */
export function keyChangesOf({ service, now }: TestService): ServerKeyChanges {
  return new ServerKeyChanges(new ScriptRunner(service.connections.scripts, { now }), now);
}

/** Makes a server key. The service knows it when this resolves. All test files share one Redis, which keeps at most 200 keys. */
export async function makeServerKey(service: TestService, scopes: readonly Scope[], more: Partial<NewKey> = {}): Promise<MadeKey> {
  const made = await keyChangesOf(service).create({ name: 'test', scopes, ...more });
  await eventually(async () => (await statusWith(service.url, made.token)) === 200);
  return made;
}

/** 200 for a valid key, 401 for any other one. */
export async function statusWith(url: string, token: string): Promise<number> {
  return (await request(url, '/health', { bearer: token })).status;
}
