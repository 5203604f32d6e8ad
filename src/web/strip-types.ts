import { stripTypeScriptTypes } from 'node:module';

/** The JavaScript of a TypeScript file, with its comments, and with blanks in place of the types. */
export function stripTypes(source: string): string {
  // Node warns once in each process that this function is experimental. If the warning were not suppressed, it would be in every log.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}
