import { defineLibrary } from './script.ts';

/** Lua functions for work that one process at a time does. */
export const leaseLibrary = defineLibrary(new URL('lease.lua', import.meta.url));
