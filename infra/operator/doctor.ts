import * as z from "zod";

import { readIssuers } from "../../shared/core/environment.ts";
import { domainOf, MailSender, senderIn } from "../../shared/providers/mail/mail.ts";
import { sealingKeyAlias, type Config } from "../config/config.ts";
import { featureTable } from "../config/features.ts";
import { readStage } from "../config/stages.ts";

/**
 * The result of the check of a service:
 * - `ok`: the service works.
 * - `missing`: the service does not exist.
 * - `refused`: the credentials may not read the service.
 * - `failed`: the service does not work, or did not answer.
 */
type Finding = { check: string; state: "ok" | "missing" | "refused" | "failed"; note: string };

/**
 * The check of one service that a stage needs. `run` only reads, and returns a note. `remedy` is the advice for a
 * failed check.
 */
type Check = { name: string; remedy: string; run: (signal: AbortSignal) => Promise<string> };

type Fetch = (url: string, options: { signal: AbortSignal }) => Promise<Response>;

export type DoctorOptions = {
  /** Fetches the keys of issuers and the API's document. By default the global `fetch`. */
  fetch?: Fetch;
  /** The longest time for one check, in milliseconds. */
  timeoutMs?: number;
};

/** Thrown by a check if a service is missing or does not work. */
class Fault extends Error {
  readonly state: "missing" | "failed";

  constructor(state: "missing" | "failed", message: string) {
    super(message);
    this.state = state;
  }
}

const stackOf = ({ stage }: Config): string => `hosted-mail-${stage}`;

/** Each AWS client makes only one attempt. So a check ends in time. */
const once = { maxAttempts: 1 };

/**
 * Finds a resource by the beginning of its name. CloudFormation names a resource `<stack>-<logical id>-<random>`, and a
 * bucket in lower case.
 */
const nameOf = (names: readonly (string | undefined)[], prefix: string): string => {
  const found = names.find((name) => name?.startsWith(prefix));
  if (found === undefined) throw new Fault("missing", `No name begins with ${prefix}`);
  return found;
};

const tableCheck = (config: Config): Check => ({
  name: "table",
  remedy: "Deploy the stage, or check the region and the account of your credentials.",
  run: async (abortSignal) => {
    const { DynamoDBClient, ListTablesCommand, DescribeTableCommand } = await import("@aws-sdk/client-dynamodb");
    const client = new DynamoDBClient(once);
    const prefix = `${stackOf(config)}-Table`;
    // DynamoDB lists the names in alphabetical order, beginning after ExclusiveStartTableName. So the names that begin
    // with the prefix come first.
    const list = new ListTablesCommand({ ExclusiveStartTableName: prefix, Limit: 10 });
    const TableName =
      config.restoredTable ?? nameOf((await client.send(list, { abortSignal })).TableNames ?? [], prefix);
    const { Table } = await client.send(new DescribeTableCommand({ TableName }), { abortSignal });
    if (Table?.TableStatus !== "ACTIVE") throw new Fault("failed", `${TableName} is ${Table?.TableStatus}`);
    return `${TableName}, about ${Table.ItemCount ?? 0} items`;
  },
});

const keyCheck = ({ stage }: Config): Check => ({
  name: "secrets key",
  remedy:
    "Deploy the stage. If the key is scheduled for deletion, cancel the deletion at once: without the key, no secret can be opened.",
  run: async (abortSignal) => {
    const { KMSClient, DescribeKeyCommand } = await import("@aws-sdk/client-kms");
    const KeyId = sealingKeyAlias(stage);
    const { KeyMetadata } = await new KMSClient(once).send(new DescribeKeyCommand({ KeyId }), { abortSignal });
    if (KeyMetadata?.KeyState !== "Enabled") throw new Fault("failed", `${KeyId} is ${KeyMetadata?.KeyState}`);
    return KeyId;
  },
});

const bucketCheck = (config: Config): Check => ({
  name: "files bucket",
  remedy: "Deploy the stage.",
  run: async (abortSignal) => {
    const { S3Client, ListBucketsCommand, HeadBucketCommand } = await import("@aws-sdk/client-s3");
    // A substitute for S3 at another endpoint does not have a host name for each bucket. So the path of the URL has the
    // bucket's name.
    const client = new S3Client({ ...once, forcePathStyle: process.env["AWS_ENDPOINT_URL"] !== undefined });
    const Prefix = `${stackOf(config)}-filesbucket`;
    const { Buckets = [] } = await client.send(new ListBucketsCommand({ Prefix }), { abortSignal });
    const names = Buckets.map(({ Name }) => Name);
    const Bucket = nameOf(names, Prefix);
    await client.send(new HeadBucketCommand({ Bucket }), { abortSignal });
    return Bucket;
  },
});

const busCheck = (config: Config): Check => ({
  name: "event bus",
  remedy: "Deploy the stage. Without the bus no webhook and no notice is sent.",
  run: async (abortSignal) => {
    const { EventBridgeClient, DescribeEventBusCommand } = await import("@aws-sdk/client-eventbridge");
    const Name = stackOf(config);
    await new EventBridgeClient(once).send(new DescribeEventBusCommand({ Name }), { abortSignal });
    return Name;
  },
});

/** Checks that a secret exists, without reading its value. */
const secretCheck = (name: string, SecretId: string | undefined): Check[] =>
  SecretId === undefined
    ? []
    : [
        {
          name: `secret: ${name}`,
          remedy: `Create ${SecretId} in Secrets Manager: docs/deploy.md, step 3.`,
          run: async (abortSignal) => {
            const { SecretsManagerClient, DescribeSecretCommand } = await import("@aws-sdk/client-secrets-manager");
            const client = new SecretsManagerClient(once);
            const { DeletedDate } = await client.send(new DescribeSecretCommand({ SecretId }), { abortSignal });
            if (DeletedDate) throw new Fault("failed", `${SecretId} is scheduled for deletion`);
            return SecretId;
          },
        },
      ];

async function loadSes() {
  const sdk = await import("@aws-sdk/client-sesv2");
  return { sdk, client: new sdk.SESv2Client(once) };
}

function mailChecks({ publicUrl, smtpSecretName, mailFrom, mailZone }: Config): Check[] {
  if (publicUrl === undefined || smtpSecretName !== undefined) return [];
  const { address } = mailFrom === undefined ? senderIn(mailZone) : MailSender.parse(mailFrom);
  return [
    {
      name: "SES account",
      remedy: "Request production access in the console of SES. In the sandbox, only verified addresses get mail.",
      run: async (abortSignal) => {
        const { sdk, client } = await loadSes();
        const found = await client.send(new sdk.GetAccountCommand({}), { abortSignal });
        if (!found.SendingEnabled) throw new Fault("failed", "sending is paused");
        if (!found.ProductionAccessEnabled) throw new Fault("failed", "the account is in the sandbox");
        return `${found.SendQuota?.Max24HourSend ?? 0} mails a day`;
      },
    },
    {
      name: "SES identity",
      remedy: "Verify the sender's domain: docs/deploy.md, step 6.",
      run: async (abortSignal) => {
        const { sdk, client } = await loadSes();
        const EmailIdentity = domainOf(address);
        const found = await client.send(new sdk.GetEmailIdentityCommand({ EmailIdentity }), { abortSignal });
        if (!found.VerifiedForSendingStatus) throw new Fault("failed", `${EmailIdentity} is not verified`);
        return EmailIdentity;
      },
    },
  ];
}

/** Checks that the target of a severity has confirmed its subscription. SNS sends alarms only to confirmed targets. */
const alarmCheck = (config: Config, severity: "Page" | "Ticket", target: string | undefined): Check[] =>
  target === undefined
    ? []
    : [
        {
          name: `alarms: ${severity.toLowerCase()}`,
          remedy:
            "Confirm the subscription within two days. After that, SNS deletes it, and you subscribe the target again by hand.",
          run: async (abortSignal) => {
            const { SNSClient, paginateListSubscriptions } = await import("@aws-sdk/client-sns");
            const topic = `:${stackOf(config)}-${severity}Topic`;
            const arns: (string | undefined)[] = [];
            for await (const page of paginateListSubscriptions({ client: new SNSClient(once) }, {}, { abortSignal })) {
              const ours = page.Subscriptions?.filter(
                (one) => one.Endpoint === target && one.TopicArn?.includes(topic),
              );
              arns.push(...(ours ?? []).map(({ SubscriptionArn }) => SubscriptionArn));
            }
            if (arns.length === 0) throw new Fault("missing", `${target} is not subscribed`);
            if (!arns.some((arn) => arn?.startsWith("arn:"))) throw new Fault("failed", `${target} has not confirmed`);
            return target;
          },
        },
      ];

const route53Checks = ({ registrar, dns, delegationSetId }: Config): Check[] => [
  ...(registrar === "route53"
    ? [
        {
          name: "registrar",
          remedy: "Allow your credentials route53domains:ListDomains. Register one name by hand to enable the service.",
          run: async (abortSignal: AbortSignal) => {
            const { Route53DomainsClient, ListDomainsCommand } = await import("@aws-sdk/client-route-53-domains");
            const client = new Route53DomainsClient({ ...once, region: "us-east-1" });
            await client.send(new ListDomainsCommand({ MaxItems: 1 }), { abortSignal });
            return "Route 53 Domains";
          },
        },
      ]
    : []),
  ...(dns === "route53"
    ? [
        {
          name: "dns",
          remedy: "Create the delegation set, and enter its id as delegationSetId: docs/deploy.md, step 5.",
          run: async (abortSignal: AbortSignal) => {
            const sdk = await import("@aws-sdk/client-route-53");
            const client = new sdk.Route53Client(once);
            const { HostedZoneCount = 0 } = await client.send(new sdk.GetHostedZoneCountCommand({}), { abortSignal });
            if (delegationSetId === undefined) return `Route 53, ${HostedZoneCount} zones`;
            await client.send(new sdk.GetReusableDelegationSetCommand({ Id: delegationSetId }), { abortSignal });
            return `Route 53, ${HostedZoneCount} zones, delegation set ${delegationSetId}`;
          },
        },
      ]
    : []),
];

async function fetchJson(get: Fetch, url: string, signal: AbortSignal): Promise<unknown> {
  const answer = await get(url, { signal });
  if (!answer.ok) throw new Fault(answer.status === 404 ? "missing" : "failed", `${url} answers ${answer.status}`);
  return answer.json();
}

const KeySet = z.object({ keys: z.array(z.unknown()).min(1) });

const webChecks = ({ issuers, publicUrl, hasNoIssuers }: Config, get: Fetch): Check[] => [
  ...(hasNoIssuers ? [] : readIssuers({ ISSUERS: issuers })).flatMap(({ issuer, jwksUri }) =>
    jwksUri === undefined
      ? []
      : [
          {
            name: `issuer ${issuer}`,
            remedy: "Correct jwksUri in the stage's file, or ask the operator of the issuer.",
            run: async (signal: AbortSignal) => {
              const keys = KeySet.safeParse(await fetchJson(get, jwksUri, signal)).data?.keys;
              if (keys === undefined) throw new Fault("failed", `${jwksUri} has no keys`);
              return `${keys.length} keys`;
            },
          },
        ],
  ),
  ...(publicUrl === undefined
    ? []
    : [
        {
          name: "API",
          remedy: "Check the DNS record and the certificate of the API's name, and the alarms of the stage.",
          run: async (signal: AbortSignal) => {
            await fetchJson(get, `${publicUrl}/v1/public/openapi.json`, signal);
            return publicUrl;
          },
        },
      ]),
];

const CheckFailure = z.object({
  name: z.string().default(""),
  message: z.string().default(""),
  $metadata: z.object({ httpStatusCode: z.number().optional() }).optional().catch(undefined),
});

const metadataOf = (error: object): object => ("$metadata" in error ? { $metadata: error.$metadata } : {});

/** Converts the error of a check to a finding. */
function findingOf({ name: check, remedy }: Check, error: unknown): Finding {
  if (error instanceof Fault) return { check, state: error.state, note: `${error.message}. ${remedy}` };
  const { name, message, $metadata } = CheckFailure.parse(
    error instanceof Error ? { name: error.name, message: error.message, ...metadataOf(error) } : {},
  );
  if (message === "Region is missing") return { check, state: "failed", note: "Set AWS_REGION to the stage's region." };
  const status = $metadata?.httpStatusCode;
  const isAbsent = status === 404 || /NotFound|NoSuch/.test(name);
  if (isAbsent) return { check, state: "missing", note: `${name}. ${remedy}` };
  const isRefused = status === 401 || status === 403 || /AccessDenied|Credential|Token|Unauthorized/.test(name);
  if (isRefused)
    return { check, state: "refused", note: `${name}. Use credentials that may read this service. ${message}` };
  const reason = /Abort|Timeout/.test(name) ? "no answer in time" : `${name}: ${message}`;
  return { check, state: "failed", note: `${reason}. ${remedy}` };
}

async function runCheck(check: Check, timeoutMs: number): Promise<Finding> {
  try {
    return { check: check.name, state: "ok", note: await check.run(AbortSignal.timeout(timeoutMs)) };
  } catch (error) {
    return findingOf(check, error);
  }
}

/** Checks all services that a stage needs, at the same time. Changes nothing, and reads no secret. */
function examine(config: Config, { fetch: get = fetch, timeoutMs = 8_000 }: DoctorOptions = {}): Promise<Finding[]> {
  const checks = [
    tableCheck(config),
    keyCheck(config),
    bucketCheck(config),
    busCheck(config),
    ...secretCheck("payments", config.paymentsSecretName),
    ...secretCheck("mail servers", config.mailSecretName),
    ...secretCheck("SMTP", config.smtpSecretName),
    ...secretCheck("edge", config.edge?.secretName),
    ...mailChecks(config),
    ...alarmCheck(config, "Page", config.pageTarget ?? config.alarmEmail),
    ...alarmCheck(config, "Ticket", config.ticketTarget ?? config.alarmEmail),
    ...route53Checks(config),
    ...webChecks(config, get),
  ];
  return Promise.all(checks.map((check) => runCheck(check, timeoutMs)));
}

/**
 * Lists the features of a stage and the findings of its checks as text. The exit code is 1 if a check found a problem.
 */
export async function doctor(
  stage: string,
  options?: DoctorOptions,
): Promise<{ code: number; out: string; err: string }> {
  const config = await readStage((key) => (key === "stage" ? stage : undefined), {});
  const features = featureTable.map(({ name, isOn, needs }) =>
    isOn(config) ? `on       ${name}` : `off      ${name.padEnd(18)} needs ${needs.replaceAll("`", "")}`,
  );
  const findings = await examine(config, options);
  const lines = findings.map(({ check, state, note }) => `${state.padEnd(8)} ${check.padEnd(22)} ${note}`);
  const faults = findings.filter(({ state }) => state !== "ok").length;
  const total = `${findings.length - faults} ok, ${faults} with a problem`;
  const out = [`Features of ${stage}:`, ...features, "", "Services:", ...lines, "", total].join("\n");
  return { code: faults === 0 ? 0 : 1, out: `${out}\n`, err: "" };
}
