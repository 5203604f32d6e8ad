import { pino } from 'pino';
import { expect } from 'vitest';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { openOperatorServices } from '../../src/operator/terminal/operator-services.ts';
import type { OperatorServices } from '../../src/operator/operation.ts';
import type { Role } from '../../src/server/identity/roles.ts';
import { freshId, start, type StartOptions, type TestReply, type TestService } from '../harness.ts';
import { testConfig } from '../environment.ts';
import { makeServerKey } from '../server-keys.ts';

export interface TestParts extends Disposable {
  readonly parts: OperatorServices;
}

/** The parts of the operator's tool that operations use, on the Redis of a service. */
export function openParts({ service, now }: TestService, scripts = new CallerScripts(service.connections.scripts, { now })): TestParts {
  const { services: parts, closeServices } = openOperatorServices(testConfig(), service.connections, scripts, {
    log: pino({ level: 'silent' }),
    now,
  });
  return { parts, [Symbol.dispose]: closeServices };
}

/** A service, and the parts of the tool on its Redis. */
export interface Operated extends AsyncDisposable {
  readonly service: TestService;
  readonly parts: OperatorServices;
}

export async function startOperated(): Promise<Operated> {
  const service = await start();
  const { parts, [Symbol.dispose]: close } = openParts(service);
  return {
    service,
    parts,
    async [Symbol.asyncDispose]() {
      close();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** The entry of the operators' log in the reply of a change. */
export const logged: unknown = expect.objectContaining({
  number: expect.any(Number) as number,
  outcome: expect.objectContaining({ word: 'done' }) as object,
});

export async function openDesk({ role, settings, ...more }: StartOptions & { role?: Role } = {}) {
  return deskOf(await start({ ...more, settings: { ADMIN_API: 'on', ...settings } }), role);
}

export type Desk = Awaited<ReturnType<typeof deskOf>>;

/** An operator who works on a service with a key, over HTTP. @param service with ADMIN_API=on. It ends with the desk */
export async function deskOf(service: TestService, role: Role = 'admin') {
  const { token, id } = await makeServerKey(service, ['admin'], { role });
  const read = (path: string, bearer = token) => service.get(`/v1/admin${path}`, { bearer });
  /** Its reason is `test` unless the body has another one. */
  const change = (path: string, body: object = {}, bearer = token) =>
    service.post(`/v1/admin${path}`, { reason: 'test', ...body }, { bearer });
  return {
    service,
    bearer: token,
    id,
    read,
    change,
    /** The newest changes of this operator in the log, the latest first. */
    newest: async (limit = 1): Promise<TestReply['body'][]> => (await read(`/log?limit=${limit}&operator=key:${id}`)).body.entries,
    /** A guest with these credits. */
    account: async (...credits: number[]): Promise<{ installId: string; accountId: string }> => {
      const installId = freshId();
      await service.post('/v1/login', { installId });
      for (const [index, coins] of credits.entries()) await service.post('/v1/coins/credit', { installId, coins, key: `c${index}` });
      return { installId, accountId: accountIdOf(installId) };
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
