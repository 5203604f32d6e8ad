/**
 * The length of a block of a tar archive. The format of headers and blocks:
 * https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06 (ustar).
 */

export const BLOCK_BYTES = 512;

/** For each field of a header: the index of its first byte, and its length in bytes. */
const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  owner: [108, 8],
  group: [116, 8],
  size: [124, 12],
  modifiedAt: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
} as const;

type Field = keyof typeof FIELDS;

/**
 * The largest size that fits into eleven octal digits. GNU tar, bsdtar and other programs write larger sizes in binary, marked by the first
 * bit.
 */
const MOST_OCTAL = 8 ** 11 - 1;

/** The number of bytes needed to fill the last block of a member. */
export function paddingOf(bytes: number): number {
  return (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
}

/** The header of a member. @param name ASCII, at most 100 characters @param modifiedAt milliseconds since 1970 */
export function createTarHeader(name: string, bytes: number, modifiedAt: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const put = (field: Field, text: string): void => void block.write(text, FIELDS[field][0], FIELDS[field][1], 'latin1');
  const octal = (field: Field, number: number): void => put(field, number.toString(8).padStart(FIELDS[field][1] - 1, '0'));
  put('name', name);
  octal('mode', 0o600);
  octal('owner', 0);
  octal('group', 0);
  if (bytes <= MOST_OCTAL) octal('size', bytes);
  else {
    block[FIELDS.size[0]] = 0x80;
    block.writeBigUInt64BE(BigInt(bytes), FIELDS.size[0] + 4);
  }
  octal('modifiedAt', Math.floor(modifiedAt / 1000));
  put('type', '0');
  put('magic', 'ustar\x0000');
  put('checksum', `${checksumOf(block).toString(8).padStart(6, '0')}\0 `);
  return block;
}

/** Reads the header of a member. @returns undefined if the block is not the header of an ordinary file */
export function readTarHeader(block: Buffer): { name: string; bytes: number } | undefined {
  const get = (field: Field): string => {
    const [from, length] = FIELDS[field];
    return block.toString('latin1', from, from + length).replace(/[\0 ].*$/s, '');
  };
  const type = get('type');
  if (!get('magic').startsWith('ustar') || (type !== '0' && type !== '')) return undefined;
  if (parseInt(get('checksum'), 8) !== checksumOf(block)) return undefined;
  const [at] = FIELDS.size;
  const bytes = block[at] === 0x80 ? Number(block.readBigUInt64BE(at + 4)) : parseInt(get('size'), 8);
  return Number.isSafeInteger(bytes) && bytes >= 0 ? { name: get('name'), bytes } : undefined;
}

/** The checksum of a header is the sum of its bytes, with blanks in place of the checksum itself. */
function checksumOf(block: Buffer): number {
  const [from, length] = FIELDS.checksum;
  let sum = 0;
  for (let index = 0; index < BLOCK_BYTES; index++) sum += index >= from && index < from + length ? 0x20 : block[index]!;
  return sum;
}
