import { node } from "./playground-dom.js";
import { pointAt } from "./playground-text.js";

const json = (value) => node("pre", { className: "json" }, JSON.stringify(value, null, 2));

/** What there is to see of a value without opening it. */
function summaryOf(value) {
  if (Array.isArray(value)) return `${value.length} items`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (typeof value.omitted_bytes === "number") return "left out: too large";
  if (Array.isArray(value.items)) return `${value.items.length} of ${value.total ?? value.items.length} items`;
  const name = value.name ?? value.primary_email ?? value.email ?? value.id;
  return typeof name === "string" ? name : `${Object.keys(value).length} members`;
}

const badge = (text, kind) => node("span", { className: `badge ${kind}` }, text);

function callItem({ index, function: name, status, result, error }) {
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
 * The mistakes that a message tells, each with its place and its sentences: of the first, all up to its line of the program;
 * of others, a line each. What is left of the message belongs to them all.
 */
export function mistakesIn({ message, line, column }) {
  const lines = message.split("\n");
  const place = lines.indexOf(`line ${line}, column ${column}:`);
  if (place < 0) return { mistakes: [{ line, column, text: message }], rest: "" };
  const mistakes = [{ line, column, text: lines.slice(0, place).join("\n") }];
  const rest = [];
  for (const one of lines.slice(place + 3)) {
    const [, at, character, text] = /^line (\d+), column (\d+): (.+)$/.exec(one) ?? [];
    if (text === undefined) rest.push(one);
    else mistakes.push({ line: Number(at), column: Number(character), text });
  }
  const told = new RegExp(`^${mistakes.length - 1} more mistakes?:$`);
  return { mistakes, rest: rest.filter((one) => !told.test(one)).join("\n") };
}

/** The sentences wrap; the line of the program and the caret below it do not. */
function mistakeParts({ line, column, text }, code, goTo) {
  const show = node("button", { type: "button" }, `Go to line ${line}`);
  show.addEventListener("click", () => goTo({ line, column }));
  return [node("p", { className: "prose" }, text), node("pre", { tabIndex: 0 }, pointAt(code, { line, column })), show];
}

function errorBox(error, program, goTo) {
  const { mistakes, rest } = mistakesIn(error);
  const [first, ...others] = mistakes.map((mistake) => mistakeParts(mistake, program, goTo));
  const { detail } = error;
  const more =
    detail === undefined ? [] : [node("details", {}, node("summary", {}, "What REST would answer"), json(detail))];
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

const heldText = new Map([
  [true, "yes"],
  [false, "no"],
  [null, "only the run can tell"],
]);

function dryTable({ calls }) {
  const row = ({ index, function: name, line, access, capability, held }) =>
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
      ].map(([content], place) => {
        const cell = node("td", {}, content);
        cell.dataset["label"] = headings[place] ?? "";
        return cell;
      }),
    );
  const headings = ["Call", "Function", "Line", "Access", "Needs", "You may"];
  const head = node("thead", {}, node("tr", {}, ...headings.map((text) => node("th", { scope: "col" }, text))));
  return node("table", {}, head, node("tbody", {}, ...calls.map(row)));
}

/** The envelope of a program as something to read. */
export function outcomeOf(envelope, program, goTo) {
  const { status, result, responses, dry_run, session, error } = envelope;
  const parts = [];
  if (error) parts.push(errorBox(error, program, goTo));
  if (dry_run) parts.push(dryTable(dry_run));
  if (responses.length > 0) parts.push(node("ol", { className: "calls" }, ...responses.map(callItem)));
  // What failed has no outcome: its last value is what a call before that brought, which stands there too.
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

/** One line about what came of it. */
export function statusOf(envelope, { ms, isReplayed }) {
  const { status, complexity_score: score, responses, dry_run } = envelope;
  const count = dry_run ? dry_run.calls.length : responses.filter(({ status }) => status === "completed").length;
  const calls = `${count} ${count === 1 ? "call" : "calls"}${dry_run ? " would run" : ""}`;
  const what = dry_run ? "Dry run, nothing was done" : status === "completed" ? "Completed" : "Failed";
  const again = isReplayed ? " · answered as before" : "";
  return `${what} · ${calls} · score ${score} · ${Math.round(ms)} ms${again}`;
}

/** A failure that is not the program's: what it was, and whether sending the same again can help. */
export function problemOf(status, body) {
  if (Array.isArray(body?.detail)) return body.detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("\n");
  if (status === 401) return `${body?.title ?? "Not signed in"}: paste an access token above.`;
  return `${status} ${body?.code ?? ""}: ${body?.detail ?? "It did not work."}`;
}
