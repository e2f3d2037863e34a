import { catalogue } from "../../functions/code/catalogue.ts";
import type { Route } from "../../shared/http/route.ts";
import { exampleOf, type OperationExample } from "./examples.ts";
import { bracket, literal, styles } from "./literals.ts";

/** A program that makes the call in the example of an operation. */
export type Sample = {
  id: "curl" | "typescript" | "python" | "code-mode";
  /** The name of the language, for people. */
  label: string;
  /** The language for highlighting. Code mode is highlighted as Python. */
  language: "bash" | "ts" | "python";
  source: string;
};

/** The samples of an operation: with curl and in Python, and if possible in TypeScript and code mode. */
export function samplesOf(operationId: string): Sample[] {
  const example = exampleOf(operationId);
  const typescript = typescriptOf(example);
  const program = codeModeOf(example);
  return [
    { id: "curl", label: "curl", language: "bash", source: curlOf(example) },
    ...(typescript === undefined
      ? []
      : [{ id: "typescript", label: "TypeScript", language: "ts", source: typescript } as const]),
    { id: "python", label: "Python", language: "python", source: pythonOf(example) },
    ...(program === undefined
      ? []
      : [{ id: "code-mode", label: "Code mode", language: "python", source: program } as const]),
  ];
}

/** Whether a route answers with a file by default. Such a route answers with JSON only if the request prefers JSON. */
const prefersFile = ({ http: { file } }: Route): boolean => file !== undefined && file.onlyIfPreferred !== true;

const sentBody = ({ body = {} }: OperationExample): Record<string, unknown> | undefined =>
  Object.keys(body).length > 0 ? body : undefined;

/** Encodes a value for a URL that is inside double quotes of a shell. */
const encode = (value: unknown): string =>
  encodeURIComponent(String(value)).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);

/** The path of the call. In place of the account's id, the path has `account`, such as the name of a shell variable. */
const pathOf = ({ route, path }: OperationExample, account: string): string =>
  route.http.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === "account_id" ? account : encode(path[name])));

/** A text in single quotes for a POSIX shell. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The call with curl 7.82 or newer. Shell variables contain the address, the token and the account's id. */
function curlOf(example: OperationExample): string {
  const { route, query } = example;
  const { method } = route.http;
  const body = sentBody(example);
  const isImplied = method === (body === undefined ? "GET" : "POST");
  const search = Object.entries(query).map(([name, value]) => `${name}=${valueInQuery(name, value)}`);
  const address = `$BASE_URL${pathOf(example, "$ACCOUNT_ID")}${search.length > 0 ? `?${search.join("&")}` : ""}`;
  return [
    `curl ${isImplied ? "" : `-X ${method} `}"${address}"`,
    ...(route.public ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...(body === undefined && prefersFile(route) ? ['-H "Accept: application/json"'] : []),
    ...(body === undefined ? [] : [`--json ${shellQuoted(literal(body, styles.json, "", "  --json '".length))}`]),
  ].join(" \\\n  ");
}

const valueInQuery = (name: string, value: unknown): string => (name === "account_id" ? "$ACCOUNT_ID" : encode(value));

/**
 * The call in Python with the package `requests`. Environment variables contain the address, the token and the
 * account's id.
 */
function pythonOf(example: OperationExample): string {
  const { route, query } = example;
  const body = sentBody(example);
  const hasAccount = "account_id" in example.path || "account_id" in query;
  const headers = [
    ...(route.public ? [] : [`"Authorization": f"Bearer {os.environ['TOKEN']}"`]),
    ...(prefersFile(route) ? [`"Accept": "application/json"`] : []),
  ];
  const search = Object.entries(query).map(
    ([name, value]) =>
      `${styles.python.key(name)}: ${name === "account_id" ? name : styles.python.atom(queryValue(value))}`,
  );
  const parts = [
    () => `f"{base_url}${pathOf(example, "{account_id}")}"`,
    ...(search.length > 0 ? [(at: string) => `params=${pythonDict(search, at, "params=")}`] : []),
    ...(headers.length > 0 ? [(at: string) => `headers=${pythonDict(headers, at, "headers=")}`] : []),
    ...(body === undefined
      ? []
      : [(at: string) => `json=${literal(body, styles.python, at, at.length + "json=".length)}`]),
    () => "timeout=30",
  ];
  // The column is beyond the longest line, so `bracket` puts each argument on a line of its own.
  const call = bracket([`requests.${route.http.method.toLowerCase()}(`, ")"], parts, { column: 99, step: "    " });
  return [
    "import os",
    "",
    "import requests",
    "",
    'base_url = os.environ["BASE_URL"]',
    ...(hasAccount ? ['account_id = os.environ["ACCOUNT_ID"]'] : []),
    "",
    `response = ${call}`,
    "response.raise_for_status()",
    "print(response.json())",
  ].join("\n");
}

/** A query value for Python. A boolean becomes a text, because `requests` would write it with a capital letter. */
const queryValue = (value: unknown): unknown => (typeof value === "boolean" ? String(value) : value);

const pythonDict = (members: readonly string[], indent: string, before: string): string =>
  bracket(
    ["{", "}"],
    members.map((member) => () => member),
    { indent, column: indent.length + before.length, step: "    " },
  );

/** The arguments of a function, in the form of code mode and the client. */
function argumentsOf({ route, arguments: flat, path, query, body = {} }: OperationExample): Record<string, unknown> {
  if (route.codeMode.arguments === "flat") return flat;
  return { ...path, ...query, payload: { account_id: path["account_id"], ...body } };
}

/** The call as a program of code mode. Undefined for an operation that programs cannot call. */
function codeModeOf(example: OperationExample): string | undefined {
  const { name } = example.route;
  if (!catalogue.has(name)) return undefined;
  const given = Object.entries(argumentsOf(example)).map(([argument, value]) => (at: string) => {
    const before = `${argument}=`;
    return before + literal(value, styles.python, at, at.length + before.length);
  });
  return bracket([`${name}(`, ")"], given, { step: "    " });
}

/** The call in TypeScript with the client. Undefined for MCP, because MCP has its own clients. */
function typescriptOf(example: OperationExample): string | undefined {
  const { name } = example.route;
  if (name === "code.mcp") return undefined;
  const call = name === "code.a2a" ? codeCall(example) : functionCall(example);
  return [
    'import { HostedMail } from "@hosted-mail/client";',
    "",
    example.route.public
      ? "const client = new HostedMail();"
      : "const client = new HostedMail({ token: process.env.HOSTED_MAIL_TOKEN });",
    "",
    call,
  ].join("\n");
}

function codeCall({ body = {} }: OperationExample): string {
  const { code, ...options } = body;
  const lines = String(code).replaceAll(/[\\`$]/g, String.raw`\$&`);
  return `const { result } = await client.code(\n  \`${lines}\`,\n  ${literal(options, styles.typescript, "  ")},\n);\nconsole.log(result.last_value);`;
}

function functionCall(example: OperationExample): string {
  const { route, answer } = example;
  const given = argumentsOf(example);
  const callAfter = (before: string): string => {
    const start = `${before}client.${route.name}(`;
    const value = Object.keys(given).length > 0 ? literal(given, styles.typescript, "", start.length) : "";
    return `${start}${value})`;
  };
  const item = itemOf(route, answer);
  if (item) {
    const head = callAfter(`for await (const ${item.name} of `);
    return `${head}) {\n  console.log(${item.shown});\n}`;
  }
  if (isEmpty(answer)) return `${callAfter("await ")};`;
  const name = resultName(route.name);
  return `${callAfter(`const ${name} = await `)};\nconsole.log(${name});`;
}

const isEmpty = (answer: unknown): boolean =>
  typeof answer === "object" && answer !== null && Object.keys(answer).length === 0;

/** The names of members that identify an item for a reader, best first. */
const telling = "primary_email email target_email url name number action description subject_id id".split(" ");

/**
 * The variable name for an item of a list, and the expression that the sample prints. Undefined if the answer is not a
 * list.
 */
function itemOf({ name }: Route, answer: unknown): { name: string; shown: string } | undefined {
  const lists = Array.isArray(answer) ? [answer] : Object.values(answer as object).filter((one) => Array.isArray(one));
  const isList = name.endsWith("list") || Array.isArray(answer);
  const [items] = lists;
  if (!isList || lists.length !== 1 || !items) return undefined;
  const item = resultName(name);
  const [first] = items as unknown[];
  const member = telling.find((one) => typeof (first as Record<string, unknown> | undefined)?.[one] === "string");
  return { name: item, shown: member === undefined ? item : `${item}.${member}` };
}

/**
 * The variable names for some results. For these functions, the name of the family does not fit, or is a reserved word.
 */
const resultNames: Record<string, string> = {
  "me.get": "me",
  "me.permissions": "permissions",
  "functions.list": "fn",
  "audit.list": "entry",
  "dedicated_ips.available_options": "option",
  "mailboxes.deleted.list": "mailbox",
  "mailboxes.exports.get": "job",
  "mailboxes.aliases.create": "alias",
  "domains.dkim.rotate": "domain",
  "domains.health": "health",
  "dedicated_ips.domains.assign": "dedicatedIp",
  "dedicated_ips.domains.unassign": "dedicatedIp",
  "statistics.get": "statistics",
  "billing.alerts.get": "alerts",
  "billing.alerts.update": "alerts",
  "limits.get": "limits",
  "notices.get": "notices",
  "notices.update": "notices",
};

/**
 * The variable name for the result of a function, such as `mailbox` for `mailboxes.get`, and `usage` for
 * `mailboxes.usage.get`.
 */
function resultName(name: string): string {
  const own = resultNames[name];
  if (own !== undefined) return own;
  const words = name.split(".");
  const family = words.at(-2) ?? name;
  const verb = words.at(-1) ?? name;
  // The result of these verbs is a resource of the family, or a list of them.
  const familyVerbs = /^(?:list|get|add|create|update|grant|assign|submit|activate|move|renew|restore|rotate|claim)$/;
  const singular = family.replace(/ies$/, "y").replace(/xes$/, "x").replace(/s$/, "");
  return (familyVerbs.test(verb) ? singular : "result").replaceAll(/_(\w)/g, (_, letter: string) =>
    letter.toUpperCase(),
  );
}
