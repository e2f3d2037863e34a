import { ArnFormat, Stack, Validations } from "aws-cdk-lib";
import { PolicyDocument, PolicyStatement, type Role } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Bucket } from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";

import type { ProviderName } from "../../../shared/http/route.ts";
import { MailSender, domainOf, senderIn } from "../../../shared/providers/mail/mail.ts";
import type { Config } from "../../config/config.ts";
import { filesBucketId } from "./storage.ts";

/** A policy that allows actions on some resources. */
export const allow = (actions: readonly string[], ...resources: string[]): PolicyDocument =>
  new PolicyDocument({ statements: [new PolicyStatement({ actions: [...actions], resources })] });

/** The encryption key, the bucket and the configuration of a stack. */
export type ProviderResources = { secretsKey: IKey; files: Bucket; config: Config };

/** Whether a function handles requests or is a worker. */
export type Side = "request" | "worker";

/** The properties of a function that decide its rights on its providers. */
type Use = { side: Side; opensOnly: boolean };

/** The actions that only a worker needs: they spend money, or move a name to other nameservers. */
const payingActions = ["RegisterDomain", "RenewDomain", "TransferDomain", "UpdateDomainNameservers"];

const registrarActions = [
  "CheckDomainAvailability",
  "CheckDomainTransferability",
  "DeleteDomain",
  "DisableDomainAutoRenew",
  "DisableDomainTransferLock",
  "EnableDomainTransferLock",
  "GetDomainDetail",
  "GetOperationDetail",
  "ListOperations",
  "ListPrices",
  "RetrieveDomainAuthCode",
  "UpdateDomainContact",
  "UpdateDomainContactPrivacy",
];

const registrarActionsOf = (side: Side): string[] =>
  [...registrarActions, ...(side === "worker" ? payingActions : [])].toSorted().map((name) => `route53domains:${name}`);

const zoneActions = [
  "ChangeResourceRecordSets",
  "CreateHostedZone",
  "DeleteHostedZone",
  "GetChange",
  "ListHostedZonesByName",
  "ListResourceRecordSets",
].map((name) => `route53:${name}`);

export const readSecret = ["secretsmanager:GetSecretValue"];

/** Patterns for the keys of the files in the bucket, one for each kind of file. */
const fileKinds = ["exports/*"];

/** The rights and variables that a function gets for a provider. */
type Grant = {
  /** The function's rights in AWS. Undefined if the function needs no rights. */
  policy: (provided: ProviderResources, use: Use) => PolicyDocument | undefined;
  /** The function's environment variables. An undefined variable is left out. */
  environment: (provided: ProviderResources) => Record<string, string | undefined>;
};

/**
 * The grant for each provider.
 * - `secrets`: a function seals and opens secrets, or only opens secrets.
 * - `files`: a function for requests signs the URLs of files, and a worker writes files.
 * - `registrar`: only a worker registers, renews and transfers names, and sets nameservers.
 */
const grants: Record<ProviderName, Grant> = {
  secrets: {
    policy: ({ secretsKey, config }, { opensOnly }) =>
      secretsPolicy(secretsKey, config.formerSecretsKeyArns, opensOnly),
    environment: ({ secretsKey }) => ({ SECRETS_KEY_ID: secretsKey.keyArn }),
  },
  payments: {
    policy: ({ files, config }) => secretPolicy(files, config.paymentsSecretName),
    environment: ({ config }) => ({
      PAYMENTS_SECRET_NAME: config.paymentsSecretName,
      PAYMENTS_RETURN_URL: config.paymentsReturnUrl,
    }),
  },
  files: {
    policy: ({ files }, { side }) =>
      allow(
        side === "request" ? ["s3:GetObject"] : ["s3:AbortMultipartUpload", "s3:PutObject"],
        ...fileKinds.map((kind) => files.arnForObjects(kind)),
      ),
    environment: ({ files }) => ({ FILES_BUCKET: files.bucketName }),
  },
  registrar: {
    policy: ({ config }, { side }) =>
      config.registrar === "route53" ? allow(registrarActionsOf(side), "*") : undefined,
    environment: ({ config }) => ({ REGISTRAR: config.registrar === "none" ? undefined : config.registrar }),
  },
  dns: {
    policy: ({ config }) => (config.dns === "route53" ? allow(zoneActions, "*") : undefined),
    environment: ({ config }) => ({
      DNS_PROVIDER: config.dns === "none" ? undefined : config.dns,
      DNS_DELEGATION_SET: config.delegationSetId,
    }),
  },
  mail: { policy: sendingPolicy, environment: sendingEnvironment },
  mail_servers: {
    policy: ({ files, config }) => secretPolicy(files, config.mailSecretName),
    environment: ({ config }) => ({
      MAIL_SECRET_NAME: config.mailSecretName,
      MAIL_SMTP_RELAY: config.smtpRelay,
      MAIL_IMAP_SERVER: config.imapServer,
      MAIL_POP_SERVER: config.popServer,
      MAIL_LOGIN_WAIT: config.mailLoginWaitSeconds?.toString(),
    }),
  },
};

/** The policies for the providers that a function uses, by the policy's name. */
export const providerPolicies = (
  use: Use,
  uses: readonly ProviderName[],
  provided: ProviderResources,
): Record<string, PolicyDocument> =>
  Object.fromEntries(
    uses
      .map((name) => [name, grants[name].policy(provided, use)] as const)
      .filter((entry): entry is [ProviderName, PolicyDocument] => entry[1] !== undefined),
  );

/** The environment variables for the providers that a function uses. */
export const providerEnvironment = (
  uses: readonly ProviderName[],
  provided: ProviderResources,
): Record<string, string> =>
  Object.fromEntries(
    uses
      .flatMap((name) => Object.entries(grants[name].environment(provided)))
      .filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

/**
 * Allows opening secrets that the key of the stack or a former key sealed. Unless `opensOnly`, also allows sealing with
 * the key of the stack.
 */
function secretsPolicy({ keyArn }: IKey, formerKeyArns: readonly string[], opensOnly: boolean): PolicyDocument {
  const policy = allow(["kms:Decrypt", ...(opensOnly ? [] : ["kms:Encrypt"])], keyArn);
  const former = new PolicyStatement({ actions: ["kms:Decrypt"], resources: [...formerKeyArns] });
  if (formerKeyArns.length > 0) policy.addStatements(former);
  return policy;
}

/** Allows reading the secret `name`. `scope` can be any construct of the stack. Returns undefined without a name. */
function secretPolicy(scope: Construct, name: string | undefined): PolicyDocument | undefined {
  const secret = secretArnOf(scope, name);
  return secret === undefined ? undefined : allow(readSecret, secret);
}

/**
 * Allows sending mail by SES under the sender's domain. If an SMTP server sends the mail, allows reading the secret
 * with the server's URL instead. Returns undefined without `publicUrl`: mail contains links to the API, so no mail is
 * sent without the API's address.
 */
function sendingPolicy({ files, config }: ProviderResources): PolicyDocument | undefined {
  const { publicUrl, mailFrom, mailZone, smtpSecretName, sesConfigurationSet } = config;
  if (publicUrl === undefined) return undefined;
  if (smtpSecretName !== undefined) return secretPolicy(files, smtpSecretName);
  const { address } = mailFrom === undefined ? senderIn(mailZone) : MailSender.parse(mailFrom);
  const named = (resource: string, resourceName: string | undefined): string[] =>
    resourceName === undefined ? [] : [Stack.of(files).formatArn({ service: "ses", resource, resourceName })];
  return allow(
    ["ses:SendEmail"],
    ...named("identity", domainOf(address)),
    ...named("configuration-set", sesConfigurationSet),
  );
}

/**
 * A pattern for the ARN of a secret. Secrets Manager adds a hyphen and six characters of its own to the name. `scope`
 * can be any construct of the stack.
 */
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

function sendingEnvironment({ config }: ProviderResources): Record<string, string | undefined> {
  const { publicUrl, mailFrom, smtpSecretName, sesConfigurationSet } = config;
  if (publicUrl === undefined) return {};
  return {
    MAIL_PROVIDER: smtpSecretName === undefined ? "ses" : "smtp",
    MAIL_FROM: mailFrom,
    SMTP_URL_SECRET_NAME: smtpSecretName,
    SES_CONFIGURATION_SET: sesConfigurationSet,
  };
}

/** Tells cdk-nag why the providers `uses` need wildcards in the policies of a role. */
export function acknowledgeProviders(role: Role, uses: readonly ProviderName[], { config }: ProviderResources): void {
  const acknowledge = (id: string, reason: string) => Validations.of(role).acknowledge({ id, reason });
  if (uses.includes("files")) {
    for (const kind of fileKinds) {
      acknowledge(
        `AwsSolutions-IAM5[Resource::<${filesBucketId}.Arn>/${kind}]`,
        "Every export is a file of its own. The name of the file is known only when the export is made.",
      );
    }
  }
  const usesRoute53 = (["registrar", "dns"] as const).some(
    (provider) => uses.includes(provider) && config[provider] === "route53",
  );
  if (!usesRoute53) return;
  acknowledge(
    "AwsSolutions-IAM5[Resource::*]",
    "Route 53 Domains has no resources in IAM. Hosted zones are created at run time, and Route 53 chooses their ids.",
  );
}
