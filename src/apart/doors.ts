import type { Config } from '../config.ts';

/** The parts of this folder that a service with these settings serves. A service in production has none, and loads no code of them. */
export async function openDoors({ STORE, PLAYGROUND }: Config) {
  const [sandbox, playground] = await Promise.all([
    STORE === 'sandbox' ? import('./sandbox/door.ts') : undefined,
    PLAYGROUND === 'on' ? import('./playground/door.ts') : undefined,
  ]);
  return { sandbox, playground };
}

export type Doors = Awaited<ReturnType<typeof openDoors>>;
