import * as z from "zod";

import { readEndpoint } from "../../shared/core/endpoint.ts";
import { ReadOnlyReason, type Issuer } from "../../shared/core/environment.ts";
import { MailSender } from "../../shared/providers/mail/sender.ts";
import { PriceLists } from "../../shared/wallet/catalogue.ts";
import { VatSettings } from "../../shared/wallet/vat.ts";

/** An issuer in a stage's file. shared/core/environment.ts describes and checks its members. */
type IssuerSetting = Pick<Issuer, "issuer" | "audience" | "algorithms"> & Partial<Issuer>;

/** The origins as a list, or as one string with commas. */
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

/** The days for which CloudWatch Logs can keep logs. */
const retentionDays = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653, 9999,
] as const;

/** IP addresses as a list, or as one string with commas. */
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

/** A value as in a stage's file, or as JSON text from a command line or a variable. */
const orJson = <S extends z.ZodType>(schema: S) =>
  z.union([z.string().transform(parseJson).pipe(z.unknown()), z.custom<z.input<S>>()]).pipe(schema);

const Switch = z.union([z.boolean(), z.stringbool({ truthy: ["true"], falsy: ["false"] })], { error: "true or false" });

const HostName = z
  .string()
  .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/, "a lower-case host name");

const SecretName = z.string().regex(/^[A-Za-z0-9/_+=.@-]{1,512}$/, "a secret's name, not its ARN");

const Server = z.string().refine((text) => readEndpoint(text) !== undefined, { error: "an IP address with a port" });

const CertificateArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[a-f0-9-]+$/, "the ARN of a certificate in ACM");

const KeyArn = z.string().regex(/^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[a-z0-9-]+$/, "the ARN of a key in KMS");

/** The ARNs of keys as a list, or as one string with commas. */
const KeyArns = z.union([z.array(z.string()), z.string().transform((text) => text.split(","))]).pipe(z.array(KeyArn));

const PerSecond = z.coerce.number<number | string>({ error: "a whole number from 1" }).int().positive();

const Throttle = z.strictObject({ ratePerSecond: PerSecond, burst: PerSecond });

const AlarmTarget = z.union([z.email(), z.url({ protocol: /^https$/ })], {
  error: "an e-mail address or an https URL",
});

const Dollars = z.coerce.number<number | string>({ error: "US dollars, such as 200" }).positive();

/** CloudFront with AWS WAF in front of the gateway: docs/deploy.md. */
const Edge = z.strictObject({
  /** The name of the gateway, which only CloudFront calls. Customers call `domainName`. */
  originDomainName: HostName,
  /** The certificate for `domainName`, in us-east-1, as CloudFront requires. */
  certificateArn: CertificateArn.regex(/:acm:us-east-1:/, "CloudFront needs a certificate of us-east-1"),
  /**
   * A secret in us-east-1, with a replica in the stack's region: JSON of named values, each of 32 characters or more.
   */
  secretName: SecretName,
  /** The name of the value that CloudFront sends to the gateway. The gateway accepts every value of the secret. */
  secretKey: z.string().regex(/^[a-z0-9_-]{1,32}$/, "the name of a value in the secret"),
  /** The most requests of one address in five minutes. This limit comes before the API's own limits. */
  requestsPer5Minutes: z.number().int().min(10).max(2_000_000_000).default(10_000),
  /** The most requests with one `Authorization` header in five minutes, from all addresses together. */
  requestsPerTokenPer5Minutes: z.number().int().min(10).max(2_000_000_000).default(10_000),
});
export type Edge = z.output<typeof Edge>;

const VaultArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:backup:[a-z0-9-]+:\d{12}:backup-vault:[A-Za-z0-9_-]{2,50}$/, "the ARN of a backup vault");

/** Daily backups of the table by AWS Backup: docs/deploy.md. */
const Backup = z.strictObject({
  /** How many days a backup is kept, here and in the other vaults. */
  keepDays: z.number().int().min(7).max(3_650).default(35),
  /**
   * Who can delete a backup before its time. `governance`: users with the right to remove the vault's lock.
   * `compliance`: nobody, not even AWS, once `lockDays` are over.
   */
  lock: z.enum(["governance", "compliance"]).default("governance"),
  /** The days after the first deployment in which a lock by `compliance` can still be removed; AWS requires 3. */
  lockDays: z.number().int().min(3).max(365).default(7),
  /** Vaults in other regions or accounts that get a copy of each backup. */
  copyTo: z.array(VaultArn).default([]),
});
export type Backup = z.output<typeof Backup>;

/** Every setting of a deployment. docs/deploy.md has a table of the settings. */
export const Settings = z.object({
  /** Names the deployment; the stack is `hosted-mail-<stage>`. */
  stage: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,29}$/, "a stage is lower-case letters, digits and hyphens")
    .default("dev"),
  /** The `ISSUERS` that shared/core/environment.ts reads: JSON text, or the list itself. */
  issuers: z
    .union([z.string(), z.array(z.custom<IssuerSetting>()).transform((list) => JSON.stringify(list))])
    .optional(),
  /** The web origins that may call the API from a browser. Without any, CORS is off. */
  allowedOrigins: Origins.default([]),
  /** The web origins to which payers may be led after a checkout. Without any, `return_url` is refused. */
  returnOrigins: Origins.refine((origins) => origins.every((origin) => origin.startsWith("https://")), {
    error: "an origin to which payers return must be https",
  }).default([]),
  /** The name under which customers reach the API, instead of API Gateway's. */
  domainName: HostName.optional(),
  /** The certificate for the gateway's name, in the stack's region. */
  certificateArn: CertificateArn.optional(),
  /** The zone in Route 53 that gets the DNS records of the name; without a zone you create the records yourself. */
  hostedZoneId: z
    .string()
    .regex(/^Z[A-Z0-9]{1,31}$/, "the id of a hosted zone, such as Z0123456789ABC")
    .optional(),
  /** AWS WAF and CloudFront in front of the gateway; none by default. */
  edge: orJson(Edge).optional(),
  /** The URL at which customers reach the API, if that is not `domainName`. */
  publicUrl: z.url({ protocol: /^https$/ }).optional(),
  logLevel: z.enum(["debug", "info", "error"]).default("info"),
  /**
   * For incidents: refuses every change by REST and code mode, and tells callers this text. Reads and workers continue.
   */
  readOnly: ReadOnlyReason,
  /** Backups beside point-in-time recovery; none by default. */
  backup: orJson(Backup).optional(),
  /** Keys that sealed secrets before the stack's present key did. Functions may still open secrets with them. */
  formerSecretsKeyArns: KeyArns.default([]),
  /** How long logs are kept: one of the retentions that CloudWatch Logs offers. */
  logRetentionDays: z.coerce.number<number | string>().pipe(z.literal(retentionDays)).default(30),
  /**
   * Gives a new version of each function 10 % of the calls for five minutes, and takes it back at 5xx answers:
   * docs/deploy.md. The functions are then in nested stacks.
   */
  canary: Switch.default(false),
  /** Traces every function in X-Ray. */
  trace: Switch.default(false),
  /** The address that gets the alarms of each severity that has no target. Without both, nobody is told. */
  alarmEmail: z.email().optional(),
  /** The target of alarms that wake a person: customers feel the symptom now. */
  pageTarget: AlarmTarget.optional(),
  /** The target of alarms for the next working day, and of the warnings about cost. */
  ticketTarget: AlarmTarget.optional(),
  /** The SLO of latency: 99 % of the requests take this long at most. */
  latencyAlarmMs: z.coerce.number<number | string>().int().positive().default(2_000),
  /** Warns when the stage's cost of a month reaches 80 % of this, or will probably be above it. */
  monthlyBudgetUsd: Dollars.optional(),
  /** Warns of unusual cost that AWS finds in the stage, from this sum on. */
  costAnomalyUsd: Dollars.optional(),
  /** The limits of all callers together; the limit of each principal is in the code. */
  throttleRatePerSecond: PerSecond.default(500),
  throttleBurst: PerSecond.default(1_000),
  /**
   * The most calls at once of some workers, by the worker's name. AWS takes them from the account's concurrency, and leaves
   * at least 100 for other functions.
   */
  workerConcurrency: orJson(z.record(z.string(), PerSecond)).default({}),
  /** Other limits for the routes of some functions, by the function's name. */
  routeThrottles: orJson(z.record(z.string(), Throttle)).default({}),
  /**
   * The registrar of names and the host of zones. `embedded` only simulates them: names are neither registered nor
   * reachable. `none` switches their functions off.
   */
  registrar: z.enum(["route53", "embedded", "none"]).default("route53"),
  dns: z.enum(["route53", "embedded", "none"]).default("route53"),
  /**
   * Plan prices that replace those of shared/wallet/catalogue.ts from given months on. Price lists of months that have
   * begun must not change.
   */
  planPrices: orJson(PriceLists).default([]),
  /** The VAT that is charged, with the rates of the EU's countries: docs/billing.md. Without it no VAT is charged. */
  vat: orJson(VatSettings).optional(),
  /** A secret in Secrets Manager with Stripe's keys (docs/deploy.md). Without this secret top-ups fail. */
  paymentsSecretName: SecretName.optional(),
  /** The page to which payers return, if a checkout names no page. */
  paymentsReturnUrl: z.url({ protocol: /^https$/ }).optional(),
  /**
   * The zone of the nameservers to which domains are delegated. docs/deploy.md lists the names that the zone needs.
   */
  nsZone: HostName.default("dns.hosted-mail.example"),
  /** The zone of the mail hosts to which the records of domains point. */
  mailZone: HostName.default("hosted-mail.example"),
  /**
   * The host that customers' websites and MTA-STS policies are served at: the target of the CNAME records of domains. A TLS
   * proxy has this name, and asks the API at the output `WebUrl`: docs/deploy.md. Without it there is no such API.
   */
  webHost: HostName.optional(),
  /** The addresses of that proxy, for the A and AAAA records of domains that redirect: a list, or a text with commas. */
  webAddresses: Addresses.default([]),
  /** A reusable delegation set of Route 53, whose nameservers serve all zones. */
  delegationSetId: z
    .string()
    .regex(/^[A-Z0-9]{1,32}$/, "the id of a reusable delegation set, such as N1PA6795SAMPLE")
    .optional(),
  /**
   * A secret in Secrets Manager: at least 16 characters, which mail servers send in `X-Mail-Key`. For a day after a
   * rotation the version before it is valid too. Without this secret mail servers get errors.
   */
  mailSecretName: SecretName.optional(),
  /**
   * The number of days after which a new key of the mail servers is made. Only for mail servers that read the secret
   * themselves: the former key is valid for a day.
   */
  mailSecretRotationDays: z.coerce
    .number<number | string>({ error: "a number of days from 2 to 1000" })
    .int()
    .min(2)
    .max(1_000)
    .optional(),
  /**
   * The sender of the API's own mail, such as `Hosted Mail <no-reply@example.com>`. The default is
   * no-reply in the mail zone.
   */
  mailFrom: z
    .string()
    .refine((text) => MailSender.safeParse(text).success, "write it as: Hosted Mail <no-reply@example.com>")
    .optional(),
  /**
   * A secret in Secrets Manager: the URL of an SMTP server (shared/providers/mail/smtp-url.ts) that sends the API's own
   * mail instead of SES.
   */
  smtpSecretName: SecretName.optional(),
  /** The configuration set of SES for the API's own mail. */
  sesConfigurationSet: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "the name of a configuration set")
    .optional(),
  /**
   * The relay that sends mail, and the IMAP and POP3 servers of the mailboxes, at the addresses that the mail proxy uses:
   * `10.0.0.5:25`.
   */
  smtpRelay: Server.optional(),
  imapServer: Server.optional(),
  popServer: Server.optional(),
});
export type Settings = z.output<typeof Settings>;

/** The settings that a file in infra/stages exports as `settings`. */
export type StageSettings = Omit<z.input<typeof Settings>, "stage">;

/** The errors in settings, as lines of text. */
export const prettySettings = (error: z.ZodError): string => z.prettifyError(error);
