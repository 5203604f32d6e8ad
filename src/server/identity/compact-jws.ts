/** One part of a compact JWS (RFC 7515, section 3.1): a JSON object in base64url. */
export function jwsPart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Makes a compact JWS. @param header the encoded header (`jwsPart`), which is the same for all tokens of a signing key */
export function compactJws(header: string, claims: object, signatureOf: (text: string) => Buffer): string {
  const text = `${header}.${jwsPart(claims)}`;
  return `${text}.${signatureOf(text).toString('base64url')}`;
}
