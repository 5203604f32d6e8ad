import type { EndpointDeclaration } from '../../server/http/endpoint.ts';

/** The name of a path: `/v1/rooms/{code}/live` becomes `RoomsByCodeLive`. */
export function nameOf(path: string): string {
  const words = path
    .replace(/^\/v1\//, '/')
    .replace(/\{(\w+)\}/g, 'by/$1')
    .split(/\W+/)
    .filter((word) => word !== '');
  return words.length === 0 ? 'Root' : words.map(capitalised).join('');
}

/** The id of an operation without an `operationId`: `POST /v1/coins/credit` becomes `postCoinsCredit`. */
export function operationIdOf(method: string, path: string, taken: Set<string>): string {
  return unique(method.toLowerCase() + nameOf(path), taken);
}

/** The id, with an addition if another operation has the same id. Generated clients name their methods after operation ids. */
export function unique(id: string, taken: Set<string>): string {
  let free = id;
  // An alias has the same name: `/login` is an alias of `/v1/login`.
  for (let count = 2; taken.has(free); count++) free = count === 2 ? `${id}Alias` : `${id}Alias${count - 1}`;
  taken.add(free);
  return free;
}

export function operationNameOf({ operationId, method, path }: EndpointDeclaration): string {
  return operationId ?? method.toLowerCase() + nameOf(path);
}

export function capitalised(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1);
}
