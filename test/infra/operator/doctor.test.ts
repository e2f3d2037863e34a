import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";

import type { StageSettings } from "../../../infra/config/settings.ts";
import { doctor } from "../../../infra/operator/doctor.ts";
import { operate } from "../../../infra/operator/operate.ts";
import { settings as example } from "../../../infra/stages/example.ts";
import { amzJson, amzRefusal } from "../../shared/providers/amz-json.ts";
import { startLoopback, type Answer, type Fault, type Recorded } from "../../shared/providers/loopback.ts";
import { stubAws } from "../../support/aws.ts";

beforeEach(() => void stubAws("eu-west-1"));
afterEach(() => void vi.unstubAllEnvs());

const xml = (body: string): Answer => ({ status: 200, headers: { "content-type": "application/xml" }, body });

const pager = "https://events.pager.example/integration/hosted-mail";

/** The answer of SNS: subscriptions with their topic, their endpoint, and "confirmed" or "pending". */
const subscriptions = (...found: [topic: string, endpoint: string, state: "confirmed" | "pending"][]): Answer => {
  const members = found.map(([topic, endpoint, state]) => {
    const arn = `arn:aws:sns:eu-west-1:123456789012:hosted-mail-${topic}1A2B-3C4D`;
    const own = state === "confirmed" ? `${arn}:5e6f` : "PendingConfirmation";
    return `<member><TopicArn>${arn}</TopicArn><Endpoint>${endpoint}</Endpoint><SubscriptionArn>${own}</SubscriptionArn></member>`;
  });
  const result = `<ListSubscriptionsResult><Subscriptions>${members.join("")}</Subscriptions></ListSubscriptionsResult>`;
  return xml(`<ListSubscriptionsResponse>${result}</ListSubscriptionsResponse>`);
};

/** The answers of the services if the stage `example` is healthy, by the operation or the start of the path. */
const healthy: Record<string, Answer> = {
  ListTables: amzJson({ TableNames: ["hosted-mail-example-TableCD117FA1-1X2Y"] }),
  DescribeTable: amzJson({ Table: { TableStatus: "ACTIVE", ItemCount: 7 } }),
  DescribeKey: amzJson({ KeyMetadata: { KeyId: "1", KeyState: "Enabled" } }),
  DescribeEventBus: amzJson({ Name: "hosted-mail-example" }),
  DescribeSecret: amzJson({ Name: "secret" }),
  ListDomains: amzJson({ Domains: [] }),
  ListSubscriptions: subscriptions(
    ["example-PageTopic", pager, "confirmed"],
    ["example-TicketTopic", "tickets@example.com", "confirmed"],
  ),
  "/v2/email/account": amzJson({
    SendingEnabled: true,
    ProductionAccessEnabled: true,
    SendQuota: { Max24HourSend: 50_000 },
  }),
  "/v2/email/identities": amzJson({ VerifiedForSendingStatus: true }),
  "/2013-04-01/hostedzonecount": xml(
    "<GetHostedZoneCountResponse><HostedZoneCount>3</HostedZoneCount></GetHostedZoneCountResponse>",
  ),
  "/2013-04-01/delegationset": xml(
    "<GetReusableDelegationSetResponse><DelegationSet><NameServers/></DelegationSet></GetReusableDelegationSetResponse>",
  ),
  "/hosted-mail-example-filesbucket": xml(""),
  "/": xml(
    "<ListAllMyBucketsResult><Buckets><Bucket><Name>hosted-mail-example-filesbucket-3z</Name></Bucket></Buckets></ListAllMyBucketsResult>",
  ),
};

const keys = { keys: [{ kty: "RSA" }] };

/** The name of an operation in the AWS protocols that name it: JSON in a header, Query in the body. */
const operationOf = ({ headers, body }: Recorded): string | undefined => {
  const target = headers["x-amz-target"];
  if (typeof target === "string") return target.split(".").at(-1);
  return new URLSearchParams(body).get("Action") ?? undefined;
};

/**
 * Starts fake services of AWS on 127.0.0.1 and runs the doctor. `others` has answers in place of the healthy ones.
 * `web` has the JSON of answers by HTTPS, by their path: undefined for a 404. Returns the result of the doctor, its
 * requests to AWS, and `lineOf`, which finds the line of a check in the output.
 */
async function examined(others: Record<string, Answer | Fault> = {}, web: Record<string, unknown> = {}) {
  const { "/": root, ...paths } = healthy;
  const keyOf = (request: Recorded): string => {
    const { path } = request;
    const operation = operationOf(request);
    if (operation !== undefined) return operation;
    return Object.keys(paths).find((start) => path.startsWith(start)) ?? "/";
  };
  let asked = "";
  const { url, recorded } = await startLoopback(
    (request) => healthy[keyOf(request)] ?? root ?? amzRefusal({ status: 500, type: "Unknown" }),
    () => {
      asked = keyOf(recorded.at(-1) as Recorded);
      return others[asked];
    },
  );
  vi.stubEnv("AWS_ENDPOINT_URL", url);
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_ENDPOINT_URL_")) vi.stubEnv(name, undefined);
  const get = async (target: string): Promise<Response> => {
    const at = new URL(target).pathname;
    if (at in web) return web[at] === undefined ? new Response("", { status: 404 }) : Response.json(web[at]);
    return Response.json(at.endsWith("jwks.json") ? keys : { openapi: "3.1.0" });
  };
  // A busy machine needs a long timeout. If a service does not answer at all, a short timeout is enough.
  const timeoutMs = Object.values(others).includes("silence") ? 1_000 : 30_000;
  const result = await doctor("example", { fetch: get, timeoutMs });
  expect(asked).not.toBe("");
  const lines = result.out.split("\n");
  // A line begins with the state, which takes nine characters.
  return {
    ...result,
    recorded,
    lineOf: (check: string) => lines.findLast((line) => line.slice(9).startsWith(check)) ?? "",
  };
}

test("the doctor says ok for each service of a healthy stage, and changes nothing", async () => {
  const { code, out, recorded } = await examined();
  expect(out.split("\n").filter((line) => /^(?:missing|refused|failed)/.test(line))).toEqual([]);
  expect(out).toContain("15 ok, 0 with a problem");
  expect(code).toBe(0);
  const operations = recorded.map((request) => operationOf(request) ?? request.method);
  expect(operations.filter((name) => !/^(?:Describe|List|GET|HEAD)/.test(name))).toEqual([]);
});

test("the doctor lists the features that are on, and the missing settings of the other features", async () => {
  const { lineOf } = await examined();
  expect(lineOf("payments")).toBe("on       payments");
  expect(lineOf("invitation page")).toBe(
    "off      invitation page    needs signIn of an issuer, and everything that the feature mail needs",
  );
});

test.each([
  [
    "secret: payments",
    { DescribeSecret: amzRefusal({ status: 400, type: "ResourceNotFoundException" }) },
    "missing",
    "Create hosted-mail/example/stripe",
  ],
  [
    "secrets key",
    { DescribeKey: amzRefusal({ status: 400, type: "AccessDeniedException" }) },
    "refused",
    "credentials that may read this service",
  ],
  ["table", { ListTables: amzJson({ TableNames: ["hosted-mail-other-Table-1"] }) }, "missing", "Deploy the stage"],
  ["event bus", { DescribeEventBus: "silence" }, "failed", "no answer in time"],
  [
    "SES account",
    { "/v2/email/account": amzJson({ SendingEnabled: true, ProductionAccessEnabled: false }) },
    "failed",
    "in the sandbox",
  ],
  [
    "SES identity",
    { "/v2/email/identities": amzRefusal({ status: 404, type: "NotFoundException" }) },
    "missing",
    "Verify the sender's domain",
  ],
  [
    "alarms: page",
    {
      ListSubscriptions: subscriptions(
        ["other-PageTopic", pager, "confirmed"],
        ["example-PageTopic", pager, "pending"],
      ),
    },
    "failed",
    `${pager} has not confirmed. Confirm the subscription`,
  ],
  [
    "alarms: ticket",
    { ListSubscriptions: subscriptions(["example-TicketTopic", "former@example.com", "confirmed"]) },
    "missing",
    "tickets@example.com is not subscribed",
  ],
  ["dns", { "/2013-04-01/delegationset": "hang-up" }, "failed", "docs/deploy.md, step 5"],
  ["files bucket", { "/hosted-mail-example-filesbucket": { status: 403, body: "" } }, "refused", "credentials"],
] as [string, Record<string, Answer | Fault>, string, string][])(
  "%s: a fault is one line that says what to do, and the exit code is 1",
  async (check, others, state, words) => {
    const { code, lineOf } = await examined(others);
    expect(lineOf(check).startsWith(state)).toBe(true);
    expect(lineOf(check)).toContain(words);
    expect(code).toBe(1);
  },
);

test("the doctor examines the restored table that the stage uses, not the table of the stack", async () => {
  const settings: StageSettings = example;
  settings.restoredTable = "blue-restored";
  onTestFinished(() => void delete settings.restoredTable);
  const { lineOf, recorded } = await examined();
  expect(lineOf("table")).toMatch(/^ok .* blue-restored, about 7 items/);
  const described = recorded.filter(({ headers }) => String(headers["x-amz-target"]).endsWith(".DescribeTable"));
  expect(described.map(({ body }) => JSON.parse(body))).toEqual([{ TableName: "blue-restored" }]);
});

test("the doctor reads the keys of the issuers and the API by HTTPS", async () => {
  const { code, lineOf } = await examined(
    {},
    { "/.well-known/jwks.json": { keys: [] }, "/v1/public/openapi.json": undefined },
  );
  expect(lineOf("issuer https://id.example.com")).toMatch(/^failed .* has no keys\. Correct jwksUri/);
  expect(lineOf("API")).toMatch(/^missing .* answers 404\. Check the DNS record/);
  expect(code).toBe(1);
});

test("the doctor refuses a stage without a file, and a command line without a stage, except with --help", async () => {
  expect(await operate(["doctor", "--stage", "nowhere"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("There is no stage"),
  });
  expect(await operate(["doctor"])).toMatchObject({ code: 2, err: expect.stringContaining("--stage is missing") });
  for (const help of ["--help", "-h"]) {
    expect(await operate(["doctor", help])).toMatchObject({
      code: 0,
      out: expect.stringContaining("--stage"),
      err: "",
    });
  }
});
