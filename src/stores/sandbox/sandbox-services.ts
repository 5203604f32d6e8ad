import type { Services } from '../../declare.ts';
import type { Sandbox } from './sandbox.ts';

export type SandboxServices = Services & { readonly sandbox: Sandbox };

/** The services of an endpoint of the sandbox. With any other STORE `service.ts` serves no such endpoint, so a sandbox is always there. */
export function ofSandbox(services: Services): SandboxServices {
  return services as SandboxServices;
}
