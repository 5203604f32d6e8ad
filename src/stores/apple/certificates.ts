import { X509Certificate } from 'node:crypto';

/**
 * Extensions by which Apple marks its certificates. Each kind of certificate has its own, and its content does not matter. Object ids in
 * DER, without tag and length.
 */
const MARKS = {
  /** 1.2.840.113635.100.6.11.1: the certificate signs what the App Store says. */
  leaf: Buffer.from('2a864886f76364060b01', 'hex'),
  /** 1.2.840.113635.100.6.2.1: the certificate signs such certificates. */
  intermediate: Buffer.from('2a864886f76364060201', 'hex'),
};

/** The most bytes of a certificate. Apple's have at most 1,200. */
const MOST_BYTES = 4096;

/** A chain of certificates that ends at a pinned root. The caller has to check whether the chain was valid when a text was signed. */
export interface Chain {
  readonly leaf: X509Certificate;
  /** The time in which all certificates of the chain are valid, in milliseconds since 1970. */
  readonly validFrom: number;
  readonly validTo: number;
}

/**
 * Verifies the chain of a signed text: leaf, intermediate, root. The root in the text is not read, because the chain has to end at one of
 * the pinned roots. Revocation is not checked: Apple's leaf may have expired, and the texts that it signed stay valid.
 * @param x5c the certificates in base64, as in the header of the text
 * @returns undefined: the chain does not verify
 */
export function chainOf(x5c: readonly [string, string, string], roots: readonly X509Certificate[]): Chain | undefined {
  const leaf = certificateOf(x5c[0]);
  const intermediate = certificateOf(x5c[1]);
  if (leaf === undefined || intermediate === undefined || leaf.ca || !intermediate.ca) return undefined;
  if (!hasExtension(leaf, MARKS.leaf) || !hasExtension(intermediate, MARKS.intermediate)) return undefined;
  const { asymmetricKeyType, asymmetricKeyDetails } = leaf.publicKey;
  if (asymmetricKeyType !== 'ec' || asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined;
  if (!isIssuedBy(leaf, intermediate)) return undefined;
  const root = roots.find((pinned) => pinned.ca && isIssuedBy(intermediate, pinned));
  if (root === undefined) return undefined;
  const all = [leaf, intermediate, root];
  return {
    leaf,
    validFrom: Math.max(...all.map((each) => Date.parse(each.validFrom))),
    validTo: Math.min(...all.map((each) => Date.parse(each.validTo))),
  };
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/** @returns undefined: the text is no certificate in canonical base64 (RFC 7515, section 4.1.6), or bytes follow the certificate */
function certificateOf(text: string): X509Certificate | undefined {
  if (text.length > (MOST_BYTES * 4) / 3) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) return undefined;
  try {
    const certificate = new X509Certificate(bytes);
    return certificate.raw.equals(bytes) ? certificate : undefined;
  } catch {
    return undefined;
  }
}

/** Tags of DER. */
const SEQUENCE = 0x30;
const OBJECT_ID = 0x06;
/** The tag of the extensions in a certificate (RFC 5280, section 4.1). */
const EXTENSIONS = 0xa3;

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

/** Whether a certificate has an extension. node:crypto tells only of some extensions, so this reads the DER itself. */
function hasExtension({ raw }: X509Certificate, objectId: Buffer): boolean {
  const [certificate] = elementsOf(raw);
  const [body] = elementsOf(certificate!.content);
  const extensions = elementsOf(body!.content).find(({ tag }) => tag === EXTENSIONS);
  const [list] = elementsOf(extensions?.content ?? Buffer.alloc(0));
  return elementsOf(list?.content ?? Buffer.alloc(0)).some(({ tag, content }) => {
    const [id] = tag === SEQUENCE ? elementsOf(content) : [];
    return id?.tag === OBJECT_ID && id.content.equals(objectId);
  });
}

/** The elements of a text in DER, one after the other. OpenSSL has already parsed the certificate, so its lengths are right. */
function elementsOf(der: Buffer): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at + 2 <= der.length;) {
    const first = der[at + 1]!;
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    if (lengthBytes > 4) return elements;
    const start = at + 2 + lengthBytes;
    const length = lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes);
    elements.push({ tag: der[at]!, content: der.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}
