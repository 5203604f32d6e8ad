/** The endpoints of the OpenAPI document that no call reaches, although they are for players. */
export function missing(): string[];
