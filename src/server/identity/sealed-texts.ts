import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { SessionKey } from '../../config.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts texts for Redis, so that neither Redis nor a backup of it reveals the secrets in them: AES-256-GCM under keys that are derived
 * from SESSION_KEYS (RFC 5869). The first key encrypts and each key decrypts, as with session tokens. The place of a text is authenticated
 * with it, so that nobody can put one text in the place of another.
 */
export class SealedTexts {
  readonly #keys: readonly Buffer[];

  /** @param purpose separates these keys from keys for other purposes */
  constructor(keys: readonly SessionKey[], purpose: string) {
    this.#keys = keys.map(({ secret }) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32)));
  }

  /** @param place what the text is for */
  seal(text: string, place: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#keys[0]!, iv).setAAD(Buffer.from(place));
    return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url');
  }

  /** Undefined if none of the keys sealed the text for this place. */
  open(sealed: string, place: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    for (const key of this.#keys)
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(place))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString();
      } catch {
        // Sealed with another key.
      }
    return undefined;
  }
}
