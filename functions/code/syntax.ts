/** Where something stands in a program, both counted from 1; a column is one Unicode character. */
export type Position = { line: number; column: number };

export type Literal = { kind: "literal"; value: string | number | boolean | null; at: Position };
export type List = { kind: "list"; items: Expression[]; at: Position };
export type Dict = { kind: "dict"; members: Member[]; at: Position };
export type Expression = Literal | List | Dict;

/** An argument of a call or a key of a dict, with its value; it stands where its name does. */
export type Member = { name: string; value: Expression; at: Position };
export type Call = { kind: "call"; name: string; args: Member[]; at: Position };
export type Statement = Call;

/** A parsed program. Its statements are in source order. */
export type Program = { statements: Statement[] };
