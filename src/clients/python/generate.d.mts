import type { Model } from '../model.mjs';

/** The file of the calls, below the folder of the client. */
export const file: string;
export function generated(model: Model): string;
