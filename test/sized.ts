import { inject } from 'vitest';

/** Whether `npm run test:long` runs the file. */
export const isFullSize = inject('isFullSize') === true;

/** How often, or how many: less in `npm test` than in `npm run test:long`. The file must be listed in SIZED of `vitest.config.ts`. */
export const sized = (small: number, full: number): number => (isFullSize ? full : small);
