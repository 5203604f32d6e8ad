import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder that `scripts/languages.mjs` unpacks for a proof. */
export const languagesOf = (proof: 'openapi' | 'clients'): string =>
  fileURLToPath(new URL(`../.cache/languages/${proof}`, import.meta.url));

/** The path of a program of a language: the one that was unpacked for the proof, else the one on the PATH. */
export function languageProgram(proof: 'openapi' | 'clients', name: string): string {
  const launcher = `${languagesOf(proof)}/bin/${name}`;
  return existsSync(launcher) ? launcher : name;
}
