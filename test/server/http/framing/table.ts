import type { FramingCase } from './case.ts';
import { chunks } from './chunks.ts';
import { contentLengths } from './content-length.ts';
import { headerFields } from './fields.ts';
import { otherMethods } from './other-methods.ts';
import { transferEncodings } from './transfer-encoding.ts';

export const table: FramingCase[] = [...contentLengths, ...transferEncodings, ...chunks, ...headerFields, ...otherMethods];
