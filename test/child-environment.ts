/**
 * The environment of a process that a test starts: only these settings. Node caches the compiled source files, which halves the CPU time of
 * a start.
 */
export function childEnvironment(settings: Readonly<Record<string, string>>): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    NODE_OPTIONS: `--import=${new URL('stripped-types.mjs', import.meta.url).href}`,
    NODE_COMPILE_CACHE: new URL('../.cache/compiled', import.meta.url).pathname,
    ...settings,
  };
}
