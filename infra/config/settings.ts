import * as z from "zod";

import { readEndpoint } from "../../shared/core/endpoint.ts";
import { ReadOnlyReason, type Issuer } from "../../shared/core/environment.ts";
import { MailSender } from "../../shared/providers/mail/mail.ts";
import { PriceLists } from "../../shared/wallet/catalogue.ts";
import { VatSettings } from "../../shared/wallet/vat.ts";

/** An issuer in a stage's file. shared/core/environment.ts describes and checks its members. */
type IssuerSetting = Pick<Issuer, "issuer" | "audience" | "algorithms"> & Partial<Issuer>;

/** Web origins: a list, or one text with commas. */
const Origins = z
  .union([
    z.array(z.string()),
    z.string().transform((text) =>
      text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    ),
  ])
  .pipe(z.array(z.string().regex(/^https?:\/\/[a-z0-9.-]+(:\d+)?$/, "an origin must be scheme://host[:port]")));

/** The numbers of days for which CloudWatch Logs can keep logs. */
const retentionDays = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653, 9999,
] as const;

/** IP addresses: a list, or one text with commas. */
const Addresses = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(","))])
  .pipe(z.array(z.union([z.ipv4(), z.ipv6()], { error: "an IP address" })));

function parseJson(text: string, context: z.RefinementCtx): unknown {
  try {
    return JSON.parse(text);
  } catch {
    context.issues.push({ code: "custom", input: text, message: "not JSON" });
    return z.NEVER;
  }
}

/** Accepts a value (in a stage's file) or its JSON text (on a command line or in a variable). */
const orJson = <S extends z.ZodType>(schema: S) =>
  z.union([z.string().transform(parseJson).pipe(z.unknown()), z.custom<z.input<S>>()]).pipe(schema);

const Switch = z.union([z.boolean(), z.stringbool({ truthy: ["true"], falsy: ["false"] })], { error: "true or false" });

const HostName = z
  .string()
  .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/, "a lower-case host name");

/** Host names: a list, or one text with commas. */
const HostNames = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(","))])
  .pipe(z.array(HostName));

const SecretName = z.string().regex(/^[A-Za-z0-9/_+=.@-]{1,512}$/, "a secret's name, not its ARN");

const Server = z.string().refine((text) => readEndpoint(text) !== undefined, { error: "an IP address with a port" });

const CertificateArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[a-f0-9-]+$/, "the ARN of a certificate in ACM");

const KeyArn = z.string().regex(/^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[a-z0-9-]+$/, "the ARN of a key in KMS");

/** The ARNs of keys: a list, or one text with commas. */
const KeyArns = z.union([z.array(z.string()), z.string().transform((text) => text.split(","))]).pipe(z.array(KeyArn));

const PositiveInteger = z.coerce.number<number | string>({ error: "a whole number from 1" }).int().positive();

const Throttle = z.strictObject({ ratePerSecond: PositiveInteger, burst: PositiveInteger });

const AlarmTarget = z.union([z.email(), z.url({ protocol: /^https$/ })], {
  error: "an e-mail address or an https URL",
});

const Dollars = z.coerce.number<number | string>({ error: "US dollars, such as 200" }).positive();

/** The settings of the edge: CloudFront with AWS WAF in front of the gateway. docs/deploy.md describes the edge. */
const Edge = z.strictObject({
  /** The host name of the gateway, which only CloudFront calls. Customers call `domainName`. */
  originDomainName: HostName,
  /** The certificate for `domainName`. CloudFront requires a certificate in us-east-1. */
  certificateArn: CertificateArn.regex(/:acm:us-east-1:/, "CloudFront needs a certificate of us-east-1"),
  /**
   * The name of a secret in us-east-1 with a replica in the stack's region. The secret is a JSON object of named
   * values. Each value has at least 32 characters.
   */
  secretName: SecretName,
  /** The name of the value that CloudFront sends to the gateway. The gateway accepts every value of the secret. */
  secretKey: z.string().regex(/^[a-z0-9_-]{1,32}$/, "the name of a value in the secret"),
  /**
   * The most requests from one IP address in five minutes. AWS WAF checks this limit before the API checks its own
   * limits.
   */
  requestsPer5Minutes: z.number().int().min(10).max(2_000_000_000).default(10_000),
  /** The most requests with one `Authorization` header in five minutes, from all IP addresses together. */
  requestsPerTokenPer5Minutes: z.number().int().min(10).max(2_000_000_000).default(10_000),
});
export type Edge = z.output<typeof Edge>;

const VaultArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:backup:[a-z0-9-]+:\d{12}:backup-vault:[A-Za-z0-9_-]{2,50}$/, "the ARN of a backup vault");

/** The settings of daily backups of the table by AWS Backup. docs/deploy.md describes the backups. */
const Backup = z.strictObject({
  /** The number of days for which a backup is kept, in the stack's vault and in the vaults of `copyTo`. */
  keepDays: z.number().int().min(7).max(3_650).default(35),
  /**
   * The people who can delete a backup before `keepDays` are over:
   * - `governance`: users with the right to remove the vault's lock.
   * - `compliance`: after `lockDays`, no one, not even AWS.
   */
  lock: z.enum(["governance", "compliance"]).default("governance"),
  /**
   * The number of days for which a `compliance` lock can still be removed after the first deployment. AWS requires at
   * least 3 days.
   */
  lockDays: z.number().int().min(3).max(365).default(7),
  /** The ARNs of vaults in other regions or accounts. Each vault gets a copy of each backup. */
  copyTo: z.array(VaultArn).default([]),
});
export type Backup = z.output<typeof Backup>;

/** Every setting of a deployment. docs/deploy.md has a table of the settings. */
export const Settings = z.object({
  /** The name of the deployment. The stack is named `hosted-mail-<stage>`. */
  stage: z
    .string()
    .regex(
      /^[a-z][a-z0-9-]{0,29}$/,
      "a stage must begin with a lower-case letter, and can contain lower-case letters, digits and hyphens",
    )
    .default("dev"),
  /** The `ISSUERS` that shared/core/environment.ts reads: JSON text, or the list itself. */
  issuers: z
    .union([z.string(), z.array(z.custom<IssuerSetting>()).transform((list) => JSON.stringify(list))])
    .optional(),
  /** The web origins that may call the API from a browser. If the list is empty, CORS is off. */
  allowedOrigins: Origins.default([]),
  /** The web origins to which payers may return after a checkout. If the list is empty, `return_url` is refused. */
  returnOrigins: Origins.refine((origins) => origins.every((origin) => origin.startsWith("https://")), {
    error: "an origin to which payers return must be https",
  }).default([]),
  /** The host name under which customers reach the API. By default API Gateway's host name. */
  domainName: HostName.optional(),
  /** The certificate for the gateway's host name, in the stack's region. */
  certificateArn: CertificateArn.optional(),
  /**
   * The zone in Route 53 that gets the DNS records of the host name. Without this setting you create the records
   * yourself.
   */
  hostedZoneId: z
    .string()
    .regex(/^Z[A-Z0-9]{1,31}$/, "the id of a hosted zone, such as Z0123456789ABC")
    .optional(),
  /** AWS WAF and CloudFront in front of the gateway. By default there is no edge. */
  edge: orJson(Edge).optional(),
  /** The URL at which customers reach the API. By default `https://<domainName>`. */
  publicUrl: z.url({ protocol: /^https$/ }).optional(),
  logLevel: z.enum(["debug", "info", "error"]).default("info"),
  /**
   * For incidents: a text for callers. While it is set, REST and code mode refuse every change with this text. Reads
   * and workers continue.
   */
  readOnly: ReadOnlyReason,
  /**
   * The name of a table that a restore has made. The stack uses this table instead of its own. By default the stack has
   * its own table. docs/operations.md describes the restore.
   */
  restoredTable: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{3,255}$/, "the name of a table in DynamoDB")
    .optional(),
  /** Backups in addition to point-in-time recovery. By default there is only point-in-time recovery. */
  backup: orJson(Backup).optional(),
  /**
   * The ARNs of other keys that sealed secrets: former keys of the stack, or the replica of the key of a stack in
   * another region. Functions may open secrets with these keys.
   */
  formerSecretsKeyArns: KeyArns.default([]),
  /** The number of days for which logs are kept: one of the numbers that CloudWatch Logs offers. */
  logRetentionDays: z.coerce.number<number | string>().pipe(z.literal(retentionDays)).default(30),
  /**
   * Whether a new version of a function gets only 10 % of the calls in its first five minutes. If the gateway answers
   * 500, 502 or 504 five times within a minute, CodeDeploy rolls the version back. With this setting the functions are
   * in nested stacks. docs/deploy.md describes canaries.
   */
  canary: Switch.default(false),
  /** Whether X-Ray traces every function. */
  trace: Switch.default(false),
  /**
   * The e-mail address that replaces a missing `pageTarget` or `ticketTarget`. Alarms with neither this address nor a
   * target send no notices.
   */
  alarmEmail: z.email().optional(),
  /** The target of alarms that wake a person, because customers feel the symptom now. */
  pageTarget: AlarmTarget.optional(),
  /** The target of alarms that can wait for the next working day, and of the warnings about cost. */
  ticketTarget: AlarmTarget.optional(),
  /** The SLO of latency, in milliseconds: 99 % of the requests take at most this time. */
  latencyAlarmMs: z.coerce.number<number | string>().int().positive().default(2_000),
  /**
   * The budget for the stage's cost in a month, in US dollars. AWS warns when the cost is above 80 % of the budget, and
   * when the forecast is above the budget.
   */
  monthlyBudgetUsd: Dollars.optional(),
  /** The smallest unusual cost of the stage that makes AWS warn, in US dollars. */
  costAnomalyUsd: Dollars.optional(),
  /**
   * The most requests per second of all callers together. The limits of each principal are not a setting: they are in
   * shared/rate-limits/classes.ts.
   */
  throttleRatePerSecond: PositiveInteger.default(500),
  /** The most requests at once of all callers together. */
  throttleBurst: PositiveInteger.default(1_000),
  /**
   * The most concurrent calls of individual workers, by the worker's name. AWS reserves these calls from the
   * concurrency of the AWS account, and leaves at least 100 for other functions.
   */
  workerConcurrency: orJson(z.record(z.string(), PositiveInteger)).default({}),
  /** Limits for the routes of individual functions, by the function's name. */
  routeThrottles: orJson(z.record(z.string(), Throttle)).default({}),
  /**
   * The registrar of domain names. `embedded` only simulates a registrar: names are not registered. `none` switches the
   * registrar's functions off.
   */
  registrar: z.enum(["route53", "embedded", "none"]).default("route53"),
  /** The host of DNS zones. `embedded` only simulates a host: zones are not reachable. `none` hosts no zones. */
  dns: z.enum(["route53", "embedded", "none"]).default("route53"),
  /**
   * Price lists that replace the plan prices of shared/wallet/catalogue.ts, each from its month on. The list of a month
   * must not change after the month has begun.
   */
  planPrices: orJson(PriceLists).default([]),
  /**
   * The settings of VAT, with the rates of the EU's countries. docs/operators-billing.md describes them. Without this
   * setting no VAT is charged.
   */
  vat: orJson(VatSettings).optional(),
  /** The name of a secret in Secrets Manager with Stripe's keys (docs/deploy.md). Without this secret top-ups fail. */
  paymentsSecretName: SecretName.optional(),
  /** The page to which payers return from a checkout that names no page. */
  paymentsReturnUrl: z.url({ protocol: /^https$/ }).optional(),
  /**
   * The zone of the nameservers to which domains are delegated. docs/deploy.md lists the names that the zone needs.
   */
  nsZone: HostName.default("dns.hosted-mail.example"),
  /** The zone of the mail hosts to which the records of domains point. */
  mailZone: HostName.default("hosted-mail.example"),
  /**
   * The host that serves MTA-STS policies and the redirects of customers' domains. The CNAME records of domains point
   * to this host. The host is a TLS proxy, which calls the API at the output `WebUrl`. docs/deploy.md describes the
   * proxy. Without this setting the API at `WebUrl` does not exist.
   */
  webHost: HostName.optional(),
  /** The IP addresses of the TLS proxy at `webHost`, for the A and AAAA records of domains that redirect. */
  webAddresses: Addresses.default([]),
  /** The blocklists in which the health check looks up a domain. Some blocklists require payment. */
  blocklistZones: HostNames.default([]),
  /** The id of a reusable delegation set of Route 53. Its nameservers serve all zones. */
  delegationSetId: z
    .string()
    .regex(/^[A-Z0-9]{1,32}$/, "the id of a reusable delegation set, such as N1PA6795SAMPLE")
    .optional(),
  /**
   * The name of a secret in Secrets Manager with the key of the mail servers. The key has at least 16 characters. Mail
   * servers send the key in `X-Mail-Key`. For a day after a rotation, the former key is valid too. Without this secret
   * mail servers get errors.
   */
  mailSecretName: SecretName.optional(),
  /**
   * The number of days between two rotations of the mail servers' key. Use this setting only if mail servers read the
   * secret themselves, because the former key is valid for only a day.
   */
  mailSecretRotationDays: z.coerce
    .number<number | string>({ error: "a number of days from 2 to 1000" })
    .int()
    .min(2)
    .max(1_000)
    .optional(),
  /**
   * The sender of the API's own mail, such as `Hosted Mail <no-reply@example.com>`. By default `no-reply` at
   * `mailZone`.
   */
  mailFrom: z
    .string()
    .refine((text) => MailSender.safeParse(text).success, "write it as: Hosted Mail <no-reply@example.com>")
    .optional(),
  /**
   * The name of a secret in Secrets Manager with the URL of an SMTP server (shared/providers/mail/smtp-url.ts). The
   * server sends the API's own mail instead of SES.
   */
  smtpSecretName: SecretName.optional(),
  /** The name of SES's configuration set for the API's own mail. */
  sesConfigurationSet: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "the name of a configuration set")
    .optional(),
  /** The address at which the mail proxy reaches the relay that sends mail, such as `10.0.0.5:25`. */
  smtpRelay: Server.optional(),
  /** The address at which the mail proxy reaches the IMAP server of the mailboxes, such as `10.0.0.6:143`. */
  imapServer: Server.optional(),
  /** The address at which the mail proxy reaches the POP3 server of the mailboxes, such as `10.0.0.6:110`. */
  popServer: Server.optional(),
  /** The delay of the mail proxy's answer to a first wrong password, in seconds. By default 3. */
  mailLoginWaitSeconds: z.coerce
    .number<number | string>({ error: "a number of seconds from 0 to 30" })
    .int()
    .min(0)
    .max(30, "a number of seconds from 0 to 30")
    .optional(),
});
export type Settings = z.output<typeof Settings>;

/** The settings that a file in infra/stages exports as `settings`. */
export type StageSettings = Omit<z.input<typeof Settings>, "stage">;

/** The errors in settings, as lines of text. */
export const prettySettings = (error: z.ZodError): string => z.prettifyError(error);
