import type { Position } from "./diagnostics.ts";
import { node } from "./dom.ts";

type Call = {
  index: number;
  function: string;
  status: string;
  result: unknown;
  error?: { code: string };
};
type PlannedCall = {
  index: number;
  function: string;
  line: number;
  access: string;
  capability: string | null;
  held: boolean | null;
  count: number | null;
  planned?: { allowed: boolean | null }[];
};
type ProgramError = Position & { code: string; message: string; detail?: unknown };

/** The members of an answer that the page shows. */
export type Envelope = {
  status: string;
  complexity_score: number;
  result: { last_value: unknown };
  responses: Call[];
  dry_run?: { calls: PlannedCall[] };
  session?: { not_kept: { name: string; message: string }[] };
  error?: ProgramError;
};

/** A place where a program is wrong, and the sentences about it. */
type Mistake = Position & { text: string };

type GoTo = (position: Position) => void;

const json = (value: unknown): HTMLPreElement => node("pre", { className: "json" }, JSON.stringify(value, null, 2));

/** A summary of a value, which the page shows while the value is collapsed. */
function summaryOf(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} items`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const { omitted_bytes, items, total, name: own, primary_email, email, id } = value as Record<string, unknown>;
  if (typeof omitted_bytes === "number") return "left out, too large";
  if (Array.isArray(items)) return `${items.length} of ${typeof total === "number" ? total : items.length} items`;
  const name = own ?? primary_email ?? email ?? id;
  return typeof name === "string" ? name : `${Object.keys(value).length} members`;
}

const badge = (text: string, kind: string): HTMLSpanElement => node("span", { className: `badge ${kind}` }, text);

function callItem({ index, function: name, status, result, error }: Call): HTMLLIElement {
  const head = [node("span", { className: "index" }, `${index + 1}`), node("code", {}, name), badge(status, status)];
  if (status !== "completed") {
    const why = error ? [node("span", { className: "note" }, error.code)] : [];
    return node("li", {}, node("div", { className: "call" }, ...head, ...why));
  }
  const summary = node(
    "summary",
    { className: "call" },
    ...head,
    node("span", { className: "note" }, summaryOf(result)),
  );
  return node("li", {}, node("details", {}, summary, json(result)));
}

/**
 * Splits a message into its mistakes, each with its position and its text. The first mistake has all text up to its
 * line of the program, and each further mistake has one line. The remaining text belongs to all of them.
 */
export function mistakesIn({ message, line, column }: Omit<ProgramError, "code">): {
  mistakes: Mistake[];
  rest: string;
} {
  const lines = message.split("\n");
  const place = lines.indexOf(`line ${line}, column ${column}:`);
  if (place < 0) return { mistakes: [{ line, column, text: message }], rest: "" };
  const mistakes = [{ line, column, text: lines.slice(0, place).join("\n") }];
  const rest: string[] = [];
  for (const one of lines.slice(place + 3)) {
    const [, at, character, text] = /^line (\d+), column (\d+): (.+)$/.exec(one) ?? [];
    if (text === undefined) rest.push(one);
    else mistakes.push({ line: Number(at), column: Number(character), text });
  }
  const heading = new RegExp(`^${mistakes.length - 1} more mistakes?:$`);
  return { mistakes, rest: rest.filter((one) => !heading.test(one)).join("\n") };
}

/** A line of a program with a caret under a column; of a long line, the part around it. */
function pointAt(text: string, { line, column }: Position): string {
  const characters = Array.from(text.split(/\r\n|\r|\n/)[line - 1] ?? "");
  const from = Math.max(0, column - 51);
  const padding = characters.slice(from, column - 1).map((one) => (one === "\t" ? "\t" : " "));
  return `${characters.slice(from, from + 100).join("")}\n${padding.join("")}^`;
}

/** The elements that show a mistake. The sentences wrap; the line of the program and the caret below it do not. */
function mistakeParts({ line, column, text }: Mistake, code: string, goTo: GoTo): HTMLElement[] {
  const show = node("button", { type: "button" }, `Go to line ${line}`);
  show.addEventListener("click", () => goTo({ line, column }));
  return [node("p", { className: "prose" }, text), node("pre", { tabIndex: 0 }, pointAt(code, { line, column })), show];
}

function errorBox(error: ProgramError, program: string, goTo: GoTo): HTMLDivElement {
  const { mistakes, rest } = mistakesIn(error);
  const [first = [], ...others] = mistakes.map((mistake) => mistakeParts(mistake, program, goTo));
  const { detail } = error;
  const more =
    detail === undefined
      ? []
      : [node("details", {}, node("summary", {}, "The answer of the REST route"), json(detail))];
  return node(
    "div",
    { className: "error" },
    node("b", {}, error.code),
    ...first,
    ...more,
    ...others.map((parts) => node("div", { className: "mistake" }, ...parts)),
    ...(rest === "" ? [] : [node("p", { className: "prose" }, rest)]),
  );
}

const heldText = new Map<boolean | null, string>([
  [true, "yes"],
  [false, "no"],
  [null, "known only when it runs"],
]);

/** The elements that show the writes of a dry run, with their arguments. */
const plannedParts = (calls: PlannedCall[]): HTMLElement[] =>
  calls.flatMap(({ function: name, planned = [] }) => {
    if (planned.length === 0) return [];
    const refused = planned.filter(({ allowed }) => allowed === false).length;
    const note = `${planned.length} planned${refused > 0 ? `, ${refused} of them refused` : ""}`;
    return node("details", {}, node("summary", {}, node("code", {}, name), ` ${note}`), json(planned));
  });

function dryTable(calls: PlannedCall[]): HTMLTableElement {
  const row = ({ index, function: name, line, access, capability, held, count }: PlannedCall): HTMLTableRowElement =>
    node(
      "tr",
      {},
      ...[
        [String(index + 1)],
        [node("code", {}, name)],
        [String(line)],
        [access],
        [capability === null ? "a token is enough" : node("code", {}, capability)],
        [badge(heldText.get(held) ?? "", held === false ? "failed" : held ? "completed" : "skipped")],
        [count === null ? "known only when it runs" : String(count)],
      ].map(([content], place) => {
        const cell = node("td", {}, content);
        cell.dataset["label"] = headings[place] ?? "";
        return cell;
      }),
    );
  const headings = ["Call", "Function", "Line", "Access", "Needs", "You may", "Times"];
  const head = node("thead", {}, node("tr", {}, ...headings.map((text) => node("th", { scope: "col" }, text))));
  return node("table", {}, head, node("tbody", {}, ...calls.map(row)));
}

/** The elements that show the envelope of a program. */
export function outcomeOf(envelope: Envelope, program: string, goTo: GoTo): HTMLElement[] {
  const { status, result, responses, dry_run, session, error } = envelope;
  const parts: HTMLElement[] = [];
  if (error) parts.push(errorBox(error, program, goTo));
  if (dry_run) parts.push(dryTable(dry_run.calls), ...plannedParts(dry_run.calls));
  if (responses.length > 0) parts.push(node("ol", { className: "calls" }, ...responses.map(callItem)));
  // The last value of a failed program is only the result of an earlier call, which is in the list above.
  if (!dry_run && status === "completed") {
    const open = JSON.stringify(result.last_value).length < 4_000;
    parts.push(node("details", { open }, node("summary", {}, "Last value"), json(result.last_value)));
  }
  for (const { name, message } of session?.not_kept ?? []) {
    parts.push(node("p", { className: "note" }, node("code", {}, name), ` was not kept in the session. ${message}`));
  }
  parts.push(node("details", {}, node("summary", {}, "Envelope"), json(envelope)));
  return parts;
}

/** One line about the result of the program. */
export function statusOf(envelope: Envelope, { ms, isReplayed }: { ms: number; isReplayed: boolean }): string {
  const { status, complexity_score: score, responses, dry_run } = envelope;
  const count = dry_run ? dry_run.calls.length : responses.filter(({ status }) => status === "completed").length;
  const calls = `${count} ${count === 1 ? "call" : "calls"}${dry_run ? " would run" : ""}`;
  const what = dry_run ? "Dry run, nothing was changed" : status === "completed" ? "Completed" : "Failed";
  const again = isReplayed ? " · replayed answer" : "";
  return `${what} · ${calls} · score ${score} · ${Math.round(ms)} ms${again}`;
}

type Problem = { code?: string; title?: string; detail?: string | { loc: (string | number)[]; msg: string }[] };

/** The text for a failed request. */
export function problemOf(status: number, body: Problem): string {
  if (Array.isArray(body?.detail)) return body.detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("\n");
  if (status === 401) return `${body?.title ?? "Not signed in"}. Paste an access token above.`;
  return `${status} ${body?.code ?? ""}: ${body?.detail ?? "The request failed."}`;
}
