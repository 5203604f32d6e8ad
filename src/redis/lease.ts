import { defineLibrary } from './script.ts';

/** Lua functions for work that only one process may do at a time. */
export const leaseLibrary = defineLibrary(new URL('lease.lua', import.meta.url));
