import { node } from "./playground-dom.js";

const json = (value) => node("pre", { className: "json" }, JSON.stringify(value, null, 2));

/** What there is to see of a value without opening it. */
function summaryOf(value) {
  if (Array.isArray(value)) return `${value.length} items`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (typeof value.omitted_bytes === "number") return "left out: too large";
  if (Array.isArray(value.items)) return `${value.items.length} of ${value.total ?? value.items.length} items`;
  const name = value.name ?? value.email ?? value.id;
  return typeof name === "string" ? name : `${Object.keys(value).length} members`;
}

const badge = (text, kind) => node("span", { className: `badge ${kind}` }, text);

function callItem({ index, function: name, status, result, error }) {
  const head = [node("span", { className: "index" }, `${index}`), node("code", {}, name), badge(status, status)];
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

/** The sentences wrap; the line of the program and the caret below it do not. */
function messageParts(message) {
  const lines = message.split("\n");
  if (!/^\s*\^/.test(lines.at(-1) ?? "")) return [node("p", { className: "prose" }, message)];
  return [
    node("p", { className: "prose" }, lines.slice(0, -2).join("\n")),
    node("pre", {}, lines.slice(-2).join("\n")),
  ];
}

function errorBox({ code, message, line, column, detail }, goTo) {
  const show = node("button", { type: "button" }, `Go to line ${line}`);
  show.addEventListener("click", () => goTo({ line, column }));
  const more =
    detail === undefined ? [] : [node("details", {}, node("summary", {}, "What REST would answer"), json(detail))];
  return node("div", { className: "error" }, node("b", {}, code), ...messageParts(message), show, ...more);
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
        [String(index)],
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
export function outcomeOf(envelope, goTo) {
  const { status, result, responses, dry_run, session, error } = envelope;
  const parts = [];
  if (error) parts.push(errorBox(error, goTo));
  if (dry_run) parts.push(dryTable(dry_run));
  if (responses.length > 0) parts.push(node("ol", { className: "calls" }, ...responses.map(callItem)));
  if (!dry_run && (status === "completed" || result.last_value !== null)) {
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
