import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { StartProblem } from "../../../../infra/local/command-line.ts";
import { banner, servedLine } from "../../../../infra/local/start/banner.ts";
import { checkEnvironment } from "../../../../infra/local/start/check-environment.ts";
import { providerVariables } from "../../../../infra/local/start/environment.ts";
import { readSettings } from "../../../../infra/local/start/settings.ts";

test("without variables the product has port 8080, DNS port 5353, .data in the project, no CORS, and no other host names", () => {
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

test.each(["", "x", "-1", "65536", "80.5", "0x50"])("PORT=%s is refused, and the error names PORT", (PORT) => {
  expect(() => readSettings({ PORT })).toThrow(StartProblem);
  expect(() => readSettings({ PORT })).toThrow("PORT");
});

test.each(["x", "65536"])("DNS_PORT=%s is refused, and the error names DNS_PORT", (DNS_PORT) => {
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
  [{ VAT: "[]" }, "VAT is not valid: Invalid input: expected object, received array."],
  [{ PLAN_PRICES: "{}" }, "PLAN_PRICES is not valid: Invalid input: expected array, received object."],
  [{ READ_ONLY: "yes" }, "READ_ONLY is not valid: Write the reason"],
  [{ PUBLIC_URL: "here" }, "PUBLIC_URL is not valid: Invalid URL."],
  [{ NS_ZONE: "" }, "NS_ZONE is empty"],
  [{ DNS_KNOWN: "example=hunter2" }, "DNS_KNOWN"],
  [{ PLAN_PRICES: "[" }, "PLAN_PRICES"],
  [{ PLAN_PRICES: '[{"from": "2026-11-02", "plans": {}}]' }, "the first day of a month"],
  [{ SECRETS_KEY: "hunter2" }, "SECRETS_KEY is not valid: Write 32 bytes as base64."],
])("%j is refused at the start, and the error has no password", (source, reason) => {
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

test("providerVariables has the variable of every provider that can be embedded, so that the embedded one is the default", () => {
  expect([...providerVariables].toSorted()).toEqual(choices.toSorted());
});

test.each(choices)("a value of %s that names no provider is refused at the start", (name) => {
  expect(() => checkEnvironment({ [name]: "nowhere" })).toThrow(`${name} is "nowhere"`);
});

test("mail may go to the developer's own server", () => {
  expect(() => checkEnvironment({ MAIL_PROVIDER: "smtp", SMTP_URL: "smtp://127.0.0.1:1025" })).not.toThrow();
});

test("no variable is required", () => {
  expect(() => checkEnvironment({})).not.toThrow();
});

test("an empty endpoint counts as missing", () => {
  expect(readSettings({ AWS_ENDPOINT_URL_DYNAMODB: "" })).not.toHaveProperty("endpoint");
});

const bannerOptions = {
  dataDir: "/data",
  database: "embedded",
  dnsPort: 5353,
  webPort: 8081,
  hasOutbox: true,
  hasRegistry: true,
  mailKey: "a key that mail servers send",
  showTokens: false,
};
const token = `eyJ${"x".repeat(400)}`;
const demo = { accounts: [{ owner: { token } }] };

test("the banner fits a terminal, with addresses, the data folder and the database, and no whole secret", () => {
  const text = banner("http://127.0.0.1:1", demo, bannerOptions);
  for (const part of [
    "/docs/overview",
    "DATA_DIR=/data npm start -- --reset",
    "/v1/public/openapi.json",
    "/v1/public/mcp",
    "/_local/tokens",
    "/_local/registry",
    "/_local/outbox",
    "-p 5353",
    "/data/demo.json",
    "embedded",
    "--show-tokens",
    "Ctrl-C",
  ]) {
    expect(text).toContain(part);
  }
  expect(text.split("\n").length).toBeLessThanOrEqual(24);
  expect(text).not.toContain("x".repeat(20));
  expect(text).not.toContain("key that");
});

test("the banner lists the pages of the embedded providers only", () => {
  const pagesIn = (more: Partial<typeof bannerOptions>) =>
    /^Local .*$/m.exec(banner("http://127.0.0.1:1", demo, { ...bannerOptions, ...more }))?.[0];
  expect(pagesIn({ hasRegistry: false })).toBe(
    "Local       /_local/tokens  /_local/clock  /_local/events  /_local/outbox",
  );
  expect(pagesIn({ hasOutbox: false })).toBe(
    "Local       /_local/tokens  /_local/clock  /_local/events  /_local/registry",
  );
});

test("with --show-tokens the banner has a curl command to paste, and an MCP configuration in valid JSON", () => {
  const text = banner("http://127.0.0.1:1", demo, { ...bannerOptions, showTokens: true });
  expect(text).toContain(`\ncurl http://127.0.0.1:1/v1/public/accounts -H 'Authorization: Bearer ${token}'\n`);
  expect(text).toContain(bannerOptions.mailKey);
  const configuration = text.split("\n").find((line) => line.startsWith("{")) ?? "";
  expect(JSON.parse(configuration)).toEqual({
    mcpServers: {
      "hosted-mail": {
        type: "http",
        url: "http://127.0.0.1:1/v1/public/mcp",
        headers: { Authorization: `Bearer ${token}` },
      },
    },
  });
});

test("after --seed big the banner names the account with the seeded data", () => {
  const accounts = [...demo.accounts, { id: "3333", name: "Initech Mail", owner: { token: "big" } }];
  const text = banner("http://127.0.0.1:1", { accounts }, { ...bannerOptions, big: 1 });
  expect(text).toContain("Initech Mail (3333)");
  expect(text).toContain("accounts[1] of demo.json");
  expect(text).toContain("/accounts/3333/mailboxes");
});

test("the log line of a request is short, with time, method, status, duration and path", () => {
  const served = { method: "GET", path: "/v1/a%20b", status: 200, durationMs: 3.6 };
  expect(servedLine(served, new Date())).toMatch(/^\d\d:\d\d:\d\d GET {4}200 {4}4 ms {2}\/v1\/a%20b$/);
});
