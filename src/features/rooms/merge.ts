import { setOwn } from '../../server/http/json.ts';

/**
 * Applies a JSON merge patch (RFC 7396) at every depth: null removes a member, an object is merged, and any other value replaces the
 * member.
 * @param target the value that the patch changes. Its objects are changed, so the caller must not use them afterwards
 */
export function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = isObject(target) ? target : {};
  for (const name of Object.keys(patch)) {
    const value = patch[name];
    const isThere = Object.hasOwn(merged, name);
    if (value !== null) setOwn(merged, name, merge(isThere ? merged[name] : undefined, value));
    // `delete` is called only for an existing member, because it costs 0.3 µs even if the member does not exist.
    else if (isThere) delete merged[name];
  }
  return merged;
}

/**
 * Applies a JSON merge patch to a JSON text, and returns the resulting text. As RFC 7396 says, a null in the patch never appears in the
 * result, even if the text has no member with this name.
 */
export function mergeTexts(text: string, patch: unknown): string {
  return JSON.stringify(merge(JSON.parse(text), patch));
}

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
