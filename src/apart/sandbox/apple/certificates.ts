import { randomBytes, sign, type KeyObject } from 'node:crypto';

/** A certificate to write. Node cannot make certificates, so this file writes them in DER (RFC 5280, section 4.1). */
export interface Wanted {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  /** The private key of the issuer. */
  readonly signedBy: KeyObject;
  readonly isAuthority: boolean;
  /** An extension without content, by its object id in DER. Undefined: none. */
  readonly mark?: string | undefined;
  readonly validFrom?: number;
  readonly validTo?: number;
}

/** The object ids of Apple's marks, in DER: one for certificates that sign texts, and one for certificates that sign such certificates. */
export const APPLE_MARKS = { leaf: '2a864886f76364060b01', intermediate: '2a864886f76364060201' };

export const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
export const BASIC_CONSTRAINTS = '551d13';
const COMMON_NAME = '550403';

/** The DER of a certificate. */
export function certificateDer(wanted: Wanted): Buffer {
  const { subject, issuer, publicKey, signedBy, isAuthority, mark } = wanted;
  const { validFrom = Date.UTC(2020, 0), validTo = Date.UTC(2049, 0) } = wanted;
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const authority = sequence(objectId(BASIC_CONSTRAINTS), der(0x04, sequence(...(isAuthority ? [der(0x01, Buffer.from([0xff]))] : []))));
  const marked = mark === undefined ? [] : [sequence(objectId(mark), der(0x04, Buffer.from([0x05, 0x00])))];
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    nameOf(issuer),
    sequence(utcTime(validFrom), utcTime(validTo)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(authority, ...marked)),
  );
  return sequence(body, algorithm, der(0x03, Buffer.from([0]), sign('sha256', body, signedBy)));
}

export function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

export const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);

export const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));

export const nameOf = (text: string): Buffer => sequence(der(0x31, sequence(objectId(COMMON_NAME), der(0x0c, Buffer.from(text)))));

/** UTCTime: `YYMMDDHHMMSSZ`. */
export const utcTime = (at: number): Buffer => der(0x17, Buffer.from(`${new Date(at).toISOString().slice(2, 19).replaceAll(/\D/g, '')}Z`));
