/**
 * The longest wait for a condition before a test fails, in milliseconds. A slow and busy machine needs minutes for what takes a second
 * elsewhere. Less than the `testTimeout` of vitest.config.ts, so that the error names the condition.
 */
export const PATIENCE_MS = 150_000;

/** For `vi.waitFor` and `vi.waitUntil`, which otherwise wait for one second. */
export const PATIENT = { timeout: PATIENCE_MS, interval: 20 };
