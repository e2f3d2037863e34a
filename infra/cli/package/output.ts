import type { CommandSpec } from "../emit.ts";
import { plainText } from "./failures.ts";

/** The form in which a command prints its answer. */
export type Form = "people" | "json" | "jsonl";

/** The form that the options choose. By default `people` on a terminal, and `json` elsewhere. */
export function formOf({ json, jsonl }: { json?: boolean; jsonl?: boolean }): Form {
  if (jsonl) return "jsonl";
  return json || !process.stdout.isTTY ? "json" : "people";
}

type Members = Record<string, unknown>;

/** A value in one line. */
function shortOf(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return plainText(text);
}

const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" });
/** The number of characters that a reader sees. ASCII needs no segmenter, which is slow. */
const widthOf = (text: string): number => (/^[ -~]*$/.test(text) ? text.length : [...segments.segment(text)].length);

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const kept = [...segments.segment(text)].slice(0, Math.max(0, width - 1)).map(({ segment }) => segment);
  return `${kept.join("")}…`;
}

const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)));

/**
 * The widths of the columns. Narrows the widest columns until a row fits the terminal. Never narrows the column `id`,
 * nor a column to less than 8 characters.
 */
function widthsOf(rows: readonly string[][], columns: readonly string[]): number[] {
  // A long list has more rows than one call of `Math.max` can have arguments. So each row is compared separately.
  const widths = columns.map((_, index) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(row[index] ?? "")), 0),
  );
  const total = process.stdout.columns || 100;
  const isFixed = (index: number): boolean => columns[index] === "id";
  for (;;) {
    const used = widths.reduce((sum, width) => sum + width + 2, -2);
    const widest = widths.reduce(
      (best, width, index) => (!isFixed(index) && width > (widths[best] ?? 0) ? index : best),
      widths.findIndex((_, index) => !isFixed(index)),
    );
    if (used <= total || widest < 0 || (widths[widest] ?? 0) <= 8) return widths;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

/** The member of an item at a dotted path, such as `registration.expires_at`. */
const memberAt = (item: Members, path: string): unknown =>
  path.split(".").reduce<unknown>((at, key) => (at as Members | null)?.[key], item);

/** A table with a header, for people. */
export function tableOf(rows: readonly Members[], columns: readonly string[]): string {
  const head = columns.map((name) => name.toUpperCase().replaceAll("_", " ").replaceAll(".", " "));
  const texts = rows.map((row) => columns.map((name) => shortOf(memberAt(row, name))));
  const widths = widthsOf([head, ...texts], columns);
  return [head, ...texts]
    .map((row) =>
      row
        .map((text, index) => padded(cut(text, widths[index] ?? 0), widths[index] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** The members of an answer, one per line. The members of an inner object are indented. */
function linesOf(value: Members, indent = ""): string[] {
  const members = Object.entries(value).map(([name, member]) => [plainText(name), member] as const);
  const width = Math.max(...members.map(([name]) => name.length), 0);
  return members.flatMap(([name, member]) => {
    const isObject = typeof member === "object" && member !== null && !Array.isArray(member);
    const isObjectList = Array.isArray(member) && member.some((one) => typeof one === "object" && one !== null);
    if (isObject) return [`${indent}${name}`, ...linesOf(member as Members, `${indent}  `)];
    if (isObjectList)
      return [`${indent}${name}`, ...(member as Members[]).flatMap((one) => [...linesOf(one, `${indent}  `), ""])];
    const text = Array.isArray(member)
      ? member.map(shortOf).join(", ") || "-"
      : indentedText(member, `${indent}${" ".repeat(width + 2)}`);
    return [`${indent}${name.padEnd(width)}  ${text}`];
  });
}

/** Indents every line of a text, such as a zone file, except the first line. */
const indentedText = (value: unknown, indent: string): string =>
  typeof value === "string" ? value.split("\n").map(shortOf).join(`\n${indent}`) : shortOf(value);

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a line for people to standard error. Standard output contains only the answer. */
export function printNote(text: string): void {
  process.stderr.write(`${plainText(text)}\n`);
}

/** Prints one answer. */
export function printAnswer(answer: unknown, form: Form): void {
  if (form !== "people") return print(form === "jsonl" ? JSON.stringify(answer) : JSON.stringify(answer, undefined, 2));
  if (typeof answer !== "object" || answer === null) return print(String(answer));
  if (Object.keys(answer).length === 0) return printNote("Done.");
  print(
    linesOf(answer as Members)
      .join("\n")
      .trimEnd(),
  );
}

/** The columns of some lists. Without an entry here, a table shows the first members of an item. */
const columnsOf: Record<string, string[]> = {
  "accounts.list": ["name", "status", "id"],
  "domains.list": ["name", "status", "source", "dns_mode", "registration.expires_at"],
  "mailboxes.list": ["primary_email", "status", "first_name", "last_name"],
  "dns_records.list": ["name", "type", "ttl", "priority", "value", "id"],
  "audit.list": ["occurred_at", "event_type", "actor.email", "resource.id", "id"],
};

/** Prints the items of a list: as one line of JSON each, as one JSON document, or as a table for people. */
export async function printList(items: AsyncIterable<unknown>, spec: CommandSpec, form: Form): Promise<void> {
  if (form === "jsonl") {
    for await (const item of items) print(JSON.stringify(item));
    return;
  }
  const found: unknown[] = [];
  for await (const item of items) found.push(item);
  if (form === "json") return print(JSON.stringify(found, undefined, 2));
  if (found.length === 0) return printNote("The list is empty.");
  print(tableOf(found as Members[], columnsOf[spec.name] ?? spec.list?.columns ?? []));
}

/** A progress bar on a terminal; no output elsewhere. */
export function progressBar(total: number): { move: (done: number) => void; end: () => void } {
  const isShown = process.stderr.isTTY;
  const draw = (done: number): void => {
    const filled = total === 0 ? 30 : Math.round((done / total) * 30);
    if (isShown) process.stderr.write(`\r[${"#".repeat(filled)}${".".repeat(30 - filled)}] ${done}/${total}`);
  };
  draw(0);
  return { move: draw, end: () => void (isShown && process.stderr.write("\r\u001b[K")) };
}
