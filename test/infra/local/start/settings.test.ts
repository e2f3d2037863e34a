import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { StartProblem } from "../../../../infra/local/command-line.ts";
import { banner, servedLine } from "../../../../infra/local/start/banner.ts";
import { checkEnvironment } from "../../../../infra/local/start/check-environment.ts";
import { providerVariables } from "../../../../infra/local/start/environment.ts";
import { readSettings } from "../../../../infra/local/start/settings.ts";

test("without a word from the environment: port 8080, DNS on 5353, .data in the project, no CORS, no other names", () => {
  expect(readSettings({})).toEqual({
    port: 8080,
    dnsPort: 5353,
    webPort: 8081,
    dataDir: resolve(import.meta.dirname, "../../../../.data"),
    corsOrigins: [],
    allowedHosts: [],
  });
});

test("lists are comma separated, in lower case and without blanks", () => {
  const settings = readSettings({ CORS_ORIGINS: " https://A.example ,", ALLOWED_HOSTS: "Box.test,b.test" });
  expect(settings).toMatchObject({ corsOrigins: ["https://a.example"], allowedHosts: ["box.test", "b.test"] });
});

test.each(["", "x", "-1", "65536", "80.5", "0x50"])("PORT=%s is refused by name", (PORT) => {
  expect(() => readSettings({ PORT })).toThrow(StartProblem);
  expect(() => readSettings({ PORT })).toThrow("PORT");
});

test.each(["x", "65536"])("DNS_PORT=%s is refused by name", (DNS_PORT) => {
  expect(() => readSettings({ DNS_PORT })).toThrow("DNS_PORT");
});

test.each([
  [{ MAIL_PROVIDER: "smtp" }, "such as SMTP_URL=smtp://127.0.0.1:1025"],
  [{ MAIL_PROVIDER: "smtp", SMTP_URL: "http://user:hunter2@host" }, "SMTP_URL is not valid"],
  [{ MAIL_PROVIDER: "post" }, "MAIL_PROVIDER"],
  [{ MAIL_FROM: "Hosted Mail" }, "MAIL_FROM"],
  [{ LOG_LEVEL: "loud" }, 'LOG_LEVEL is "loud". It must be debug, info, error or silent.'],
  [{ LOG_FORMAT: "" }, 'LOG_FORMAT is "". It must be json or text.'],
  [{ WEBHOOK_LOOPBACK: "yes" }, 'WEBHOOK_LOOPBACK is "yes". It must be allow or deny.'],
  [{ MAIL_SECRET: "hunter2" }, "MAIL_SECRET is too short. It must have 16 characters or more."],
  [{ READ_ONLY: "yes" }, "READ_ONLY is not valid: Write the reason"],
  [{ PUBLIC_URL: "here" }, "PUBLIC_URL is not valid: Invalid URL."],
  [{ NS_ZONE: "" }, "NS_ZONE is empty"],
  [{ DNS_KNOWN: "example=hunter2" }, "DNS_KNOWN"],
  [{ PLAN_PRICES: "[" }, "PLAN_PRICES"],
  [{ PLAN_PRICES: '[{"from": "2026-11-02", "plans": {}}]' }, "the first day of a month"],
  [{ SECRETS_KEY: "hunter2" }, "SECRETS_KEY is not valid: Write 32 bytes as base64."],
])("%j is refused at the start, without its passwords", (source, reason) => {
  const start = (): unknown => checkEnvironment(source);
  expect(start).toThrow(StartProblem);
  expect(start).toThrow(reason);
  expect(start).not.toThrow("hunter2");
});

const productRoot = resolve(import.meta.dirname, "../../../..");
/** The variables of shared/providers that can choose an embedded provider. */
const choices = globSync("shared/providers/**/*.ts", { cwd: productRoot })
  .map((file) => readFileSync(resolve(productRoot, file), "utf8"))
  .flatMap((text) => [...text.matchAll(/(\w+): z\.enum\(\[[^\]]*"embedded"[^\]]*\]\)/g)].map(([, name = ""]) => name));

test("every provider that can be embedded is the embedded one by default: providerVariables has its variable", () => {
  expect([...providerVariables].toSorted()).toEqual(choices.toSorted());
});

test.each(choices)("a value of %s that names no provider is refused at the start: a schema is listed", (name) => {
  expect(() => checkEnvironment({ [name]: "nowhere" })).toThrow(`${name} is "nowhere"`);
});

test("mail may go to a server of one's own", () => {
  expect(() => checkEnvironment({ MAIL_PROVIDER: "smtp", SMTP_URL: "smtp://127.0.0.1:1025" })).not.toThrow();
});

test("nothing has to be said", () => {
  expect(() => checkEnvironment({})).not.toThrow();
});

test("an empty endpoint is none", () => {
  expect(readSettings({ AWS_ENDPOINT_URL_DYNAMODB: "" })).not.toHaveProperty("endpoint");
});

test("the banner holds a curl to paste, an MCP configuration that parses, the data folder and the database", () => {
  const about = {
    dataDir: "/data",
    database: "embedded",
    dnsPort: 5353,
    webPort: 8081,
    hasOutbox: true,
    mailKey: "what mail servers show",
  };
  const text = banner("http://127.0.0.1:1", { accounts: [{ owner: { token: "tok" } }] }, about);
  expect(text).toContain("\ncurl http://127.0.0.1:1/v1/public/accounts -H 'Authorization: Bearer tok'\n");
  expect(text).toContain("what mail servers show");
  const configuration = text.split("\n").find((line) => line.startsWith("{")) ?? "";
  expect(JSON.parse(configuration)).toEqual({
    mcpServers: {
      "hosted-mail": {
        type: "http",
        url: "http://127.0.0.1:1/v1/public/mcp",
        headers: { Authorization: "Bearer tok" },
      },
    },
  });
  for (const part of [
    "/docs/overview",
    "DATA_DIR=/data npm start -- --reset",
    "/v1/public/openapi.json",
    "/_local/tokens",
    "/_local/registry",
    "/_local/outbox",
    "-p 5353",
    "/data",
    "embedded",
    "Ctrl-C",
  ]) {
    expect(text).toContain(part);
  }
});

test("after --seed big the banner says which account has it all, with a curl to paste", () => {
  const owner = { token: "tok" };
  const accounts = [{ owner }, { id: "3333", name: "Initech Mail", owner: { token: "big" } }];
  const about = {
    dataDir: "/data",
    database: "",
    dnsPort: 1,
    webPort: 2,
    hasOutbox: false,
    mailKey: undefined,
    big: 1,
  };
  const text = banner("http://127.0.0.1:1", { accounts }, about);
  expect(text).toContain("Initech Mail (3333)");
  expect(text).toContain("accounts[1] of demo.json");
  expect(text).toMatch(/\ncurl '\S+\/accounts\/3333\/mailboxes\?page_size=5' -H 'Authorization: Bearer big'\n/);
});

test("a request is one short line", () => {
  const served = { method: "GET", path: "/v1/a%20b", status: 200, durationMs: 3.6 };
  expect(servedLine(served, new Date())).toMatch(/^\d\d:\d\d:\d\d GET {4}200 {4}4 ms {2}\/v1\/a%20b$/);
});
