/** Number of slots of a Redis Cluster: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model */
export const SLOTS = 16_384;

/**
 * Number of hash tags of a queue in a Cluster: enough that every primary has its share, and few enough that one poll can read all of them.
 */
export const CLUSTER_QUEUE_TAGS = 64;

/** The table of CRC-16/XMODEM, the checksum from which Redis Cluster computes the slot of a key. */
const CRC16 = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
  return crc & 0xffff;
});

/** The slot of a key: of its hash tag `{…}` if the tag is not empty, else of the whole key. */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  if (open === -1) return slotOfText(key, 0, key.length);
  const close = key.indexOf('}', open + 1);
  return close <= open + 1 ? slotOfText(key, 0, key.length) : slotOfText(key, open + 1, close);
}

function slotOfText(text: string, from: number, to: number): number {
  let crc = 0;
  for (let index = from; index < to; index++) {
    const code = text.charCodeAt(index);
    // Redis computes the slot from bytes. Almost every tag is ASCII.
    if (code > 127) return slotOfBytes(Buffer.from(text.slice(from, to)));
    crc = ((crc << 8) & 0xffff) ^ CRC16[(crc >> 8) ^ code]!;
  }
  return crc % SLOTS;
}

function slotOfBytes(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ CRC16[(crc >> 8) ^ byte]!;
  return crc % SLOTS;
}

let tags: string[] | undefined;

/** A short hash tag of a slot, with braces. The tag must be the same in every process and release, because keys in Redis contain it. */
export function tagOf(slot: number): string {
  tags ??= findTags();
  return tags[slot]!;
}

/** Finds a tag for each slot. Takes some 40 ms, once. */
function findTags(): string[] {
  const found: string[] = [];
  for (let number = 0, left = SLOTS; left > 0; number++) {
    const text = number.toString(36);
    const slot = slotOfText(text, 0, text.length);
    if (found[slot] !== undefined) continue;
    found[slot] = `{${text}}`;
    left--;
  }
  return found;
}
