import { writeFileSync } from "node:fs";

import { parse } from "csv-parse/sync";
import { stringify } from "csv-stringify/sync";

import { ApiError, type HostedMail } from "../../client/package/index.ts";
import { explain, Failure } from "./failures.ts";
import { progressBar } from "./output.ts";
import { readText } from "./read-text.ts";

/**
 * One row of the file. `line` is the number of the row's last line, counted from 1. `failure` is the reason why the
 * mailbox could not be created.
 */
type PersonRow = {
  line: number;
  cells: Record<string, string>;
  email: string;
  domain: string;
  failure?: { code: string; message: string };
};

/**
 * The result of an import: the numbers of mailboxes, and the file with the failed rows. In a dry run, `created` is the
 * number of mailboxes that an import would try to create.
 */
export type ImportReport = { created: number; existed: number; failed: number; report: string | null };

const largestBulk = 100;

/** Matches an e-mail address whose domain the client can send in a path. The API checks the domain. */
const addressPattern = /^[^@\s]+@(?!\.\.?$)([^@\s/?%]+)$/;

const requiredColumns = ["email", "first_name", "last_name"] as const;

/** A row as the CSV parser returns it: the number of its last line, and its cells by the name of the column. */
type Parsed = { info: { lines: number }; record: Record<string, string> };

/** Converts the names of columns to the API's form: `First name` becomes `first_name`. */
const columnNames = (names: string[]): string[] =>
  names.map((name) => name.trim().toLowerCase().replaceAll(/[ -]+/g, "_"));

/** Returns the names of the columns, and the rows. An empty file has no columns. */
function parseFile(file: string): { columns: string[]; records: Parsed[] } {
  let columns: string[] = [];
  const readHeader = (names: string[]): string[] => (columns = columnNames(names));
  const options = { columns: readHeader, trim: true, skip_empty_lines: true, info: true } as const;
  const text = readText(file);
  try {
    const records = parse<Parsed>(text, options);
    return { columns, records };
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** The greatest lengths of the cells that the API takes, in UTF-16 code units. */
const longest = { localPart: 64, name: 100 };

/** Matches the local parts that the API takes, but does not check their length. */
const localPartPattern = /^(?!.*\.\.)[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/;

/**
 * Explains why the API refuses a local part. Expects lower case. Returns undefined if the API accepts the local part.
 */
function localPartFault(local: string): string | undefined {
  if (local.length > longest.localPart) return `The part before the @ has more than ${longest.localPart} characters.`;
  if (localPartPattern.test(local)) return undefined;
  return "The part before the @ can have only letters a to z, digits, dots, hyphens and underscores. It must begin and end with a letter or a digit, and cannot have two dots in a row.";
}

const invalidEmail = { code: "invalid_email", message: "The e-mail address is not valid." };

/**
 * Explains why a row is not valid. Undefined if the row is valid, as far as the file alone tells. Rows with a fault are
 * not sent, because for some of these faults the API refuses the whole request, with all its other rows.
 */
function faultOf({ email, domain, cells }: PersonRow, seen: ReadonlySet<string>): PersonRow["failure"] {
  if (domain === "") return invalidEmail;
  if (seen.has(email)) return { code: "duplicate_in_file", message: "An earlier row has the same address." };
  const message = localPartFault(localPartOf(email));
  if (message !== undefined) return { code: "invalid_local_part", message };
  for (const name of ["first_name", "last_name"]) {
    const { length } = cells[name] ?? "";
    if (length < 1 || length > longest.name)
      return { code: "invalid_name", message: `${name} needs 1 to ${longest.name} characters.` };
  }
  const quota = cells["quota_allowed"] || "0";
  if (!/^\d+$/.test(quota) || !Number.isSafeInteger(Number(quota)))
    return { code: "invalid_quota", message: "quota_allowed must be a number of bytes, such as 10737418240." };
  return undefined;
}

/**
 * Reads the rows of a CSV file with a header. Throws a `Failure` if the file cannot be read or lacks a column.
 */
function readRows(file: string): PersonRow[] {
  const { columns, records } = parseFile(file);
  if (columns.length === 0) throw new Failure(`${file} is empty. It needs the columns ${requiredColumns.join(", ")}.`);
  const missing = requiredColumns.filter((name) => !columns.includes(name));
  const separator = /[;\t]/.exec(columns[0] ?? "")?.[0];
  if (missing.length > 0 && separator !== undefined)
    throw new Failure(
      `${file} separates its columns by ${separator === ";" ? '";"' : "tabs"}. Separate them by commas.`,
    );
  if (missing.length > 0)
    throw new Failure(`${file} needs the columns ${requiredColumns.join(", ")}. Missing: ${missing.join(", ")}.`);
  const seen = new Set<string>();
  return records.map(({ info, record }) => {
    const email = (record["email"] ?? "").toLowerCase();
    const [, domain = ""] = addressPattern.exec(email) ?? [];
    const row: PersonRow = { line: info.lines, cells: record, email, domain };
    const failure = faultOf(row, seen);
    if (failure) row.failure = failure;
    seen.add(email);
    return row;
  });
}

/** Explains why no mailbox can be created in a domain. Undefined if the account has the domain. */
async function domainFault(client: HostedMail, account_id: string, domain: string): Promise<PersonRow["failure"]> {
  try {
    await client.domains.get({ account_id, domain });
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.errors.some(({ loc }) => loc[1] === "domain")) return invalidEmail;
    if (error.status !== 404) throw error;
    return { code: "not_found", message: `The account has no domain ${domain}, or you may not see it.` };
  }
}

/**
 * The local parts of a domain's existing mailboxes, such as mailboxes of an earlier run. Whole addresses cannot be
 * compared, because the API writes an internationalised domain in ASCII, and the file perhaps does not.
 */
async function presentNames(client: HostedMail, account_id: string, domain: string): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const { primary_email } of client.mailboxes.list({ account_id, domain }))
    found.add(localPartOf(primary_email));
  return found;
}

const localPartOf = (email: string): string => email.slice(0, email.lastIndexOf("@"));

const itemOf = ({ email, cells }: PersonRow) => ({
  local_part: localPartOf(email),
  first_name: cells["first_name"] ?? "",
  last_name: cells["last_name"] ?? "",
  ...(cells["quota_allowed"] ? { quota_allowed: Number(cells["quota_allowed"]) } : {}),
});

/** Creates up to 100 mailboxes of a domain. Returns the rows that the API did not try. */
async function createSome(client: HostedMail, account_id: string, rows: readonly PersonRow[]): Promise<PersonRow[]> {
  const domain = rows[0]?.domain ?? "";
  const { failed } = await client.mailboxes.bulk(
    { account_id, domain, items: rows.map(itemOf) },
    { timeoutMs: 60_000 },
  );
  const again: PersonRow[] = [];
  for (const { index, code, message } of failed) {
    const row = rows[index];
    if (row && code === "not_attempted") again.push(row);
    else if (row) row.failure = { code, message };
  }
  return again;
}

/**
 * Creates the mailboxes of one domain. Throws if a request fails with a 401, a 429, a 5xx or without an answer. If the
 * API refuses a request with another status, all rows of this request count as failed, and the next rows are sent.
 */
async function createAll(
  client: HostedMail,
  account_id: string,
  rows: readonly PersonRow[],
  onDone: (count: number) => void,
) {
  let left = [...rows];
  while (left.length > 0) {
    const batch = left.slice(0, largestBulk);
    try {
      const again = await createSome(client, account_id, batch);
      left = [...again, ...left.slice(batch.length)];
      onDone(batch.length - again.length);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 401 || error.status === 429 || error.status >= 500)
        throw error;
      for (const row of batch) row.failure = { code: error.code, message: error.message };
      left = left.slice(batch.length);
      onDone(batch.length);
    }
  }
}

/** Writes a CSV file with the failed rows and their errors. The file can be corrected and imported again. */
function writeReport(file: string, failed: readonly PersonRow[]): void {
  const rows = failed.map(({ line, cells, failure }) => ({
    ...cells,
    error_code: failure?.code,
    error: `Line ${line}: ${failure?.message}`,
  }));
  writeFileSync(file, stringify(rows, { header: true }));
}

/**
 * Creates the mailboxes of a CSV file, at most 100 per request. Skips mailboxes that exist, so an interrupted import
 * can be run again. At the end, writes the failed rows to the file `report`. With `isDry`, creates no mailbox. The
 * report then has the rows that are not valid, and the rows of domains that the account does not have. Throws a
 * `Failure` if the import is interrupted, and then writes no report.
 */
export async function importMailboxes(
  client: HostedMail,
  { account_id, file, report, isDry }: { account_id: string; file: string; report: string; isDry: boolean },
): Promise<ImportReport> {
  const rows = readRows(file);
  const bar = progressBar(rows.length);
  const validRows = rows.filter(({ failure }) => !failure);
  let existed = 0;
  let done = rows.length - validRows.length;
  const onDone = (count: number): void => bar.move((done += count));
  try {
    for (const domain of new Set(validRows.map((row) => row.domain))) {
      const domainRows = validRows.filter((row) => row.domain === domain);
      const failure = await domainFault(client, account_id, domain);
      if (failure) {
        for (const row of domainRows) row.failure = failure;
        onDone(domainRows.length);
        continue;
      }
      const present = await presentNames(client, account_id, domain);
      const missing = domainRows.filter(({ email }) => !present.has(localPartOf(email)));
      existed += domainRows.length - missing.length;
      onDone(domainRows.length - missing.length);
      if (!isDry) await createAll(client, account_id, missing, onDone);
    }
  } catch (error) {
    throw interrupted(error, done, rows.length);
  } finally {
    bar.end();
  }
  const failed = rows.filter(({ failure }) => failure);
  if (failed.length > 0) writeReport(report, failed);
  const created = rows.length - failed.length - existed;
  return { created, existed, failed: failed.length, report: failed.length > 0 ? report : null };
}

/** The error of an interrupted import: the advice to run the command again, the reason, and its exit code. */
function interrupted(error: unknown, done: number, total: number): Error {
  const { line, exitCode } = explain(error);
  return new Failure(
    `Stopped after ${done} of ${total} rows. Run the command again to import the other rows. ${line}`,
    exitCode,
  );
}
