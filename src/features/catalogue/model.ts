export class Catalogue { constructor(_file: string|undefined, _log: unknown) {} close() {} }
