/** A part of a compact JWS (RFC 7515, section 3.1): JSON in base64url. */
export function jwsPart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** A compact JWS. @param header from `jwsPart`: a key has the same one in all its texts */
export function compactJws(header: string, claims: object, signatureOf: (text: string) => Buffer): string {
  const text = `${header}.${jwsPart(claims)}`;
  return `${text}.${signatureOf(text).toString('base64url')}`;
}
