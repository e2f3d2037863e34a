import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { checksFor } from "../../../infra/smoke/checks.ts";
import { runChecks, type Check, type CheckResult } from "../../../infra/smoke/run.ts";
import { Scene } from "../../../infra/smoke/scene.ts";
import { dayMs, setClockAhead } from "../../../shared/core/time.ts";
import { request } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { serveProduct } from "../../support/serve-product.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

const main = resolve(import.meta.dirname, "../../../infra/smoke/main.ts");
const checks = checksFor({ writeFeedback: false });

let product: Awaited<ReturnType<typeof serveProduct>>;
beforeAll(async () => {
  product = await serveProduct();
});
afterAll(() => product.close());

type Options = { readOnly?: boolean; signal?: AbortSignal; onOutcome?: (outcome: CheckResult) => void };

async function runAs(token: string, some: readonly Check[] = checks, options: Options = {}): Promise<CheckResult[]> {
  const scene = new Scene({ url: product.base, token });
  const all = { readOnly: false, signal: new AbortController().signal, onOutcome: () => {}, ...options };
  return runChecks(some, scene, all);
}

const of = (outcomes: readonly CheckResult[], state: CheckResult["state"]): string[] =>
  outcomes.filter((outcome) => outcome.state === state).map(({ name, note }) => `${name}: ${note}`);

/** The number of resources of each kind that the smoke test creates. */
async function inventory({ id, owner }: Account): Promise<Record<string, number>> {
  const lists = [
    "workspaces",
    "domains",
    "mailboxes",
    "credentials",
    "forwarding",
    "dedicated-ips",
    "tags",
    "webhooks",
    "auth/groups",
    "auth/service-accounts",
    "auth/authorizations",
    "auth/role-assignments",
  ];
  const counts: Record<string, number> = {};
  for (const list of lists) {
    const { status, body } = await request("GET", `/v1/public/accounts/${id}/${list}`, { token: owner.token });
    if (status !== 200) throw new Error(`The list of ${list} answered ${status}: ${JSON.stringify(body)}`);
    const rows = (Array.isArray(body) ? body : body.items) as { revoked_at?: string | null }[];
    counts[list] = rows.filter(({ revoked_at }) => !revoked_at).length;
  }
  return counts;
}

const auditTotal = async ({ id, owner }: Account): Promise<number> =>
  (await request("GET", `/v1/public/accounts/${id}/audit-log`, { token: owner.token })).body.total;

/** Starts a proxy that passes requests on, but loses the first answer to a request that matches `pattern`. */
async function startLosing(base: string, pattern: RegExp) {
  let lost = 0;
  const handOn = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = "", url = "", headers } = incoming;
    const body = Buffer.concat(await incoming.toArray());
    const { host: _, connection: __, ...others } = headers;
    const answer = await fetch(base + url, {
      method,
      headers: others as Record<string, string>,
      ...(body.length > 0 ? { body } : {}),
    });
    const text = await answer.text();
    if (lost === 0 && pattern.test(`${method} ${url}`)) {
      lost += 1;
      outgoing.destroy();
      return;
    }
    const type = { "content-type": answer.headers.get("content-type") ?? "" };
    outgoing.writeHead(answer.status, { ...type, ratelimit: answer.headers.get("ratelimit") ?? "" }).end(text);
  };
  const server = createServer((incoming, outgoing) => void handOn(incoming, outgoing));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { base: `http://127.0.0.1:${port}`, lost: () => lost, close: () => server.close() };
}

describe("the smoke test", { timeout: 60_000 }, () => {
  test("finds no fault in any family of a healthy product, and leaves the account as it was", async () => {
    const account = await newRoomyAccount();
    const before = await inventory(account);
    const outcomes = await runAs(account.owner.token);
    expect(of(outcomes, "failed")).toEqual([]);
    expect(of(outcomes, "skipped").map((line) => line.split(":")[0])).toEqual([
      "dns_records.list",
      "statistics.get",
      "billing",
      "feedback.submit",
    ]);
    expect(await inventory(account)).toEqual(before);
    expect(await auditTotal(account)).toBeGreaterThan(30);
  });

  test("finds no fault in a product whose clock is a day ahead of the machine's clock", async () => {
    const account = await newRoomyAccount();
    setClockAhead(dayMs);
    onTestFinished(() => setClockAhead(0));
    const outcomes = await runAs(account.owner.token);
    expect(of(outcomes, "failed")).toEqual([]);
  });

  test("has a check for every family of the API", () => {
    const families = "accounts me workspaces domains dns_records mailboxes credentials forwarding dedicated_ips";
    const others = "billing feedback auth tags audit webhooks functions code mcp a2a openapi docs";
    const names = checks.map(({ name }) => name);
    const missing = `${families} ${others}`.split(" ").filter((one) => !names.some((name) => name.startsWith(one)));
    expect(missing).toEqual([]);
  });

  test("creates nothing with --read-only", async () => {
    const account = await newRoomyAccount();
    const before = await auditTotal(account);
    const outcomes = await runAs(account.owner.token, checks, { readOnly: true });
    expect(of(outcomes, "failed")).toEqual([]);
    expect(await auditTotal(account)).toBe(before);
  });

  test("skips the checks that the token may not run, and gives the reason", async () => {
    const account = await newAccount();
    const viewer = await newMember(account, { role: "viewer" });
    const outcomes = await runAs(viewer.token);
    expect(of(outcomes, "failed")).toEqual([]);
    expect(of(outcomes, "skipped")).toEqual(
      expect.arrayContaining([
        "credentials.list: the token lacks credential.view",
        "workspaces: add, get, update: the token lacks workspace.manage",
        "dns_records: add, update, delete: this run has no domain",
      ]),
    );
  });

  test("deletes the created resources when a check fails in the middle", async () => {
    const account = await newRoomyAccount();
    const breaking: Check = { name: "breaks", run: () => Promise.reject(new Error("as it should")) };
    const at = checks.findIndex(({ name }) => name.startsWith("dns_records: add"));
    const outcomes = await runAs(account.owner.token, [...checks.slice(0, at), breaking]);
    expect(of(outcomes, "failed")).toEqual(["breaks: as it should"]);
    expect(of(outcomes, "ok").filter((line) => line.startsWith("delete "))).toHaveLength(2);
    expect(await inventory(account)).toMatchObject({ workspaces: 0, domains: 0 });
  });

  test("stops before the next check when it is told to, and leaves nothing in the account", async () => {
    const account = await newRoomyAccount();
    const stop = new AbortController();
    const outcomes = await runAs(account.owner.token, checks, {
      signal: stop.signal,
      onOutcome: ({ name }) => name.startsWith("domains: add") && stop.abort(),
    });
    expect(outcomes.some(({ name }) => name.startsWith("mailboxes: add"))).toBe(false);
    expect(await inventory(account)).toMatchObject({ workspaces: 0, domains: 0 });
  });

  test.each(["service-accounts", "webhooks"])("deletes %s whose creation got no answer", async (family) => {
    const account = await newRoomyAccount();
    const losing = await startLosing(product.base, new RegExp(`^POST .*/${family}$`));
    const scene = new Scene({ url: losing.base, token: account.owner.token });
    const own = checks.filter(({ name }) => name === "accounts.list" || name.includes(family.replace("-", "_")));
    const outcomes = await runChecks(own, scene, {
      readOnly: false,
      signal: new AbortController().signal,
      onOutcome: () => {},
    });
    losing.close();
    expect(losing.lost()).toBe(1);
    expect(of(outcomes, "ok").some((line) => line.startsWith("delete "))).toBe(true);
    expect(await inventory(account)).toMatchObject({ "auth/service-accounts": 0, webhooks: 0 });
  });

  test("names the resources that could not be deleted", async () => {
    const account = await newAccount();
    const stuck: Check = {
      name: "makes",
      writes: true,
      run: async (scene) => void scene.registerRemoval("a thing", () => Promise.reject(new Error("it is stuck"))),
    };
    const outcomes = await runAs(account.owner.token, [stuck]);
    expect(of(outcomes, "failed")).toEqual(["delete a thing: LEFT BEHIND: it is stuck: it is stuck"]);
  });
});

describe("the command", { timeout: 60_000 }, () => {
  function start(args: string[], env: Record<string, string> = {}) {
    const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env["PATH"], ...env } });
    const said = Promise.all([text(child.stdout), text(child.stderr)]);
    const exited = once(child, "exit");
    return { child, ended: async () => ({ said: (await said).join(""), code: (await exited)[0] as number | null }) };
  }

  test("prints a line with the milliseconds of each check, and a summary, and exits with 0", async () => {
    const account = await newAccount();
    const { said, code } = await start(["--url", product.base, "--read-only"], {
      SMOKE_TOKEN: account.owner.token,
    }).ended();
    expect([code, said]).toEqual([0, expect.stringMatching(/\n\d+ ok, 0 failed, \d+ skipped, in [\d.]+ s\n$/)]);
    expect(said).toMatch(/\nok +\d+ ms {2}tags\.list +0 in all\n/);
    expect(said).not.toContain(account.owner.token);
  });

  test("exits with 1 when a check fails, and prints the error of the API", async () => {
    const { said, code } = await start(["--url", product.base, "--token", "nobody", "--read-only"]).ended();
    expect(code).toBe(1);
    expect(said).toMatch(/\nFAILED +\d+ ms {2}me\.get +401 unauthenticated: .*\(request \S+\)\n/);
    expect(said).toContain("1 failed");
  });

  test("deletes the created resources on Ctrl-C, and exits with 130", async () => {
    const account = await newRoomyAccount();
    const { child, ended } = start(["--url", product.base, "--token", account.owner.token]);
    child.stdout.on("data", (chunk: Buffer) => {
      if (chunk.toString().includes("domains: add")) child.kill("SIGINT");
    });
    expect((await ended()).code).toBe(130);
    expect(await inventory(account)).toMatchObject({ workspaces: 0, domains: 0, mailboxes: 0 });
  });

  test.each([
    [["--url", "http://127.0.0.1:1"], "Give both --url and --token"],
    [["--url", "here", "--token", "t"], "is not a URL"],
    [["--tokn", "t"], "--tokn"],
    [["all"], "all"],
    [[], "npm start"],
  ])("refuses the arguments %j with a reason, and exits with 2", async (args, reason) => {
    const { said, code } = await start(args, { DATA_DIR: "/nonexistent" }).ended();
    expect([code, said]).toEqual([2, expect.stringContaining(reason)]);
    expect(said).toContain("Usage:");
  });
});
