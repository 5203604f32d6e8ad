import { stripTypeScriptTypes } from 'node:module';

/**
 * The JavaScript of a TypeScript file.
 * @param mode `strip` leaves blanks where the types were, and the comments; `transform` prints the code anew, without comments
 */
export function stripTypes(source: string, mode: 'strip' | 'transform'): string {
  // Node warns once a process that the function is experimental. The warning would stand in every log.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source, { mode });
  } finally {
    process.emitWarning = emitWarning;
  }
}
