import { ArnFormat, Stack, Validations } from "aws-cdk-lib";
import { PolicyDocument, PolicyStatement, type Role } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Bucket } from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";

import type { ProviderName } from "../../shared/http/route.ts";
import { MailSender, domainOf, senderIn } from "../../shared/providers/mail/sender.ts";
import type { Config } from "../config/config.ts";
import { filesBucketId } from "./storage.ts";

/** A policy that allows actions on some resources. */
export const allow = (actions: readonly string[], ...resources: string[]): PolicyDocument =>
  new PolicyDocument({ statements: [new PolicyStatement({ actions: [...actions], resources })] });

/** The outside services that the functions of a stack use. Payments need a payments secret. */
export type Outside = {
  secretsKey: IKey;
  files: Bucket;
  payments: Pick<Config, "paymentsSecretName" | "paymentsReturnUrl">;
  hosting: Pick<Config, "registrar" | "dns" | "delegationSetId">;
  /** Mail contains links to the API, so no mail is sent without the API's address. */
  mail: Pick<Config, "publicUrl" | "mailFrom" | "mailZone" | "smtpSecretName" | "sesConfigurationSet">;
  mailServers: Pick<Config, "mailSecretName" | "smtpRelay" | "imapServer">;
};

/** Whether requests reach a function (`door`) or not (`worker`). */
export type Side = "door" | "worker";

const registrarActions = [
  "CheckDomainAvailability",
  "DeleteDomain",
  "DisableDomainAutoRenew",
  "EnableDomainAutoRenew",
  "GetDomainDetail",
  "GetOperationDetail",
  "ListOperations",
  "ListPrices",
  "RegisterDomain",
  "UpdateDomainNameservers",
].map((name) => `route53domains:${name}`);

const zoneActions = [
  "ChangeResourceRecordSets",
  "CreateHostedZone",
  "DeleteHostedZone",
  "GetChange",
  "GetHostedZone",
  "ListHostedZonesByName",
  "ListResourceRecordSets",
].map((name) => `route53:${name}`);

export const readSecret = ["secretsmanager:GetSecretValue"];

/** The actions by port. A door seals secrets and signs the URLs of files; a worker opens secrets and writes files. */
const actions: Record<Side, Record<Exclude<ProviderName, "mail">, readonly string[]>> = {
  door: {
    secrets: ["kms:Decrypt", "kms:Encrypt"],
    payments: readSecret,
    files: ["s3:GetObject"],
    registrar: registrarActions,
    dns: zoneActions,
    mail_servers: readSecret,
  },
  worker: {
    secrets: ["kms:Decrypt"],
    payments: readSecret,
    files: ["s3:AbortMultipartUpload", "s3:PutObject"],
    registrar: registrarActions,
    dns: zoneActions,
    mail_servers: readSecret,
  },
};

const fileKinds = ["exports/*"];

/** The policies for the ports that a function uses, by the policy's name. */
export function portPolicies(
  side: Side,
  uses: readonly ProviderName[],
  outside: Outside,
): Record<string, PolicyDocument> {
  const resources: Record<Exclude<ProviderName, "mail">, string | readonly string[] | undefined> = {
    secrets: outside.secretsKey.keyArn,
    payments: secretArnOf(outside.files, outside.payments.paymentsSecretName),
    files: fileKinds.map((kind) => outside.files.arnForObjects(kind)),
    registrar: outside.hosting.registrar === "route53" ? "*" : undefined,
    dns: outside.hosting.dns === "route53" ? "*" : undefined,
    mail_servers: secretArnOf(outside.files, outside.mailServers.mailSecretName),
  };
  const policyOf = (port: ProviderName): PolicyDocument | undefined => {
    if (port === "mail") return sendingPolicy(outside);
    const resource = resources[port];
    return resource === undefined ? undefined : allow(actions[side][port], ...[resource].flat());
  };
  return Object.fromEntries(
    uses.flatMap((port): [string, PolicyDocument][] => {
      const policy = policyOf(port);
      return policy === undefined ? [] : [[port, policy]];
    }),
  );
}

/** Allows sending by SES under the sender's domain, or reading the SMTP server's secret when there is one. */
function sendingPolicy({ files, mail }: Outside): PolicyDocument | undefined {
  if (mail.publicUrl === undefined) return undefined;
  const secret = secretArnOf(files, mail.smtpSecretName);
  if (secret !== undefined) return allow(readSecret, secret);
  const { address } = mail.mailFrom === undefined ? senderIn(mail.mailZone) : MailSender.parse(mail.mailFrom);
  const named = (resource: string, resourceName: string | undefined): string[] =>
    resourceName === undefined ? [] : [Stack.of(files).formatArn({ service: "ses", resource, resourceName })];
  return allow(
    ["ses:SendEmail"],
    ...named("identity", domainOf(address)),
    ...named("configuration-set", mail.sesConfigurationSet),
  );
}

/** Secrets Manager ends a secret's ARN with a hyphen and six characters of its own. */
export function secretArnOf(scope: Construct, name: string): string;
export function secretArnOf(scope: Construct, name: string | undefined): string | undefined;
export function secretArnOf(scope: Construct, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  return Stack.of(scope).formatArn({
    service: "secretsmanager",
    resource: "secret",
    resourceName: `${name}-??????`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
}

/** The environment variables for the ports that a function uses. */
export function portEnvironment(uses: readonly ProviderName[], outside: Outside): Record<string, string> {
  const { paymentsSecretName, paymentsReturnUrl } = outside.payments;
  const variables: Record<ProviderName, Record<string, string | undefined>> = {
    secrets: { SECRETS_KEY_ID: outside.secretsKey.keyArn },
    payments: {
      PAYMENTS_SECRET_NAME: paymentsSecretName,
      PAYMENTS_RETURN_URL: paymentsReturnUrl,
    },
    files: { FILES_BUCKET: outside.files.bucketName },
    registrar: { REGISTRAR: outside.hosting.registrar },
    dns: {
      DNS_PROVIDER: outside.hosting.dns,
      DNS_DELEGATION_SET: outside.hosting.delegationSetId,
    },
    mail: sendingEnvironment(outside),
    mail_servers: {
      MAIL_SECRET_NAME: outside.mailServers.mailSecretName,
      MAIL_SMTP_RELAY: outside.mailServers.smtpRelay,
      MAIL_IMAP_SERVER: outside.mailServers.imapServer,
    },
  };
  return Object.fromEntries(
    uses
      .flatMap((port) => Object.entries(variables[port]))
      .filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function sendingEnvironment({ mail }: Outside): Record<string, string | undefined> {
  const { publicUrl, mailFrom, smtpSecretName, sesConfigurationSet } = mail;
  if (publicUrl === undefined) return {};
  return {
    MAIL_PROVIDER: smtpSecretName === undefined ? "ses" : "smtp",
    MAIL_FROM: mailFrom,
    SMTP_URL_SECRET_NAME: smtpSecretName,
    SES_CONFIGURATION_SET: sesConfigurationSet,
  };
}

/** Tells cdk-nag why a role of a function that uses some ports has a wildcard. */
export function acknowledgePorts(
  role: Role,
  uses: readonly ProviderName[],
  { hosting }: Pick<Outside, "hosting">,
): void {
  const acknowledge = (id: string, reason: string) => Validations.of(role).acknowledge({ id, reason });
  if (uses.includes("files")) {
    for (const kind of fileKinds) {
      acknowledge(
        `AwsSolutions-IAM5[Resource::<${filesBucketId}.Arn>/${kind}]`,
        "Every export is a file of its own, and which there are is known when they are made.",
      );
    }
  }
  if (!(["registrar", "dns"] as const).some((port) => uses.includes(port) && hosting[port] === "route53")) return;
  acknowledge(
    "AwsSolutions-IAM5[Resource::*]",
    "Route 53 Domains knows no resources, and hosted zones are made and named by Route 53 as domains come.",
  );
}
