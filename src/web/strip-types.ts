import { stripTypeScriptTypes } from 'node:module';

/** The JavaScript of a TypeScript file, with its comments, and with blanks in place of the types. */
export function stripTypes(source: string): string {
  // Node warns once in each process that the function is experimental. Without this the warning would be in every log.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}
