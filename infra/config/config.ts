import { readEnvironment } from "../../shared/core/environment.ts";
import { lambdas } from "../entry-points.ts";
import { prettySettings, Settings } from "./settings.ts";

/** Thrown for settings from which no stage can be made; the message is for their author. */
export class BadConfig extends Error {}

/** The settings of a stack. */
export type Config = Settings & {
  issuers: string;
  /** Whether no issuer is configured, so that every token is refused. */
  isNobodys: boolean;
};

/** Refuses every token, as `.invalid` resolves nowhere (RFC 2606), so that a synthesis needs no identity provider. */
const placeholderIssuers = JSON.stringify([
  {
    issuer: "https://issuer.invalid",
    audience: ["not-configured"],
    jwksUri: "https://issuer.invalid/.well-known/jwks.json",
    algorithms: ["RS256"],
  },
]);

/** The environment variable of a setting: `LOG_RETENTION_DAYS` for `logRetentionDays`. */
export const variableOf = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

type Context = (key: string) => unknown;
type Variables = Record<string, string | undefined>;

/** A setting from CDK context (`-c stage=prod`), or else from the environment (`STAGE=prod`). */
export const given = (key: string, context: Context, env: Variables): unknown =>
  context(key) ?? (env[variableOf(key)] || undefined);

/**
 * Reads a deployment's settings: from CDK context, else from the environment, else from the stage's own file. Throws an
 * error that lists every malformed setting, and throws when the CDK CLI uses an AWS account but no issuer is
 * configured.
 */
export function readConfig(context: Context, env: Variables, file: Record<string, unknown> = {}): Config {
  const unknown = Object.keys(file).filter((key) => key === "stage" || !Object.hasOwn(Settings.shape, key));
  if (unknown.length > 0)
    throw new BadConfig(`The stage's file has settings that there are not: ${unknown.join(", ")}`);
  const all = Object.keys(Settings.shape).map((key) => [key, given(key, context, env) ?? file[key]]);
  const result = Settings.safeParse(Object.fromEntries(all));
  if (!result.success) throw new BadConfig(`The deployment is not configured:\n${prettySettings(result.error)}`);
  const settings = withPublicUrl(result.data);
  if (settings.issuers === undefined && env["CDK_DEFAULT_ACCOUNT"] !== undefined) {
    throw new BadConfig(
      "No token issuer is configured: list them as `issuers` in the stage's file, or in ISSUERS as JSON. shared/core/environment.ts describes them. A file of your own is picked by -c stage=<name>: docs/deploy.md.",
    );
  }
  const problem = problems.find(({ when }) => when(settings));
  if (problem) throw new BadConfig(problem.says);
  const misspelt = Object.keys(settings.routeThrottles).filter((name) => !functionNames.has(name));
  if (misspelt.length > 0) {
    throw new BadConfig(
      `routeThrottles names what is no function: ${misspelt.join(", ")}. Functions are called as their routes.`,
    );
  }
  const issuers = settings.issuers ?? placeholderIssuers;
  // Checks the issuers as the functions do, so that a bad list fails before the deployment.
  readEnvironment({ TABLE_NAME: "named-by-cloudformation", ISSUERS: issuers });
  return { ...settings, issuers, isNobodys: settings.issuers === undefined };
}

/** By default the public URL is the customers' domain name. */
const withPublicUrl = ({ publicUrl, ...settings }: Settings): Settings => {
  const { domainName } = settings;
  const url = publicUrl ?? (domainName === undefined ? undefined : `https://${domainName}`);
  return { ...settings, ...(url === undefined ? {} : { publicUrl: url }) };
};

const functionNames = new Set(lambdas.map(({ name }) => name));

/** Combinations of settings that are not possible. */
const problems: readonly { when: (settings: Settings) => boolean; says: string }[] = [
  {
    // The gateway's definition names the functions, so CloudFormation cannot tell them the gateway's address.
    when: ({ paymentsSecretName, publicUrl }) => paymentsSecretName !== undefined && publicUrl === undefined,
    says: "Payers come back to the API: paymentsSecretName needs publicUrl, such as the output ApiUrl, or domainName.",
  },
  {
    when: ({ mailFrom, smtpSecretName, sesConfigurationSet, publicUrl }) =>
      publicUrl === undefined && [mailFrom, smtpSecretName, sesConfigurationSet].some((one) => one !== undefined),
    says: "Mail leads to the API: mailFrom, smtpSecretName and sesConfigurationSet need publicUrl or domainName.",
  },
  {
    when: ({ smtpSecretName, sesConfigurationSet }) =>
      smtpSecretName !== undefined && sesConfigurationSet !== undefined,
    says: "Mail goes out by SES or by SMTP: give either sesConfigurationSet or smtpSecretName.",
  },
  {
    when: ({ domainName, certificateArn }) => (domainName === undefined) !== (certificateArn === undefined),
    says: "A name needs a certificate: give both domainName and certificateArn, or neither.",
  },
  {
    when: ({ domainName, hostedZoneId, edge }) => domainName === undefined && (hostedZoneId ?? edge) !== undefined,
    says: "hostedZoneId and edge are about domainName, which is missing.",
  },
  {
    when: ({ domainName, edge }) => edge !== undefined && edge.originDomainName === domainName,
    says: "CloudFront has domainName, so edge.originDomainName has to be another name.",
  },
  {
    when: ({ domainName, publicUrl }) => domainName !== undefined && new URL(publicUrl ?? "").host !== domainName,
    says: "With domainName the API is reached by no other name: leave publicUrl out.",
  },
  {
    when: ({ issuers = "[]" }) => issuers.includes('"issuer":"http:'),
    says: "An issuer is an https URL: its keys decide who is let in.",
  },
];
