import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const unpacked = fileURLToPath(new URL('../../.cache/godot/godot', import.meta.url));

/** The program of Godot: what `scripts/godot.mjs` has unpacked, or the machine's own. */
export const godot = existsSync(unpacked) ? unpacked : 'godot';
