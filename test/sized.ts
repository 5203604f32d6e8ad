import { inject, test } from 'vitest';

/**
 * Parts of a test file that only `npm run test:long` runs, because they take much time. The file must be listed in SIZED of
 * `vitest.config.ts`.
 */
export const isFullSize = inject('isFullSize') === true;

export const atFullSize = test.runIf(isFullSize);

/** How often, or how many: less in `npm test` than in `npm run test:long`. */
export const sized = (small: number, full: number): number => (isFullSize ? full : small);
