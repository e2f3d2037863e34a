import { stringify } from "csv-stringify/sync";

/**
 * The options of CSV files, as in RFC 4180. A cell that a spreadsheet would read as a formula gets an apostrophe in
 * front.
 */
const csvOptions = { record_delimiter: "\r\n", escape_formulas: true } as const;

/** Rows of cells as lines of a CSV file. */
export const csvOf = (rows: readonly (readonly string[])[]): string => stringify([...rows], csvOptions);
