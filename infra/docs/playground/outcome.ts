import type { Position } from "./diagnostics.ts";
import { element } from "./dom.ts";

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

/** A mistake in a program: its position, and the text about it. */
type Mistake = Position & { text: string };

type GoTo = (position: Position) => void;

const json = (value: unknown): HTMLPreElement =>
  element("pre", { className: "json", tabIndex: 0 }, JSON.stringify(value, null, 2));

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** A summary of a value. The page shows the summary while the value is collapsed. */
function summaryOf(value: unknown): string {
  if (Array.isArray(value)) return counted(value.length, "item");
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const { omitted_bytes, items, total, name: own, primary_email, email, id } = value as Record<string, unknown>;
  if (typeof omitted_bytes === "number") return "left out because it is too large";
  if (Array.isArray(items)) return `${items.length} of ${typeof total === "number" ? total : items.length} items`;
  const name = own ?? primary_email ?? email ?? id;
  return typeof name === "string" ? name : counted(Object.keys(value).length, "member");
}

const badge = (text: string, kind: string): HTMLSpanElement => element("span", { className: `badge ${kind}` }, text);

function callItem({ index, function: name, status, result, error }: Call): HTMLLIElement {
  const head = [
    element("span", { className: "index" }, `${index + 1}`),
    element("code", {}, name),
    badge(status, status),
  ];
  if (status !== "completed") {
    const why = error ? [element("span", { className: "note" }, error.code)] : [];
    return element("li", {}, element("div", { className: "call" }, ...head, ...why));
  }
  const summary = element(
    "summary",
    { className: "call" },
    ...head,
    element("span", { className: "note" }, summaryOf(result)),
  );
  return element("li", {}, element("details", {}, summary, json(result)));
}

/**
 * Splits the message of an error into mistakes, each with its position and its text. A message consists of:
 * - the text of the first mistake,
 * - a line with the position of the first mistake, a line of the program, and a line with a caret,
 * - a heading and a line for each further mistake, such as `5 more mistakes, the first 4 of them:`,
 * - further text, such as advice about calls that took effect.
 *
 * `heading` is the heading of the further mistakes if the message leaves some of these mistakes out. In other cases
 * `heading` is empty. `rest` is the further text.
 */
export function mistakesIn({ message, line, column }: Omit<ProgramError, "code">): {
  mistakes: Mistake[];
  heading: string;
  rest: string;
} {
  const lines = message.split("\n");
  const positionLine = lines.indexOf(`line ${line}, column ${column}:`);
  if (positionLine < 0) return { mistakes: [{ line, column, text: message }], heading: "", rest: "" };
  const mistakes = [{ line, column, text: lines.slice(0, positionLine).join("\n") }];
  const rest: string[] = [];
  let heading = "";
  // After the position come a line of the program, and a line with a caret.
  for (const one of lines.slice(positionLine + 3)) {
    const [, at, character, text] = /^line (\d+), column (\d+): (.+)$/.exec(one) ?? [];
    const headingMatch = /^\d+ more mistakes?(, the first \d+ of them)?:$/.exec(one);
    if (headingMatch?.[1] !== undefined) heading = one;
    else if (headingMatch) continue;
    else if (text === undefined) rest.push(one);
    else mistakes.push({ line: Number(at), column: Number(character), text });
  }
  return { mistakes, heading, rest: rest.join("\n") };
}

/** The most characters of a line that the page shows. */
const shownChars = 100;

/** A line of a program, with a caret below a column. Cuts a long line to the part around the column. */
function pointAt(text: string, { line, column }: Position): string {
  const characters = Array.from(text.split(/\r\n|\r|\n/)[line - 1] ?? "");
  const from = Math.max(0, column - 1 - shownChars / 2);
  const padding = characters.slice(from, column - 1).map((one) => (one === "\t" ? "\t" : " "));
  return `${characters.slice(from, from + shownChars).join("")}\n${padding.join("")}^`;
}

/** The elements that show a mistake. The text wraps. The line of the program and the caret below it do not wrap. */
function mistakeParts({ line, column, text }: Mistake, code: string, goTo: GoTo): HTMLElement[] {
  const show = element("button", { type: "button" }, `Go to line ${line}`);
  show.addEventListener("click", () => goTo({ line, column }));
  return [
    element("p", { className: "prose" }, text),
    element("pre", { tabIndex: 0 }, pointAt(code, { line, column })),
    show,
  ];
}

function errorBox(error: ProgramError, program: string, goTo: GoTo): HTMLDivElement {
  const { mistakes, heading, rest } = mistakesIn(error);
  const [first = [], ...others] = mistakes.map((mistake) => mistakeParts(mistake, program, goTo));
  const { detail } = error;
  const more =
    detail === undefined
      ? []
      : [element("details", {}, element("summary", {}, "The error of the REST API"), json(detail))];
  return element(
    "div",
    { className: "error" },
    element("b", {}, error.code),
    ...first,
    ...more,
    ...(heading === "" ? [] : [element("p", { className: "prose" }, heading)]),
    ...others.map((parts) => element("div", { className: "mistake" }, ...parts)),
    ...(rest === "" ? [] : [element("p", { className: "prose" }, rest)]),
  );
}

/**
 * The badge that says whether the caller has the capability of a call. `held` is null if the account is known only in a
 * run, or if the caller has the capability for only some resources.
 */
function heldBadge(held: boolean | null): HTMLSpanElement {
  if (held === null) return badge("known only when it runs", "skipped");
  return held ? badge("yes", "completed") : badge("no", "failed");
}

/** The elements that show the writes of a dry run, with their arguments. */
const plannedParts = (calls: PlannedCall[]): HTMLElement[] =>
  calls.flatMap(({ function: name, planned = [] }) => {
    if (planned.length === 0) return [];
    const refused = planned.filter(({ allowed }) => allowed === false).length;
    const note = `${planned.length} planned${refused > 0 ? `, ${refused} of them refused` : ""}`;
    return element("details", {}, element("summary", {}, element("code", {}, name), ` ${note}`), json(planned));
  });

function dryTable(calls: PlannedCall[]): HTMLTableElement {
  const headings = ["Call", "Function", "Line", "Access", "Needs", "Capability held", "Times"];
  const row = ({ index, function: name, line, access, capability, held, count }: PlannedCall): HTMLTableRowElement =>
    element(
      "tr",
      {},
      ...[
        [String(index + 1)],
        [element("code", {}, name)],
        [String(line)],
        [access],
        [capability === null ? "a token is enough" : element("code", {}, capability)],
        [heldBadge(held)],
        [count === null ? "known only when it runs" : String(count)],
      ].map(([content], column) => {
        const cell = element("td", {}, content);
        cell.dataset["label"] = headings[column] ?? "";
        return cell;
      }),
    );
  const head = element(
    "thead",
    {},
    element("tr", {}, ...headings.map((text) => element("th", { scope: "col" }, text))),
  );
  return element("table", {}, head, element("tbody", {}, ...calls.map(row)));
}

/** The elements that show the envelope of a program. */
export function outcomeOf(envelope: Envelope, program: string, goTo: GoTo): HTMLElement[] {
  const { status, result, responses, dry_run, session, error } = envelope;
  const parts: HTMLElement[] = [];
  if (error) parts.push(errorBox(error, program, goTo));
  if (dry_run) parts.push(dryTable(dry_run.calls), ...plannedParts(dry_run.calls));
  if (responses.length > 0) parts.push(element("ol", { className: "calls" }, ...responses.map(callItem)));
  // The last value of a failed program is only the result of an earlier call. The list above already shows this result.
  if (!dry_run && status === "completed") {
    const open = JSON.stringify(result.last_value).length < 4_000;
    parts.push(element("details", { open }, element("summary", {}, "Last value"), json(result.last_value)));
  }
  for (const { name, message } of session?.not_kept ?? []) {
    parts.push(
      element("p", { className: "note" }, element("code", {}, name), ` was not kept in the session. ${message}`),
    );
  }
  parts.push(element("details", {}, element("summary", {}, "Envelope"), json(envelope)));
  return parts;
}

/** One line about the result of the program. */
export function statusOf(envelope: Envelope, { ms, isReplayed }: { ms: number; isReplayed: boolean }): string {
  const { status, complexity_score: score, responses, dry_run } = envelope;
  const end = `score ${score} · ${Math.round(ms)} ms${isReplayed ? " · replayed answer" : ""}`;
  if (dry_run) return `Dry run, nothing was changed · ${counted(dry_run.calls.length, "call")} in the program · ${end}`;
  const completed = responses.filter((call) => call.status === "completed").length;
  return `${status === "completed" ? "Completed" : "Failed"} · ${counted(completed, "call")} · ${end}`;
}

export type Problem = { code?: string; title?: string; detail?: string | { loc: (string | number)[]; msg: string }[] };

/** The text for a failed request. */
export function problemOf(status: number, body: Problem): string {
  if (Array.isArray(body?.detail)) return body.detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("\n");
  return `${status} ${body?.code ?? ""}: ${body?.detail ?? "The request failed."}`;
}
