/** The paths of all endpoints and channels, with their methods: for the answers 405 and OPTIONS, which uWS's router does not give. */
export class KnownMethods {
  readonly #byPattern = new Map<string, { readonly pattern: RegExp; readonly methods: string[] }>();

  /** Adds a path. @param path with parameters in braces: `/v1/rooms/{code}` */
  add(path: string, methods: readonly string[]): void {
    const source = `^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`;
    const known = this.#byPattern.get(source);
    if (known === undefined) this.#byPattern.set(source, { pattern: new RegExp(source), methods: [...methods] });
    else known.methods.push(...methods);
  }

  /** The methods of all endpoints and channels whose path pattern fits this path. Undefined if none fits. */
  of(path: string): readonly string[] | undefined {
    const methods = [...this.#byPattern.values()].filter(({ pattern }) => pattern.test(path)).flatMap((known) => known.methods);
    return methods.length === 0 ? undefined : [...new Set(methods)];
  }
}
