/** The text of each .meta file by its path below src/clients/csharp. */
export function metas(): Record<string, string>;
