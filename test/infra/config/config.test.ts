import { expect, test } from "vitest";

import { BadConfig, readConfig } from "../../../infra/config/config.ts";

const issuers = [
  { issuer: "https://id.example", audience: ["api"], jwksUri: "https://id.example/keys", algorithms: ["ES256"] },
];
const nothing = () => undefined;
const given = (values: Record<string, unknown>) => (key: string) => values[key];

test("without any setting a synthesis still works, with an issuer that cannot exist", () => {
  const config = readConfig(nothing, {});
  expect(config).toMatchObject({ stage: "dev", allowedOrigins: [], logLevel: "info", logRetentionDays: 30 });
  expect(JSON.parse(config.issuers)[0].issuer).toBe("https://issuer.invalid");
  expect(config.alarmEmail).toBeUndefined();
  expect(config.paymentsSecretName).toBeUndefined();
});

test("a deployment to an AWS account without an issuer is refused", () => {
  const env = { CDK_DEFAULT_ACCOUNT: "123456789012" };
  expect(() => readConfig(nothing, env)).toThrow("No token issuer is configured");
  expect(readConfig(given({ issuers }), env).issuers).toBe(JSON.stringify(issuers));
});

test("settings come from CDK context, then from the environment", () => {
  const env = { STAGE: "env", LOG_RETENTION_DAYS: "7", ALLOWED_ORIGINS: "https://a.example, http://localhost:5173" };
  const config = readConfig(given({ stage: "context" }), env);
  expect(config.stage).toBe("context");
  expect(config.logRetentionDays).toBe(7);
  expect(config.allowedOrigins).toEqual(["https://a.example", "http://localhost:5173"]);
});

test("an empty variable counts as absent", () => {
  expect(readConfig(nothing, { STAGE: "", ALARM_EMAIL: "" })).toMatchObject({ stage: "dev" });
});

test.each([
  ["issuers", "[{issuer:https://id.example}]", "Not JSON"],
  ["issuers", "[]", "ISSUERS"],
  ["issuers", [{ issuer: "https://id.example" }], "audience"],
  ["stage", "Prod!", "stage"],
  ["allowedOrigins", "https://a.example/path", "origin"],
  ["allowedOrigins", "*", "origin"],
  ["logRetentionDays", "31", "logRetentionDays"],
  ["alarmEmail", "ops", "alarmEmail"],
  ["paymentsSecretName", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:stripe", "not its ARN"],
  ["paymentsSecretName", "*", "a secret's name"],
  ["smtpSecretName", "smtp://user:password@mx.example", "a secret's name"],
  ["mailFrom", "Hosted Mail", "write it as"],
  ["mailFrom", "a@example.com, b@example.com", "write it as"],
  ["sesConfigurationSet", "*", "configuration set"],
  ["publicUrl", "http://api.example", "publicUrl"],
  ["paymentsReturnUrl", "app.example", "paymentsReturnUrl"],
  ["blocklistZones", "dbl.example.org, bl", "a lower-case host name"],
  ["mailLoginWaitSeconds", "31", "a number of seconds from 0 to 30"],
])("%s = %j is refused with a reason for the person who wrote the settings", (key, value, reason) => {
  const reading = () => readConfig(given({ [key]: value }), {});
  expect(reading).toThrow(BadConfig);
  expect(reading).toThrow(reason);
});

test("payments need publicUrl, to which payers return, and publicUrl does not need payments", () => {
  expect(() => readConfig(given({ paymentsSecretName: "mail/stripe" }), {})).toThrow("needs publicUrl");
  const env = { PAYMENTS_SECRET_NAME: "mail/stripe", PUBLIC_URL: "https://api.example" };
  expect(readConfig(nothing, env)).toMatchObject({ paymentsSecretName: "mail/stripe", publicUrl: env.PUBLIC_URL });
  expect(readConfig(given({ publicUrl: env.PUBLIC_URL }), {}).publicUrl).toBe(env.PUBLIC_URL);
});

test.each([
  { mailFrom: "Hosted Mail <no-reply@example.com>" },
  { smtpSecretName: "mail/smtp" },
  { sesConfigurationSet: "verification" },
])("mail needs publicUrl, to which its links lead: %j", (settings) => {
  expect(() => readConfig(given(settings), {})).toThrow("need publicUrl");
  const publicUrl = "https://api.example";
  expect(readConfig(given({ ...settings, publicUrl }), {})).toMatchObject(settings);
});

test("mail goes out by SES or by SMTP, not by both", () => {
  const both = { smtpSecretName: "mail/smtp", sesConfigurationSet: "x", publicUrl: "https://api.example" };
  expect(() => readConfig(given(both), {})).toThrow("either sesConfigurationSet or smtpSecretName");
});

test("one error names every malformed setting", () => {
  expect(() => readConfig(given({ stage: "!", alarmEmail: "ops" }), {})).toThrow(/stage[^]*alarmEmail/);
});
