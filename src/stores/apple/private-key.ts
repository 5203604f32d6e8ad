import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Reads a private key as Apple gives it: PKCS #8, PEM, P-256. @throws Error for another file */
export function readPrivateKey(file: string): KeyObject {
  const key = createPrivateKey(readFileSync(file));
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('it is no P-256 key');
  return key;
}

/** The problems of a file with a private key of Apple's, a line for each. */
export function keyFileProblems(setting: string, file: string | undefined): string[] {
  try {
    if (file !== undefined) readPrivateKey(file);
    return [];
  } catch (error) {
    // The message of OpenSSL quotes nothing of the file, which has a private key.
    return [`${setting} ${file} is not a private key of Apple's (.p8): ${(error as Error).message}`];
  }
}
