/** What the generator of a language writes out. */
export interface Model {
  version: string;
  calls: { name: string; feature: string; call: string }[];
  types: unknown[];
}

/** @param document the OpenAPI document. Default: as it is committed */
export function model(document?: unknown): Model;

/** The name of a feature, a call or a field as Python and GDScript write it. */
export function snake(name: string): string;

/** The endpoints of the OpenAPI document that no call reaches, although they are for players. */
export function missing(): string[];
