/** Whether an Accept header accepts the media type by name. A weight of 0 means "not acceptable" (RFC 9110, section 12.4.2). */
export function accepts(accept: string, type: string): boolean {
  return accept
    .toLowerCase()
    .split(',')
    .some((range) => range.trim().startsWith(type) && !/;\s*q=0(\.0*)?\s*$/.test(range));
}
