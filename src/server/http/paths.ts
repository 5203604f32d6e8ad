import type { HttpRequest } from '../uws.ts';

/**
 * The paths of all endpoints and channels, with the methods of each. The server needs them to answer 405 and OPTIONS, which uWS's router
 * does not do.
 */
export class Paths {
  readonly #byPattern = new Map<string, { readonly pattern: RegExp; readonly methods: string[] }>();

  /** Adds a path. @param path with parameters in braces: `/v1/rooms/{code}` */
  add(path: string, methods: readonly string[]): void {
    const source = `^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`;
    const known = this.#byPattern.get(source);
    if (known === undefined) this.#byPattern.set(source, { pattern: new RegExp(source), methods: [...methods] });
    else known.methods.push(...methods);
  }

  /** The methods of all endpoints and channels whose path pattern fits this path. Undefined if none fits. */
  methodsOf(path: string): readonly string[] | undefined {
    const methods = [...this.#byPattern.values()].filter(({ pattern }) => pattern.test(path)).flatMap((known) => known.methods);
    return methods.length === 0 ? undefined : [...new Set(methods)];
  }
}

/** The path as uWS's router takes it: uWS writes the parameter `{code}` as `:code`. */
export function uwsPattern(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

export function countParameters(path: string): number {
  return path.split('{').length - 1;
}

const NO_PARAMETERS: readonly string[] = [];

/** The values of the path parameters, in the order of the path, as sent. */
export function pathParameters(request: HttpRequest, count: number): readonly string[] {
  if (count === 0) return NO_PARAMETERS;
  // Almost every path has at most one parameter. `Array.from` would take 0.2 µs more.
  if (count === 1) return [request.getParameter(0)];
  return Array.from({ length: count }, (_, index) => request.getParameter(index));
}
