import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { BASIC_CONSTRAINTS, der, ECDSA_WITH_SHA256, nameOf, objectId, sequence, utcTime } from '../src/apart/sandbox/apple/certificates.ts';

/**
 * A self-signed certificate for 127.0.0.1, valid for a day, and its key: both as PEM. Node cannot make certificates, and a minimal
 * Debian has no openssl. The structure is that of RFC 5280, section 4.1, in DER.
 */
export function selfSignedCertificate(): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const ecdsaWithSha256 = sequence(objectId(ECDSA_WITH_SHA256));
  const name = nameOf('coinop test');
  const now = Date.now();
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
  // 2.5.29.19 basicConstraints: an authority, so that clients can trust the certificate as a root.
  const isAuthority = sequence(objectId(BASIC_CONSTRAINTS), der(0x04, sequence(der(0x01, Buffer.from([0xff])))));
  // 2.5.29.17 subjectAltName with iPAddress 127.0.0.1.
  const address = sequence(objectId('551d11'), der(0x04, sequence(der(0x87, Buffer.from([127, 0, 0, 1])))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ecdsaWithSha256,
    name,
    sequence(utcTime(now - 3_600_000), utcTime(now + 86_400_000)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(isAuthority, address)),
  );
  const signature = sign('sha256', body, privateKey);
  const whole = sequence(body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  const lines = whole.toString('base64').replaceAll(/.{64}/g, '$&\n').trim();
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}
