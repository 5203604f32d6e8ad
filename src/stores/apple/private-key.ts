import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Parses a private key in the form in which Apple issues it: PKCS #8, PEM, P-256. @throws Error for another file */
export function readPrivateKey(file: string): KeyObject {
  const key = createPrivateKey(readFileSync(file));
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('it is no P-256 key');
  return key;
}

/** The problems of a file that should hold a private key from Apple, one line for each problem. */
export function keyFileProblems(setting: string, file: string | undefined): string[] {
  try {
    if (file !== undefined) readPrivateKey(file);
    return [];
  } catch (error) {
    // The message of OpenSSL quotes nothing from the file, so it does not reveal the key.
    return [`${setting} ${file} is not a private key of Apple's (.p8): ${(error as Error).message}`];
  }
}
