import type { Services } from '../../declare.ts';
import type { Sandbox } from './sandbox.ts';

export type SandboxServices = Pick<Services, 'scripts' | 'log' | 'now'> & { readonly sandbox: Sandbox };

export type ServicesWithStore = Pick<Services, keyof SandboxServices>;

/** The services of an endpoint of the sandbox. `service.ts` serves such endpoints with STORE=sandbox only, so `sandbox` is always set. */
export function ofSandbox(services: ServicesWithStore): SandboxServices {
  return services as SandboxServices;
}
