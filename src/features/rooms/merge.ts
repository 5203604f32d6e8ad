/**
 * Applies a JSON merge patch (RFC 7396), deeply: a member that is null removes, an object merges, anything else replaces.
 * @param target parsed from JSON for this call alone: its objects are changed
 */
export function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = isObject(target) ? target : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else setOwn(merged, name, merge(Object.hasOwn(merged, name) ? merged[name] : undefined, value));
  }
  return merged;
}

/** By RFC 7396 a null within the patch leaves no trace, also where the patch is all there is. */
export function mergeTexts(text: string, patch: unknown): string {
  return JSON.stringify(merge(JSON.parse(text), patch));
}

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An assignment to `__proto__` would set the prototype, and the member would be lost. */
function setOwn(object: JsonObject, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  else object[name] = value;
}
