import { afterAll, beforeAll, expect, test } from "vitest";

import { routes } from "../../../functions/routes.ts";
import { functionId } from "../../../infra/cdk/constructs/functions.ts";
import { checksFor } from "../../../infra/smoke/checks.ts";
import { runChecks, type CheckResult } from "../../../infra/smoke/run.ts";
import { Scene } from "../../../infra/smoke/scene.ts";
import type { Route } from "../../../shared/http/route.ts";
import { restOf } from "../../support/call.ts";
import { exampleOf } from "../../support/examples.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { sampleOf } from "../../support/sample.ts";
import { issuer, type User } from "../../support/world.ts";
import { Deployment } from "./as-shipped/deployment.ts";

const issuerUrl = "https://id.example.com";

const settings = {
  issuers: JSON.stringify([{ ...issuer.issuerConfig(), issuer: issuerUrl }]),
  registrar: "embedded",
  dns: "embedded",
  nsZone: "dns.hosted-mail.example",
  mailZone: "hosted-mail.example",
  webHost: "web.hosted-mail.example",
  webAddresses: ["192.0.2.80"],
  domainName: "api.example.com",
  certificateArn: "arn:aws:acm:eu-west-1:123456789012:certificate/00000000-0000-0000-0000-000000000000",
  paymentsSecretName: "mail/stripe",
  paymentsReturnUrl: "https://app.example.com/wallet",
  returnOrigins: ["https://app.example.com"],
  mailSecretName: "mail/servers",
  sesConfigurationSet: "hosted-mail",
  trace: true,
};

/** The addresses of the name servers of this machine, as the test's own process has them. */
const nameServers = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => /^DNS_(?!PROVIDER)/.test(entry[0])),
  );

let product: Deployment;

beforeAll(async () => {
  product = await Deployment.start({
    settings,
    secrets: {
      "mail/stripe": JSON.stringify({ api_key: "sk_test_1", webhook_secret: "whsec_1" }),
      "mail/servers": "0123456789abcdef0123456789abcdef",
    },
    standIns: nameServers(),
    originSecret: "",
  });
  const [[keyId] = [""]] = product.template.ofType("AWS::KMS::Key");
  process.env["SECRETS_KEY_ID"] = product.template.text({ "Fn::GetAtt": [keyId, "Arn"] });
  process.env["AWS_ENDPOINT_URL_KMS"] = product.aws.url;
  delete process.env["SECRETS_KEY"];
}, 240_000);
afterAll(() => product?.stop());

/** A person's token of the deployed issuer. */
function tokenOf({ token }: User): string {
  const [header = {}, payload = {}] = token
    .split(".", 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>);
  return issuer.sign(header, { ...payload, iss: issuerUrl });
}

test("the smoke test finds the shipped bundles well", { timeout: 240_000 }, async () => {
  const account = await newRoomyAccount();
  const scene = new Scene({ url: product.base, token: tokenOf(account.owner) });
  const outcomes: CheckResult[] = [];
  await runChecks(checksFor({ writeFeedback: true }), scene, {
    readOnly: false,
    signal: new AbortController().signal,
    onOutcome: (outcome) => outcomes.push(outcome),
  });
  await product.settled();
  console.log(outcomes.map(({ name, state, note, ms }) => `${state} ${ms.toFixed(0)} ${name}: ${note}`).join("\n"));
  expect(outcomes.filter(({ state }) => state === "failed")).toEqual([]);
  console.log(product.lambda.started.size, process.cpuUsage(), process.resourceUsage());
});

async function call(route: Route): Promise<string> {
  const account = await newRoomyAccount();
  const { method, target, headers, body } = restOf(route, await exampleOf(route, account));
  const answer = await fetch(product.base + target, {
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${tokenOf(account.owner)}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return answer.status === route.http.status ? "ok" : `${answer.status} ${text}`;
}

test("every route answers its example as shipped", { timeout: 600_000 }, async () => {
  const rest = routes.filter(({ name }) => !product.lambda.started.has(functionId(name)));
  const failed: string[] = [];
  for (const route of sampleOf(rest, 10, "as shipped")) {
    const result = await call(route);
    if (result !== "ok") failed.push(`${route.name}: ${result}`);
  }
  await product.settled();
  expect(failed).toEqual([]);
});

test("the workers that schedules call run", async () => {
  await product.runSchedules();
  expect(product.failures).toEqual([]);
});

test("no function does anything that its role denies", () => {
  console.log(product.rights.unused().join("\n"));
  expect(product.rights.report()).toEqual([]);
  expect(product.aws.problems).toEqual([]);
});
