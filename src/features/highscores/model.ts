export class BoardCache {}
