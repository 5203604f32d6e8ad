import { stripTypeScriptTypes } from 'node:module';

/** The JavaScript of a TypeScript file, with its comments, and with blanks in place of the types. */
export function stripTypes(source: string): string {
  // Once in each process Node warns that the function is experimental. The warning would be in every log.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}
