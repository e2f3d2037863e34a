import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { BadConfig, readConfig, variableOf } from "../../../infra/config/config.ts";
import { Settings, type StageSettings } from "../../../infra/config/settings.ts";
import { readStage, stageNames } from "../../../infra/config/stages.ts";
import { settings as dev } from "../../../infra/stages/dev.ts";
import { settings as example } from "../../../infra/stages/example.ts";

const nothing = () => undefined;
const given = (values: Record<string, unknown>) => (key: string) => values[key];
const ofFile = (file: StageSettings) => readConfig(nothing, {}, { ...example, ...file });

test("`-c stage=…` and STAGE choose the file of a stage, and without both the stage is dev", async () => {
  expect(await readStage(given({ stage: "example" }), {})).toMatchObject({
    stage: "example",
    domainName: example.domainName,
  });
  expect(await readStage(nothing, { STAGE: "example" })).toMatchObject({ stage: "example" });
  expect(await readStage(nothing, {})).toMatchObject({ stage: "dev", ...dev });
});

test.each(["prdo", "../config", "example.ts", "nowhere", 3])("a stage without a file is refused: %j", async (stage) => {
  const reading = readStage(given({ stage }), {});
  await expect(reading).rejects.toThrow(/There is no stage .*\. infra\/stages contains .*dev.*Copy example\.ts/);
});

test.each(stageNames())("the file of %s is a complete configuration", async (stage) => {
  await expect(readStage(given({ stage }), {})).resolves.toMatchObject({ stage });
});

test("the example has every setting except the stage's name, the settings for incidents, and SMTP, because it uses SES", () => {
  const others = new Set(["stage", "smtpSecretName", "readOnly", "restoredTable"]);
  const all = Object.keys(Settings.shape).filter((key) => !others.has(key));
  expect(Object.keys(example).toSorted(), "infra/stages/example.ts").toEqual(all.toSorted());
});

const inTheClear = {
  issuer: "http://id.example.com",
  audience: ["api"],
  jwksUri: "https://id.example.com/keys",
  algorithms: ["RS256"],
};

test.each([
  ["an issuer with an http address", { issuers: [inTheClear] }, /https/],
  ["an issuer with an http address, as JSON with spaces", { issuers: JSON.stringify([inTheClear], null, 1) }, /https/],
  [
    "an issuer with an HTTP address in upper case",
    { issuers: [{ ...inTheClear, issuer: "HTTP://id.example.com" }] },
    /https/,
  ],
  [
    "a throttle for a function that does not exist",
    { routeThrottles: { docz: { ratePerSecond: 1, burst: 1 } } },
    /docz/,
  ],
  ["a text in place of a number", { throttleBurst: "many" }, /a whole number from 1\s+→ at throttleBurst/],
  ["a switch that is neither true nor false", { trace: "no" }, /true or false\s+→ at trace/],
] as const)("refuses %s, with a message for the person who wrote the settings", (_, wrong, words) => {
  const reading = (): unknown => readConfig(nothing, {}, { ...example, ...wrong });
  expect(reading).toThrow(BadConfig);
  expect(reading).toThrow(words);
});

test("context overrides the environment, which overrides the stage's file", () => {
  const file = { ...example, mailZone: "file.example", nsZone: "file.example", logLevel: "error" };
  const env = { MAIL_ZONE: "env.example", NS_ZONE: "env.example" };
  expect(readConfig(given({ mailZone: "context.example" }), env, file)).toMatchObject({
    mailZone: "context.example",
    nsZone: "env.example",
    logLevel: "error",
  });
});

test("a value that is not a text is JSON on a command line and in a variable", () => {
  const throttles = { docs: { ratePerSecond: 5, burst: 10 } };
  const env = { ROUTE_THROTTLES: JSON.stringify(throttles), EDGE: JSON.stringify(example.edge), TRACE: "true" };
  expect(readConfig(nothing, env, example)).toMatchObject({
    routeThrottles: throttles,
    edge: example.edge,
    trace: true,
  });
  expect(readConfig(given({ trace: "false" }), env, example).trace).toBe(false);
  expect(variableOf("throttleRatePerSecond")).toBe("THROTTLE_RATE_PER_SECOND");
});

test("without publicUrl, the address for links and payers is the domain name of the API", () => {
  const { publicUrl: _, ...rest } = example;
  expect(readConfig(nothing, {}, rest).publicUrl).toBe("https://api.example.com");
});

test.each<[StageSettings, string]>([
  [{ domainName: undefined }, "certificate"],
  [{ certificateArn: undefined }, "certificate"],
  [{ domainName: undefined, certificateArn: undefined }, "hostedZoneId and edge need domainName"],
  [{ publicUrl: "https://other.example.com" }, "Leave publicUrl out"],
  [{ certificateArn: "arn:aws:iam::1:server-certificate/x" }, "the ARN of a certificate"],
  [{ hostedZoneId: "/hostedzone/Z1" }, "hosted zone"],
  [{ edge: { ...edgeOf(example), originDomainName: "api.example.com" } }, "must not be domainName"],
  [{ edge: { ...edgeOf(example), certificateArn: example.certificateArn ?? "" } }, "needs a certificate of us-east-1"],
  [{ edge: "on" }, "edge"],
  [{ edge: "{" }, "edge"],
  [{ routeThrottles: { "docs.get": { ratePerSecond: 1, burst: 1 } } }, "routeThrottles has unknown functions"],
  [{ routeThrottles: { docs: { ratePerSecond: 0, burst: 1 } } }, "routeThrottles"],
  [{ trace: "yes" }, "trace"],
  [{ registrar: "gandi" as "embedded" }, "registrar"],
  [{ backup: { lockDays: 2 } }, "lockDays"],
  [{ backup: { copyTo: ["hosted-mail"] } }, "the ARN of a backup vault"],
  [{ vat: { ...vatOf(example), register: "embedded" } }, "embedded register of VAT ids is for tests"],
  [{ formerSecretsKeyArns: ["alias/hosted-mail/prod/secrets"] }, "the ARN of a key"],
])("%j is refused with a reason", (file, reason) => {
  expect(() => ofFile(file)).toThrow(reason);
});

function vatOf({ vat }: StageSettings) {
  if (vat === undefined || typeof vat === "string") throw new Error("no VAT");
  return vat;
}

function edgeOf({ edge }: StageSettings) {
  if (edge === undefined || typeof edge === "string") throw new Error("no edge");
  return edge;
}

test("a misspelt setting of a stage's file is named", () => {
  expect(() => readConfig(nothing, {}, { domianName: "api.example" })).toThrow("domianName");
});

test("the page on deploying has every setting in its table", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../../docs/deploy.md"), "utf8");
  const named = new Set([...page.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name));
  const missing = Object.keys(Settings.shape).filter((name) => !named.has(name));
  expect(missing, "add these to the table of settings in docs/deploy.md").toEqual([]);
});
