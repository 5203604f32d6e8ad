import type { Config } from '../config.ts';

/**
 * Loads the parts of this folder that a service with these settings serves. In production a service serves none of these parts, and loads
 * none of their code.
 */
export async function openDoors({ STORE, PLAYGROUND }: Config) {
  const [sandbox, playground] = await Promise.all([
    STORE === 'sandbox' ? import('./sandbox/door.ts') : undefined,
    PLAYGROUND === 'on' ? import('./playground/door.ts') : undefined,
  ]);
  return { sandbox, playground };
}

export type Doors = Awaited<ReturnType<typeof openDoors>>;
