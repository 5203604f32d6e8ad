import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: ['test/redis.setup.ts'],
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 30_000,
    projects: [
      { extends: true, test: { name: 'coinop', include: ['test/**/*.test.ts'], exclude: ['test/closing/**'], sequence: { groupOrder: 0 } } },
      // Looks back on what the others provoked, so it runs when they are through.
      { extends: true, test: { name: 'closing', include: ['test/closing/**/*.test.ts'], sequence: { groupOrder: 1 } } },
    ],
  },
});
