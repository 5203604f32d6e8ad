import type { Services } from '../../declare.ts';
import type { Sandbox } from './sandbox.ts';

export type SandboxServices = Pick<Services, 'scripts' | 'log' | 'now'> & { readonly sandbox: Sandbox };

export type ServicesWithStore = Pick<Services, keyof SandboxServices>;

/** The services of an endpoint of the sandbox. With any other STORE `service.ts` serves no such endpoint, so a sandbox is always there. */
export function ofSandbox(services: ServicesWithStore): SandboxServices {
  return services as SandboxServices;
}
