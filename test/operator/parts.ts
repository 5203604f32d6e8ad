import { pino } from 'pino';
import { expect } from 'vitest';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { openOperatorParts } from '../../src/operator/console/parts.ts';
import type { OperatorParts } from '../../src/operator/operation.ts';
import { start, type TestService } from '../harness.ts';
import { testConfig } from '../environment.ts';

export interface TestParts extends Disposable {
  readonly parts: OperatorParts;
}

/** The parts of the operator's tool that operations use, on the Redis of a service. */
export function openParts({ service, now }: TestService, scripts = new CallerScripts(service.connections.scripts, { now })): TestParts {
  const { parts, closeParts } = openOperatorParts(testConfig(), service.connections, scripts, {
    log: pino({ level: 'silent' }),
    now,
  });
  return { parts, [Symbol.dispose]: closeParts };
}

/** A service, and the parts of the tool on its Redis. */
export interface Operated extends AsyncDisposable {
  readonly service: TestService;
  readonly parts: OperatorParts;
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
