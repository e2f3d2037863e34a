import { RetentionDays } from "aws-cdk-lib/aws-logs";
import * as z from "zod";

import { readEndpoint } from "../shared/endpoint.ts";
import { readEnvironment } from "../shared/env.ts";
import { MailSender } from "../shared/providers/mail-sender.ts";

/** Given as a list or as one string with commas. */
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
  .pipe(z.array(z.string().regex(/^https?:\/\/[a-z0-9.-]+(:\d+)?$/, "an origin is scheme://host[:port]")));

const hostName = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/;

const SecretName = z.string().regex(/^[A-Za-z0-9/_+=.@-]{1,512}$/, "a secret's name, not its ARN");

const Server = z.string().refine((text) => readEndpoint(text) !== undefined, { error: "an IP address with a port" });

const Settings = z.object({
  /** Names the deployment; the stack is `hosted-mail-<stage>`. */
  stage: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,29}$/, "a stage is lower-case letters, digits and hyphens")
    .default("dev"),
  /** `ISSUERS` as shared/env.ts reads it: JSON text, or the list itself in cdk.json. */
  issuers: z.union([z.string(), z.array(z.unknown()).transform((list) => JSON.stringify(list))]).optional(),
  /** Web origins that may call the API from a browser; none turns CORS off. */
  allowedOrigins: Origins.default([]),
  logLevel: z.enum(["debug", "info", "error", "silent"]).default("info"),
  /** One of the retentions that CloudWatch Logs offers. */
  logRetentionDays: z.coerce.number().pipe(z.enum(RetentionDays)).default(RetentionDays.ONE_MONTH),
  /** Who is told about alarms; nobody when absent. */
  alarmEmail: z.email().optional(),
  /** For all callers together; each principal's own limit is in the code. */
  throttleRatePerSecond: z.coerce.number().int().positive().default(500),
  throttleBurst: z.coerce.number().int().positive().default(1000),
  /** A secret in Secrets Manager as shared/providers/payments.ts wants it; without it top-ups answer an error. */
  paymentsSecretName: SecretName.optional(),
  /** Where customers reach the API. */
  publicUrl: z.url({ protocol: /^https$/ }).optional(),
  /** The zone whose names domains are delegated to: docs/domains.md says what it has to have. */
  nsZone: z.string().regex(hostName, "a lower-case host name").default("dns.hosted-mail.example"),
  /** The zone of the mail hosts that the records of domains lead to. */
  mailZone: z.string().regex(hostName, "a lower-case host name").default("hosted-mail.example"),
  /** A reusable delegation set of Route 53, on whose nameservers all zones are. */
  delegationSetId: z
    .string()
    .regex(/^[A-Z0-9]{1,32}$/, "the id of a reusable delegation set, such as N1PA6795SAMPLE")
    .optional(),
  /** A secret in Secrets Manager: at least 16 characters that the mail servers show in `X-Mail-Key`; without it they get errors. */
  mailSecretName: SecretName.optional(),
  /** Who the API's own mail is from, such as `Hosted Mail <no-reply@example.com>`; no-reply in the mail zone, if not said. */
  mailFrom: z
    .string()
    .refine((text) => MailSender.safeParse(text).success, "write it as: Hosted Mail <no-reply@example.com>")
    .optional(),
  /** A secret in Secrets Manager: the URL of an SMTP server (shared/providers/smtp-url.ts) for that mail, instead of SES. */
  smtpSecretName: SecretName.optional(),
  /** A configuration set of SES for that mail. */
  sesConfigurationSet: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "the name of a configuration set")
    .optional(),
  /** The relay that sends mail, and the server that has the mailboxes, as the mail proxy reaches them: `10.0.0.5:25`. */
  smtpRelay: Server.optional(),
  imapServer: Server.optional(),
  /** Where payers return to when a checkout does not say. */
  paymentsReturnUrl: z.url({ protocol: /^https$/ }).optional(),
});
export type Config = z.output<typeof Settings> & { issuers: string };

/** Refuses every token: `.invalid` resolves nowhere (RFC 2606), so a synthesis needs no identity provider. */
const placeholderIssuers = JSON.stringify([
  {
    issuer: "https://issuer.invalid",
    audience: ["not-configured"],
    jwksUri: "https://issuer.invalid/.well-known/jwks.json",
    algorithms: ["RS256"],
  },
]);

/** `logRetentionDays` is `LOG_RETENTION_DAYS` in the environment. */
const variableOf = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

/**
 * Reads the deployment's settings from CDK context first (`-c stage=prod`), then from the environment (`STAGE=prod`).
 * Throws with every malformed setting at once, and when the CDK CLI is at an AWS account but no issuer is configured.
 */
export function readConfig(context: (key: string) => unknown, env: Record<string, string | undefined>): Config {
  const given = Object.keys(Settings.shape).map((key) => [key, context(key) ?? (env[variableOf(key)] || undefined)]);
  const result = Settings.safeParse(Object.fromEntries(given));
  if (!result.success) throw new Error(`The deployment is not configured:\n${z.prettifyError(result.error)}`);
  const settings = result.data;
  if (settings.issuers === undefined && env["CDK_DEFAULT_ACCOUNT"] !== undefined) {
    throw new Error(
      "No token issuer is configured: set ISSUERS, or -c issuers=…, to the JSON list that shared/env.ts describes.",
    );
  }
  // The gateway's definition names the functions, so CloudFormation cannot tell them the gateway's address.
  if (settings.paymentsSecretName !== undefined && settings.publicUrl === undefined) {
    throw new Error("Payers come back to the API: paymentsSecretName needs publicUrl, such as the output ApiUrl.");
  }
  const { mailFrom, smtpSecretName, sesConfigurationSet } = settings;
  const sends = mailFrom !== undefined || smtpSecretName !== undefined || sesConfigurationSet !== undefined;
  if (sends && settings.publicUrl === undefined) {
    throw new Error("Mail leads to the API: mailFrom, smtpSecretName and sesConfigurationSet need publicUrl.");
  }
  if (smtpSecretName !== undefined && sesConfigurationSet !== undefined) {
    throw new Error("Mail goes out by SES or by SMTP: give either sesConfigurationSet or smtpSecretName.");
  }
  const issuers = settings.issuers ?? placeholderIssuers;
  // A list that the functions would refuse is refused here, before anything is deployed.
  readEnvironment({ TABLE_NAME: "named-by-cloudformation", ISSUERS: issuers });
  return { ...settings, issuers };
}
