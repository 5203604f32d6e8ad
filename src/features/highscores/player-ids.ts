import { randomBytes } from 'node:crypto';

/** Ids made at once: 4.6 KB of random bytes. */
const BATCH = 512;
const ID_BYTES = 9;
/** In base64url. */
const ID_LENGTH = 12;

/**
 * Random player ids of 72 bits. Every submission brings one, and only an account's first entry on a board uses it. They are
 * made many at a time because each call of `randomBytes` takes 1.9 µs alone, and more between other work.
 */
export class PlayerIds {
  #ids = '';
  #at = 0;

  next(): string {
    if (this.#at === this.#ids.length) {
      this.#ids = randomBytes(BATCH * ID_BYTES).toString('base64url');
      this.#at = 0;
    }
    return this.#ids.slice(this.#at, (this.#at += ID_LENGTH));
  }
}
