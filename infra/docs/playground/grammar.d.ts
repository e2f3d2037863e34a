/** The module of a grammar. The bundler (`infra/docs-pages/scripts.ts`) generates the parser from the grammar. */
declare module "*.grammar" {
  import type { LRParser } from "@lezer/lr";

  export const parser: LRParser;
}

/** The numbers of a grammar's tokens. */
declare module "*.grammar.terms" {
  export const newline: number;
  export const bracketedNewline: number;
  export const ParenL: number;
  export const ParenR: number;
  export const BracketL: number;
  export const BracketR: number;
  export const BraceL: number;
  export const BraceR: number;
}
