import type { Services, ScriptServices } from '../../declare.ts';
import type { Sandbox } from './sandbox.ts';

export type SandboxServices = ScriptServices & Pick<Services, 'log'> & { readonly sandbox: Sandbox };

export type ServicesWithStore = Pick<Services, keyof SandboxServices>;

/**
 * The same services, with the type that the endpoints of the sandbox need. `service.ts` serves these endpoints with STORE=sandbox only, so
 * `sandbox` is always set.
 */
export function ofSandbox(services: ServicesWithStore): SandboxServices {
  return services as SandboxServices;
}
