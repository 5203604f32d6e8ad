import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { createTarHeader, readTarHeader, BLOCK_BYTES, paddingOf } from './tar.ts';

/**
 * The file of a backup. It is a tar archive (POSIX.1-1988 "ustar"), so that `tar xf` opens it without coinop. The last member, SHA256SUMS,
 * has the checksums of the other members in the format of `sha256sum --check`. A truncated file has no last member.
 */

/** The reason why a file is not a complete backup. The message is a sentence for the operator to read. */
export class DamagedBackup extends Error {}

const SUMS = 'SHA256SUMS';

/** The number of bytes in the two empty blocks that end an archive. */
const END_BYTES = 2 * BLOCK_BYTES;

/** The most bytes of a member that is read into memory as a whole. */
const MOST_TEXT_BYTES = 512 * 1024 * 1024;

const PIECE_BYTES = 1024 * 1024;

export interface MemberSum {
  readonly bytes: number;
  readonly sha256: string;
}

/** Where a member's bytes are in the file. */
interface Place {
  readonly from: number;
  readonly bytes: number;
}

/** Writes a new archive that only its owner can read. */
export class ArchiveWriter {
  readonly #file: FileHandle;
  readonly #modifiedAt: number;
  readonly #sums: string[] = [];
  readonly #members = new Map<string, Place>();
  #position = 0;

  private constructor(file: FileHandle, modifiedAt: number) {
    this.#file = file;
    this.#modifiedAt = modifiedAt;
  }

  /** Creates the file of the archive. @param now milliseconds since 1970 @throws Error if the file exists */
  static async create(path: string, now: number): Promise<ArchiveWriter> {
    return new ArchiveWriter(await open(path, 'wx+', 0o600), now);
  }

  /** Adds a member and returns its length and checksum. */
  async add(name: string, pieces: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<MemberSum> {
    const header = this.#position;
    const hash = createHash('sha256');
    this.#position += BLOCK_BYTES;
    let bytes = 0;
    for await (const piece of pieces) {
      hash.update(piece);
      bytes += piece.length;
      await this.#append(piece);
    }
    await this.#append(Buffer.alloc(paddingOf(bytes)));
    // The header is written last. It contains the length of the content, which is not known before.
    await writeAll(this.#file, createTarHeader(name, bytes, this.#modifiedAt), header);
    const sha256 = hash.digest('hex');
    this.#sums.push(`${sha256}  ${name}\n`);
    this.#members.set(name, { from: header + BLOCK_BYTES, bytes });
    return { bytes, sha256 };
  }

  /** Reads the content of a member that was added. */
  pieces(name: string): AsyncGenerator<Buffer, undefined> {
    return piecesOf(this.#file, this.#members.get(name)!);
  }

  /** Writes the checksums, and waits until the whole file is on disk. */
  async end(): Promise<void> {
    await this.add(SUMS, [Buffer.from(this.#sums.join(''))]);
    await this.#append(Buffer.alloc(END_BYTES));
    await this.#file.sync();
    await this.#file.close();
  }

  /** Closes the file of an archive that was not finished. */
  async abandon(): Promise<void> {
    await this.#file.close().catch(() => {});
  }

  async #append(piece: Buffer): Promise<void> {
    await writeAll(this.#file, piece, this.#position);
    this.#position += piece.length;
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
}

/** An archive whose members were listed but not checked yet. */
export class Archive {
  readonly #file: FileHandle;
  readonly #members: ReadonlyMap<string, Place>;

  private constructor(file: FileHandle, members: ReadonlyMap<string, Place>) {
    this.#file = file;
    this.#members = members;
  }

  /** Opens an archive and lists its members. @throws DamagedBackup if the file is not a complete archive; Error if it cannot be read */
  static async open(path: string): Promise<Archive> {
    const file = await open(path, constants.O_RDONLY);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) throw new DamagedBackup('It is no file.');
      return new Archive(file, await membersOf(file, stat.size));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  has(name: string): boolean {
    return this.#members.has(name);
  }

  /** The content of a member, in pieces. @throws DamagedBackup if there is no such member */
  pieces(name: string): AsyncGenerator<Buffer, undefined> {
    return piecesOf(this.#file, this.#member(name));
  }

  /** The content of a member as text. @throws DamagedBackup if there is no such member, or if it has more than 512 MiB */
  async text(name: string): Promise<string> {
    if (this.#member(name).bytes > MOST_TEXT_BYTES) throw new DamagedBackup(`Its ${name} is too long.`);
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(name)) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  }

  /** Compares each member with its checksum. @throws DamagedBackup if one differs, or if a member is missing */
  async verify(signal?: AbortSignal): Promise<void> {
    const sums = new Map((await this.text(SUMS)).split('\n').flatMap((line) => (line === '' ? [] : [sumOf(line)])));
    for (const name of this.#members.keys()) {
      if (name === SUMS) continue;
      const hash = createHash('sha256');
      for await (const piece of this.pieces(name)) {
        signal?.throwIfAborted();
        hash.update(piece);
      }
      if (hash.digest('hex') !== sums.get(name)) throw new DamagedBackup(`Its ${name} does not have the checksum of its ${SUMS}.`);
      sums.delete(name);
    }
    const [missing] = sums.keys();
    if (missing !== undefined) throw new DamagedBackup(`It has no ${missing}.`);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #member(name: string): Place {
    const member = this.#members.get(name);
    if (member === undefined) throw new DamagedBackup(`It has no ${name}.`);
    return member;
  }
}

function sumOf(line: string): [name: string, sha256: string] {
  const [, sha256, name] = /^([0-9a-f]{64}) [ *](.+)$/.exec(line) ?? [];
  if (sha256 === undefined) throw new DamagedBackup(`Its ${SUMS} is no list of checksums.`);
  return [name!, sha256];
}

async function membersOf(file: FileHandle, size: number): Promise<ReadonlyMap<string, Place>> {
  const members = new Map<string, Place>();
  let position = 0;
  for (;;) {
    if (position + BLOCK_BYTES > size) throw new DamagedBackup('It is cut off.');
    const block = await readExactly(file, position, BLOCK_BYTES);
    if (block.every((byte) => byte === 0)) break;
    const header = readTarHeader(block);
    if (header === undefined) throw new DamagedBackup(position === 0 ? 'It is no backup of coinop.' : 'A part of it is unreadable.');
    const { name, bytes } = header;
    const from = position + BLOCK_BYTES;
    if (members.has(name)) throw new DamagedBackup(`It has two of ${name}.`);
    if (from + bytes > size) throw new DamagedBackup('It is cut off.');
    members.set(name, { from, bytes });
    position = from + bytes + paddingOf(bytes);
  }
  if (!members.has(SUMS)) throw new DamagedBackup(`It has no ${SUMS}: it is no backup of coinop, or an incomplete one.`);
  return members;
}

async function* piecesOf(file: FileHandle, { from, bytes }: Place): AsyncGenerator<Buffer, undefined> {
  for (let done = 0; done < bytes;) {
    const length = Math.min(PIECE_BYTES, bytes - done);
    yield await readExactly(file, from + done, length);
    done += length;
  }
}

async function readExactly(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(bytes, done, length - done, position + done);
    if (bytesRead === 0) throw new DamagedBackup('It is cut off.');
    done += bytesRead;
  }
  return bytes;
}
