import { resolve } from "node:path";

import { expect, test } from "vitest";

import { banner, servedLine } from "../../../infra/local/banner.ts";
import { readSettings } from "../../../infra/local/settings.ts";
import { StartProblem } from "../../../infra/local/start-problem.ts";

test("without a word from the environment: port 8080, DNS on 5353, .data in the project, no CORS, no other names", () => {
  expect(readSettings({})).toEqual({
    port: 8080,
    dnsPort: 5353,
    dataDir: resolve(import.meta.dirname, "../../../.data"),
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
  [{ MAIL_PROVIDER: "smtp", SMTP_URL: "http://user:hunter2@host" }, "SMTP_URL cannot be read"],
  [{ MAIL_PROVIDER: "post" }, "MAIL_PROVIDER"],
  [{ MAIL_FROM: "Hosted Mail" }, "MAIL_FROM"],
])("%j is refused at the start, without its passwords", (source, reason) => {
  const start = (): unknown => readSettings(source);
  expect(start).toThrow(reason);
  expect(start).not.toThrow("hunter2");
});

test("mail may go to a server of one's own", () => {
  expect(() => readSettings({ MAIL_PROVIDER: "smtp", SMTP_URL: "smtp://127.0.0.1:1025" })).not.toThrow();
});

test("an empty endpoint is none", () => {
  expect(readSettings({ AWS_ENDPOINT_URL_DYNAMODB: "" })).not.toHaveProperty("endpoint");
});

test("the banner holds a curl to paste, an MCP configuration that parses, the data folder and the database", () => {
  const about = {
    dataDir: "/data",
    database: "embedded",
    dnsPort: 5353,
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
    "/docs",
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

test("a request is one short line", () => {
  const served = { method: "GET", path: "/v1/a%20b", status: 200, durationMs: 3.6 };
  expect(servedLine(served, new Date())).toMatch(/^\d\d:\d\d:\d\d GET {4}200 {4}4 ms {2}\/v1\/a%20b$/);
});
