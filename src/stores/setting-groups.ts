import type { Config } from '../config.ts';

/** The problem if only some of these settings are set, although each has an effect only together with the others. */
export function togetherProblems(config: Config, names: readonly (keyof Config)[]): string[] {
  const given = names.filter((name) => config[name] !== undefined);
  const missing = names.filter((name) => config[name] === undefined);
  if (given.length === 0 || missing.length === 0) return [];
  return [`${missing.join(' and ')} must be set where ${given.join(' and ')} ${given.length === 1 ? 'is' : 'are'}`];
}
