import { afterAll, beforeAll, expect, test } from "vitest";

import { routes } from "../../../functions/routes.ts";
import { functionId } from "../../../infra/cdk/constructs/functions.ts";
import { lambdas, originAuthorizer, web, workers } from "../../../infra/entry-points.ts";
import { checksFor } from "../../../infra/smoke/checks.ts";
import { runChecks, type CheckResult } from "../../../infra/smoke/run.ts";
import { Scene } from "../../../infra/smoke/scene.ts";
import type { Route } from "../../../shared/http/route.ts";
import { restOf } from "../../support/call.ts";
import { exampleOf } from "../../support/examples.ts";
import { queuedExport } from "../../support/mailbox-examples.ts";
import { handlerOf } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { isExhaustive, sampleOf } from "../../support/sample.ts";
import { eventIn } from "../../support/webhooks.ts";
import { issuer, newAccount, type User } from "../../support/world.ts";
import { Deployment } from "./as-shipped/deployment.ts";
import { requests, stripeEvent, type Sent } from "./as-shipped/requests.ts";

const issuerUrl = "https://id.example.com";
const issuerConfig = { ...issuer.issuerConfig(), issuer: issuerUrl };
const certificate = "certificate/00000000-0000-0000-0000-000000000000";
const secrets = {
  "mail/stripe": JSON.stringify({ api_key: "sk_test_1", webhook_secret: "whsec_1" }),
  "mail/servers": process.env["MAIL_SECRET"] ?? "",
  "mail/origin": JSON.stringify({ first: "o".repeat(32) }),
};

/** The settings of a stage that uses everything. The registrar and the DNS provider are the embedded ones. */
const settings = {
  issuers: JSON.stringify([issuerConfig]),
  registrar: "embedded",
  dns: "embedded",
  nsZone: "dns.hosted-mail.example",
  mailZone: "hosted-mail.example",
  webHost: "web.hosted-mail.example",
  webAddresses: ["192.0.2.80"],
  domainName: "api.example.com",
  certificateArn: `arn:aws:acm:eu-west-1:123456789012:${certificate}`,
  edge: {
    originDomainName: "origin.api.example.com",
    certificateArn: `arn:aws:acm:us-east-1:123456789012:${certificate}`,
    secretName: "mail/origin",
    secretKey: "first",
  },
  paymentsSecretName: "mail/stripe",
  paymentsReturnUrl: "https://app.example.com/wallet",
  returnOrigins: ["https://app.example.com"],
  mailSecretName: "mail/servers",
  sesConfigurationSet: "hosted-mail",
  trace: true,
};

const publisher = functionId("workers.publish_changes");
const functions = [...lambdas, ...workers, originAuthorizer, web];
/**
 * The functions that run as shipped in this run: from their bundles, each in its own process. The sample always has the
 * publisher, because the publisher calls the workers.
 */
const shipped = new Set([...sampleOf(functions, 20, "as shipped").map(({ name }) => functionId(name)), publisher]);
const isShipped = ({ name }: { name: string }): boolean => shipped.has(functionId(name));
const sources = new Map(functions.map((one) => [functionId(one.name), one]));

/** The environment variables with the addresses of this machine's name servers, from the test's own process. */
const nameServers = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => /^DNS_(?!PROVIDER)/.test(entry[0])),
  );

let product: Deployment;

beforeAll(async () => {
  product = await Deployment.start({
    settings,
    secrets,
    standIns: nameServers(),
    edgeHeaders: { "x-origin-secret": "o".repeat(32), "x-viewer-address": "192.0.2.1" },
    isShipped: (name) => shipped.has(name),
    answerInstead: async (name, event) => (await handlerOf({ file: sources.get(name)?.file ?? "" }))(event),
  });
  // The sources in this process use the same services.
  const [[keyId] = [""]] = product.template.ofType("AWS::KMS::Key");
  const { url } = product.aws;
  Object.assign(process.env, {
    ISSUERS: JSON.stringify([issuer.issuerConfig(), issuerConfig]),
    SECRETS_KEY_ID: product.template.text({ "Fn::GetAtt": [keyId, "Arn"] }),
    AWS_ENDPOINT_URL_KMS: url,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: url,
    AWS_ENDPOINT_URL_DYNAMODB: url,
    ORIGIN_SECRET_NAME: settings.edge.secretName,
    WEB_HOST_HEADER: "x-web-host",
  });
  delete process.env["SECRETS_KEY"];
}, 240_000);
afterAll(() => product?.stop());

/** A token of the user, signed for the issuer of the deployment. */
function tokenOf({ token }: User): string {
  const [header = {}, payload = {}] = token
    .split(".", 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>);
  return issuer.sign(header, { ...payload, iss: issuerUrl });
}

async function send({ path, at, ...sent }: Sent): Promise<{ status: number; text: string }> {
  const answer = await fetch((at === "web" ? product.webBase : product.base) + path, sent);
  return { status: answer.status, text: await answer.text() };
}

/** Calls a route with its example. Returns undefined, or what was wrong. */
async function callExample(route: Route): Promise<string | undefined> {
  const { account, example } = await product.unheard(async () => {
    const made = await newRoomyAccount();
    return { account: made, example: await exampleOf(route, made) };
  });
  const { method, target, headers, body } = restOf(route, example);
  const json = body === undefined ? {} : { "content-type": "application/json" };
  const { status, text } = await send({
    path: target,
    method,
    headers: { ...headers, ...json, authorization: `Bearer ${tokenOf(account.owner)}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // No payment provider is on this machine.
  const isWithoutStripe = status === 503 && route.lambda.uses?.includes("payments");
  return status === route.http.status || isWithoutStripe ? undefined : `${route.name}: ${status} ${text}`;
}

/** For each worker of events, a route whose example causes an event for the worker. */
const causes: Record<string, string> = {
  "workers.dispatch_event": "tags.add",
  "workers.send_verification": "forwarding.add",
  "workers.send_invitation": "auth.invitations.create",
  "workers.send_notices": "auth.authorizations.grant",
  "workers.note_revocations": "mailboxes.delete",
  "workers.watch_wallets": "billing.alerts.update",
};

test("the smoke test of the deployment succeeds", { timeout: 240_000 }, async () => {
  const account = await newRoomyAccount();
  const scene = new Scene({ url: product.base, token: tokenOf(account.owner) });
  const outcomes: CheckResult[] = [];
  await runChecks(checksFor({ writeFeedback: true }), scene, {
    readOnly: false,
    signal: new AbortController().signal,
    onOutcome: (outcome) => outcomes.push(outcome),
  });
  await product.settled();
  expect(outcomes.filter(({ state }) => state === "failed")).toEqual([]);
});

/** Whether a function runs as shipped, and has handled no event yet. */
const isMissing = ({ name }: { name: string }): boolean =>
  isShipped({ name }) && !product.lambda.started.has(functionId(name));

test("every shipped route that the smoke test did not call answers its example", { timeout: 600_000 }, async () => {
  // These routes are also called if the smoke test has called them, because each of them makes a worker run.
  const causing = new Set(workers.filter((one) => isShipped(one)).map(({ name }) => causes[name]));
  const failed: (string | undefined)[] = [];
  for (const route of routes) {
    if (isMissing(route) || causing.has(route.name)) failed.push(await callExample(route).catch(String));
  }
  await product.settled();
  expect(failed.filter((one) => one !== undefined)).toEqual([]);
});

test("every other shipped function for requests answers a request", { timeout: 240_000 }, async () => {
  const all = {
    ...requests,
    "workers.payment_webhook": async () => stripeEvent("whsec_1"),
    fallback: async () => ({ path: "/unknown" }),
  };
  const failed: string[] = [];
  for (const [name, request] of Object.entries(all)) {
    if (!isMissing({ name })) continue;
    const { status, text } = await send(await product.unheard<Sent>(request));
    const expected = name === "fallback" || name === "web" ? 404 : 200;
    if (status !== expected) failed.push(`${name}: ${status} ${text}`);
  }
  expect(failed).toEqual([]);
});

test("a request that goes around the edge is refused", async () => {
  expect((await fetch(`${product.originBase}/v1/public/me`)).status).toBe(403);
});

test("every shipped worker runs, and no worker fails", { timeout: 240_000 }, async () => {
  const account = await newAccount();
  const id = await product.unheard(() => queuedExport(account));
  const type = "mailbox_export.requested";
  product.emit(type, { ...eventIn(account.id, type, new Date()), resource: { type: "mailbox_export", id } });
  await product.runSchedules();
  const headers = { authorization: `Bearer ${tokenOf(account.owner)}` };
  const made = await send({ path: `/v1/public/accounts/${account.id}/mailboxes/exports/${id}`, headers });
  const { download_url: file } = JSON.parse(made.text) as { download_url: string | null };
  if (file?.startsWith(product.aws.url)) expect((await fetch(file)).status).toBe(200);
  expect(product.failures).toEqual([]);
  expect([...shipped].filter((name) => !product.lambda.started.has(name))).toEqual([]);
});

test("no function did anything that its role denies", () => {
  expect(product.rights.report()).toEqual([]);
  expect(product.aws.problems).toEqual([]);
});

test.runIf(isExhaustive)("functions use every right, except the right to abort an upload", () => {
  if (process.arch !== "arm64")
    process.stdout.write(`The bundles ran on ${process.arch}, and not on arm64 as on Lambda.\n`);
  process.stdout.write(`Rights that nothing used in this run:\n${product.rights.unused().join("\n")}\n`);
  // An upload is aborted only if S3 fails in the middle of the upload.
  expect(product.rights.unusedByAll()).toEqual(["files s3:AbortMultipartUpload"]);
});
