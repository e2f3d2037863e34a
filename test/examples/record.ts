import { randomUUID } from "node:crypto";

import { functionsRoute } from "../../functions/code/handler.ts";
import { routes } from "../../functions/routes.ts";
import { createAccount } from "../../shared/access/operate-accounts.ts";
import type { Route } from "../../shared/http/route.ts";
import { callRest } from "../support/call.ts";
import { exampleOf, type Example } from "../support/examples.ts";
import { request, type Answer } from "../support/request.ts";
import { newUser, testTable, type Account } from "../support/world.ts";
import { tidy } from "./tidy.ts";

/** A call of an operation and its answers, as infra/openapi/examples.json holds them. */
type Recorded = {
  arguments: Example;
  status: number;
  answer: unknown;
  /** The answer as the file of another media type, if the operation has one. */
  file?: string | undefined;
  not_found?: unknown;
  invalid?: unknown;
};

/** Moves the clock on, in seconds from the start of the example. */
export type Clock = (seconds: number) => void;

const client = { id: randomUUID(), name: "Example Hosting" };

async function exampleAccount(): Promise<Account> {
  const owner = newUser({ email: "ann.lee@example.com", given_name: "Ann", family_name: "Lee" });
  const input = { client, name: "Example Ltd", ownerId: owner.id, ownerEmail: owner.email };
  const { id, name } = await createAccount(testTable(), input, new Date());
  return { id, name, clientId: client.id, owner };
}

/** For each member, a value that names nothing. */
const missing: Record<string, unknown> = {
  domain: "missing.example",
  mailbox: "nobody@example.com",
  suppression: "nobody@example.com",
  alias: "nobody",
  role: "missing",
  record_id: 9999,
  token: "NoSuchTokenNoSuchToken",
  member_id: "99999999-9999-4999-8999-999999999999",
};

/** The answer to a call that names something missing: the last resource of the path, or an account or a link. */
async function notFound(route: Route, example: Example, token: string): Promise<unknown> {
  const elsewhere = { ...route.query.shape, ...route.body.shape };
  const name = Object.keys(route.params.shape).at(-1) ?? ["account_id", "token"].find((one) => one in elsewhere);
  if (name === undefined) return undefined;
  const called = { ...example, [name]: missing[name] ?? "99999999-9999-4999-8999-999999999999" };
  const { status, body } = await callRest(route, called, token);
  return status === 404 ? body : undefined;
}

/** Wrong values that a person might send, the likeliest first. */
const wrongValues: readonly unknown[] = [1_000, "not valid", "", -1, []];

/**
 * Returns the first answer 422 that names only the member with the wrong value. Tries the members of the example's body
 * and query, then the other members of the query, then the members of the path.
 */
async function invalid(route: Route, example: Example, token: string): Promise<unknown> {
  const [body, query, path] = [route.body, route.query, route.params].map(({ shape }) => Object.keys(shape));
  const given = [...(body ?? []), ...(query ?? [])].filter((name) => name in example && name !== "account_id");
  const members = [...given, ...(query ?? []).toReversed(), ...(path ?? []).toReversed()];
  for (const member of members) {
    for (const value of wrongValues) {
      if (typeof value === "number" && typeof (example[member] ?? 25) !== "number") continue;
      if (route.body.shape[member]?.safeParse(value).success) continue;
      const { status, body: answer } = await callRest(route, { ...example, [member]: value }, token);
      if (status === 422 && answer.detail.length === 1 && answer.detail[0].loc.at(-1) === member) return answer;
    }
  }
  if (members.length > 0) throw new Error(`${route.name} takes any value`);
  return (await request(route.http.method, `${route.http.path}?color=blue`, { token })).body;
}

/** Makes the same call again, and returns its answer as a file. Undefined if the operation has no file. */
async function fileOf(route: Route, example: Example, token: string): Promise<string | undefined> {
  const { file } = route.http;
  if (!file) return undefined;
  const { text, headers } = await callRest(route, example, token, { accept: file.type });
  return headers["content-type"]?.startsWith(file.type) ? text : undefined;
}

async function recordOne(route: Route, clock: Clock): Promise<Recorded> {
  clock(0);
  const account = await exampleAccount();
  const { token } = account.owner;
  const example = await exampleOf(route, account);
  clock(222);
  const failures = { not_found: await notFound(route, example, token), invalid: await invalid(route, example, token) };
  const { status, body } = await callRest(route, example, token);
  if (status !== route.http.status) throw new Error(`${route.name} answered ${status}`);
  const file = await fileOf(route, example, token);
  const recorded = { arguments: example, status, answer: body as unknown, file, ...failures };
  const known = [[account.id, "account"] as const, [account.owner.id, "user"] as const];
  return tidy(recorded, route.name, known);
}

const program = 'page = workspaces.list(account_id="…")\n[workspace.name for workspace in page.items]';

/** The endpoints of code mode, which are not functions: a program, and a call of a tool. */
async function recordPrograms(clock: Clock): Promise<Record<string, Recorded>> {
  clock(0);
  const account = await exampleAccount();
  const send = (path: string, body: Example, headers: Record<string, string> = {}): Promise<Answer> =>
    request("POST", `/v1/public/${path}`, { token: account.owner.token, body, headers });
  for (const name of ["Sales", "Marketing"]) await send(`accounts/${account.id}/workspaces`, { name });
  const code = program.replace("…", account.id);
  const envelope = { request_id: "request-1", session_id: "session-1", code };
  const message = { jsonrpc: "2.0", id: 1 };
  const call = { ...message, method: "tools/call", params: { name: "service_query", arguments: { code } } };
  const revision = "2026-07-28";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = { "mcp-protocol-version": revision, "mcp-method": "prompts/list" };
  const [ran, refused, called, unknown] = [
    await send("a2a", envelope),
    await send("a2a", { ...envelope, session_id: "" }),
    await send("mcp", call),
    await send("mcp", { ...message, method: "prompts/list", params: { _meta } }, headers),
  ];
  const a2a = {
    arguments: envelope,
    status: ran.status,
    answer: ran.body as unknown,
    invalid: refused.body as unknown,
  };
  const mcp = { arguments: call, status: called.status, answer: called.body as unknown };
  const known = [[account.id, "account"] as const];
  return {
    "code.a2a": tidy(a2a, "code.a2a", known),
    "code.mcp": tidy({ ...mcp, not_found: unknown.body as unknown }, "code.mcp", known),
  };
}

/**
 * Calls every operation in an account of its own. Returns what was sent and answered, with fixed values, by operation.
 */
export async function recordExamples(clock: Clock): Promise<Record<string, Recorded>> {
  const all: Record<string, Recorded> = {};
  for (const route of [...routes, functionsRoute]) all[route.name] ??= await recordOne(route, clock);
  return { ...all, ...(await recordPrograms(clock)) };
}
