import { type ProblemCode, problemOf } from "../../../shared/core/errors.ts";
import { escapeHtml } from "../../../shared/core/text.ts";
import { errorGuidance } from "../errors.ts";
import { layOut, neighbourLinks } from "../layout.ts";
import { codeBlock, languageTabs, renderLine, renderText } from "../render.ts";
import { type Field, fieldOf, type FieldMembers, membersOf, typeText } from "./fields.ts";
import { familiesWithOperations, headerOf, type ReferenceOperation, operations } from "./operations.ts";
import { exampleFor } from "./samples.ts";

const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** The HTML of a path with a possible line break after each slash. */
const breakable = (path: string): string => escapeHtml(path).replaceAll("/", "/<wbr />");

const facts = ({ limits, choices, examples, default: preset }: Field): string => {
  const words = [
    ...(preset === undefined ? [] : [`Default: ${code(preset)}`]),
    ...(limits.length === 0 ? [] : [`Limits: ${limits.map(renderLine).join(", ")}`]),
    ...(choices.length === 0 ? [] : [`One of ${choices.map(code).join(", ")}`]),
    ...(examples.length === 0 ? [] : [`Example: ${examples.map(code).join(", ")}`]),
  ];
  return words.length === 0 ? "" : `<p class="facts">${words.join(" · ")}</p>`;
};

/**
 * Writes members as nested lists. Writes the members of a named schema once, and then links to them. `side` is `in` for
 * a request and `out` for an answer. The anchors of named schemas begin with `side`.
 */
class MemberLists {
  readonly #written = new Set<string>();
  readonly #side: "in" | "out";

  constructor(side: "in" | "out") {
    this.#side = side;
  }

  /** The anchor of a named schema. Undefined for a schema without a name. */
  #anchorOf({ name }: FieldMembers): string | undefined {
    return name === undefined ? undefined : `${this.#side}-${name}`;
  }

  /** Marks the less common case: required members of a request, and optional members of an answer. */
  #presence(required: boolean): string {
    if (this.#side === "in") return required ? ' <span class="required">required</span>' : "";
    return required ? "" : ' <span class="type">not always there</span>';
  }

  /** Lists fields. With `prefix`, each field has the anchor `<prefix>-<name>`. */
  list(fields: readonly Field[], prefix?: string): string {
    const items = fields.map((field) => {
      const { name, type, required, description, members } = field;
      const id = prefix === undefined ? "" : ` id="${prefix}-${name}"`;
      return `<div class="member"${id}><dt><code>${escapeHtml(name)}</code> <span class="type">${escapeHtml(type)}</span>${this.#presence(required)}</dt>
<dd>${renderText(description)}${facts(field)}${members.map((one) => this.#nested(one)).join("")}</dd></div>`;
    });
    return `<dl class="members">\n${items.join("\n")}\n</dl>`;
  }

  #nested(group: FieldMembers): string {
    const { name, fields } = group;
    const id = this.#anchorOf(group);
    if (id !== undefined && this.#written.has(id)) {
      return `<p class="facts">The members of <a href="#${id}">${name}</a></p>`;
    }
    if (id !== undefined) this.#written.add(id);
    const count = fields.length === 1 ? "1 member" : `${fields.length} members`;
    const title = name === undefined ? count : `${count} of ${code(name)}`;
    return `<details class="nested"${id === undefined ? "" : ` id="${id}"`}><summary>${title}</summary>\n${this.list(fields)}\n</details>`;
  }

  /** Lists the members of a body or an answer. Writes several kinds of object one after the other. */
  body(groups: readonly FieldMembers[], prefix: string): string {
    const [only, ...more] = groups;
    if (only === undefined) return "";
    if (more.length > 0) return groups.map((group) => this.#nested(group)).join("\n");
    const id = this.#anchorOf(only);
    if (id === undefined) return `<div>${this.list(only.fields, prefix)}</div>`;
    if (this.#written.has(id)) return this.#nested(only);
    this.#written.add(id);
    return `<div id="${id}">${this.list(only.fields, prefix)}</div>`;
  }
}

const places = [
  ["path", "Path"],
  ["query", "Query"],
  ["header", "Headers"],
] as const;

function argumentList(operation: ReferenceOperation): string {
  const lists = new MemberLists("in");
  const parts = places.flatMap(([place, title]) => {
    const found = operation.parameters.filter((parameter) => parameter.in === place);
    if (found.length === 0) return [];
    const fields = found.map(({ name, schema, required = false, description }) =>
      fieldOf(name, schema, required, description),
    );
    const list = lists.list(fields, place);
    // The headers are folded, because nearly all operations have the same headers.
    if (place === "header") return [`<details class="group"><summary><h3>${title}</h3></summary>\n${list}\n</details>`];
    return [`<h3>${title}</h3>\n${list}`];
  });
  const { body } = operation;
  const inBody =
    body &&
    `<h3>Body${body.required ? "" : ' <span class="type">optional</span>'}</h3>\n${lists.body(membersOf(body.schema), "body")}`;
  // Every operation has headers. They are the last part, and the body comes before them.
  const all = [...parts.slice(0, -1), ...(inBody ? [inBody] : []), ...parts.slice(-1)];
  return `<h2 id="arguments">Arguments</h2>\n${all.join("\n")}`;
}

function answersOf(operation: ReferenceOperation): string {
  const lists = new MemberLists("out");
  const parts = operation.answers.map(({ status, description, headers, content }, index) => {
    const types = Object.entries(content);
    const bodies = types.map(([type, { schema }]) => {
      const groups = schema ? membersOf(schema) : [];
      const title = types.length > 1 || groups.length === 0 ? `<p class="facts">${code(type)}</p>\n` : "";
      return title + lists.body(groups, index === 0 ? "answer" : `answer-${status}`);
    });
    const fields = Object.entries(headers).map(([name, header]) => {
      const { schema = {}, description: text = "" } = headerOf(header);
      return fieldOf(name, schema, false, text);
    });
    const named = fields.length === 1 ? "1 header" : `${fields.length} headers`;
    const inHeaders =
      fields.length === 0
        ? ""
        : `<details class="nested"><summary>${named}</summary>\n${lists.list(fields)}\n</details>`;
    const text = description === "Done." ? "" : `\n${renderText(description)}`;
    return `<h3><span class="status ok">${status}</span></h3>${text}\n${bodies.join("\n")}\n${inHeaders}`;
  });
  return `<h2 id="answer">Answer</h2>\n${parts.join("\n")}`;
}

/** Problems that many operations share. The page lists them apart from the operation's own problems. */
const commonProblems: ReadonlySet<ProblemCode> = new Set([
  "malformed_json",
  "unauthenticated",
  "token_expired",
  "token_revoked",
  "account_suspended",
  "idempotency_in_flight",
  "precondition_failed",
  "body_too_large",
  "unsupported_media_type",
  "rate_limited",
  "internal",
  "upstream_unavailable",
  "busy",
  "read_only",
]);

const problemRow = ({ status, code: name }: ReferenceOperation["problems"][number]): string =>
  `<div class="member"><dt><span class="status">${status}</span> <a href="/docs/errors#${name}"><code>${name}</code></a></dt>
<dd><p>${escapeHtml(problemOf(name).title)}. ${renderLine(errorGuidance[name])}</p></dd></div>`;

const invalidRow = `<div class="member"><dt><span class="status">422</span> <a href="/docs/errors"><code>detail</code></a></dt>
<dd><p>The request does not match its schema. <code>detail</code> names each invalid place.</p></dd></div>`;

function errorsOf({ problems }: ReferenceOperation): string {
  const own = problems.filter((problem) => !commonProblems.has(problem.code));
  const common = problems.filter((problem) => commonProblems.has(problem.code));
  return `<h2 id="errors">Errors</h2>
<dl class="members">\n${own.map(problemRow).join("\n")}\n${invalidRow}\n</dl>
<details class="group"><summary><h3>Errors of every request</h3></summary>
<dl class="members">\n${common.map(problemRow).join("\n")}\n</dl>
</details>`;
}

function callersOf({ route, isPublic }: ReferenceOperation): string {
  if (isPublic) return "Everybody, without a token.";
  if (route.capability === null) return `Every caller with a token. ${route.open ?? ""}`.trim();
  return `Callers with the <a href="/docs/authorization">capability</a> ${code(route.capability)}.`;
}

const factsOf = (operation: ReferenceOperation): string => `<dl class="about">
<div><dt>Who may call it</dt><dd>${callersOf(operation)}</dd></div>
<div><dt>Rate limit</dt><dd><a href="/docs/limits">Class</a> ${code(operation.route.limit)}</dd></div>
${operation.isFunction ? `<div><dt>Code mode</dt><dd>${code(operation.id)}</dd></div>` : ""}
</dl>`;

/** The calls and the answer of the example. Both are beside the text on wide screens. */
function exampleBeside(operation: ReferenceOperation): string {
  const { calls, answer } = exampleFor(operation);
  const tabs = calls.map(({ key, label, language, code: text }) => ({ key, label, html: codeBlock(text, language) }));
  return `<h2>Call</h2>\n${languageTabs(tabs)}
<h2>Answer <span class="status ok">${answer.status}</span></h2>\n${codeBlock(JSON.stringify(answer.body, null, 2), "json")}`;
}

/** The headers that a reader can set in the form "Try it". Other headers are only useful for programs. */
const triedHeaders: ReadonlySet<string> = new Set(["Idempotency-Key", "If-Match"]);

type TriedParameter = ReferenceOperation["parameters"][number];

function inputFor({ in: place, name, schema, required }: TriedParameter, value: string): string {
  const id = `try-${place}-${name}`;
  const label = `<label for="${id}"><code>${escapeHtml(name)}</code> <span class="type">${escapeHtml(typeText(schema))}</span></label>`;
  const values = schema.enum ?? (schema.type === "boolean" ? [true, false] : undefined);
  const attributes = `id="${id}" name="${escapeHtml(name)}" data-place="${place}"${required ? " required" : ""}`;
  const options = values?.map(
    (one) => `<option${String(one) === value ? " selected" : ""}>${escapeHtml(String(one))}</option>`,
  );
  const input = options
    ? `<select ${attributes}><option value=""></option>${options.join("")}</select>`
    : `<input ${attributes} value="${escapeHtml(value)}" autocomplete="off" autocapitalize="off" spellcheck="false" />`;
  return `<p>${label}${input}</p>`;
}

const tokenField = `<p><label for="try-token">Access token</label><input id="try-token" type="password" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="eyJ… or sat_…" aria-describedby="try-note" /></p>
<p class="demo" hidden><button type="button" id="try-demo">Use a demo token</button></p>`;

/**
 * The form that sends a request from the page, filled with the path and the body of the example. The form is hidden
 * until the page's script is ready.
 */
function tryForm(operation: ReferenceOperation): string {
  const { values, body } = exampleFor(operation);
  const shown = operation.parameters.filter(({ in: place, name }) => place !== "header" || triedHeaders.has(name));
  const fields = shown.map((parameter) =>
    inputFor(parameter, parameter.in === "path" ? (values[parameter.name] ?? "") : ""),
  );
  const text = JSON.stringify(body ?? {}, null, 2);
  const bodyField = operation.body
    ? `<p><label for="try-body">Body <span class="type">JSON</span></label><textarea id="try-body" rows="${Math.min(14, text.split("\n").length + 1)}" spellcheck="false" autocapitalize="off">${escapeHtml(text)}</textarea></p>`
    : "";
  return `<section class="try" id="try" aria-labelledby="try-title" hidden>
<h2 id="try-title">Try it</h2>
<p id="try-note">The request is real, and acts on your account. The page keeps the token only until you close this tab. Do not enter a token on a computer that you share.</p>
<form data-method="${operation.method}" data-path="${escapeHtml(operation.path)}" autocomplete="off">
${operation.isPublic ? "" : tokenField}
${fields.join("\n")}
${bodyField}
<p><button type="submit" class="primary">Send ${operation.method}</button> <button type="button" id="try-forget">Forget the token</button></p>
</form>
<div id="try-status" role="status" aria-live="polite"></div>
<div id="try-answer"></div>
</section>`;
}

const links = familiesWithOperations.flatMap(({ operations: all }) =>
  all.map(({ id }) => ({ path: `/docs/reference/${id}`, title: id })),
);

/** The family of an operation. */
const familyOf = ({ family }: ReferenceOperation) => familiesWithOperations.find(({ name }) => name === family);

/** The method and path of an operation. */
export const endpoint = ({ method, path }: ReferenceOperation): string =>
  `<span class="verb ${method.toLowerCase()}">${method}</span> <code>${breakable(path)}</code>`;

/** The page of an operation. */
function operationPage(operation: ReferenceOperation): string {
  const { id, summary, description } = operation;
  const path = `/docs/reference/${id}`;
  const family = familyOf(operation);
  const article = `<p class="crumbs"><a href="/docs">Reference</a> / <a href="/docs/reference/${operation.family}">${escapeHtml(family?.title ?? "")}</a></p>
<h1 id="top">${escapeHtml(summary)}</h1>
<p class="endpoint">${endpoint(operation)} <a class="to-try" href="#try" hidden>Try it</a></p>
<div class="lead">${renderText(description)}</div>
${factsOf(operation)}
${argumentList(operation)}
${answersOf(operation)}
${errorsOf(operation)}
${tryForm(operation)}
${neighbourLinks(links, path)}`;
  return layOut({
    path,
    title: `${summary} (${id})`,
    part: "reference",
    summary: `${operation.method} ${operation.path}: ${summary}.`,
    article,
    aside: exampleBeside(operation),
    hasMarkdown: true,
    scripts: ["try"],
  });
}

/** The pages of all operations, by id. */
export const operationPages = (): [string, string][] =>
  [...operations.values()].map((operation) => [operation.id, operationPage(operation)]);
