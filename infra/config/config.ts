import { Environment } from "../../shared/core/environment.ts";
import { noRateMessage, withoutRate } from "../../shared/wallet/vat.ts";
import { lambdas, workers } from "../entry-points.ts";
import { prettySettings, Settings } from "./settings.ts";

/** Thrown for invalid settings. The message is for the person who wrote the settings. */
export class BadConfig extends Error {}

/** The settings of a stack. */
export type Config = Settings & {
  issuers: string;
  /** True if no issuer is configured. The functions then refuse every access token. */
  hasNoIssuers: boolean;
};

/**
 * The issuers if the settings have no issuer. With these issuers every token is refused, because names below `.invalid`
 * never resolve (RFC 2606).
 */
const placeholderIssuers = JSON.stringify([
  {
    issuer: "https://issuer.invalid",
    audience: ["not-configured"],
    jwksUri: "https://issuer.invalid/.well-known/jwks.json",
    algorithms: ["RS256"],
  },
]);

/** The alias of a stage's key that seals secrets. */
export const sealingKeyAlias = (stage: string): string => `alias/hosted-mail/${stage}/sealing`;

/** The environment variable of a setting: `LOG_RETENTION_DAYS` for `logRetentionDays`. */
export const variableOf = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

type Context = (key: string) => unknown;
type Variables = Record<string, string | undefined>;

/**
 * Reads a setting from the CDK context (`-c stage=prod`). If the setting is not there, reads it from the environment
 * (`STAGE=prod`).
 */
export const settingFrom = (key: string, context: Context, env: Variables): unknown =>
  context(key) ?? (env[variableOf(key)] || undefined);

/**
 * Reads the settings of a deployment. A value in the CDK context comes first, then the environment, then the stage's
 * file. Throws `BadConfig`:
 * - for unknown settings in the stage's file,
 * - for malformed or contradictory settings,
 * - if no issuer is configured and the CDK CLI uses an AWS account.
 */
export function readConfig(context: Context, env: Variables, file: Record<string, unknown> = {}): Config {
  const unknown = Object.keys(file).filter((key) => key === "stage" || !Object.hasOwn(Settings.shape, key));
  if (unknown.length > 0) throw new BadConfig(`The stage's file has unknown settings: ${unknown.join(", ")}`);
  const all = Object.keys(Settings.shape).map((key) => [key, settingFrom(key, context, env) ?? file[key]]);
  const result = Settings.safeParse(Object.fromEntries(all));
  if (!result.success)
    throw new BadConfig(`Some settings of the deployment are missing or not valid:\n${prettySettings(result.error)}`);
  const settings = withPublicUrl(result.data);
  if (settings.issuers === undefined && env["CDK_DEFAULT_ACCOUNT"] !== undefined) {
    throw new BadConfig(
      "No token issuer is configured. List the issuers as `issuers` in the stage's file, or as JSON in ISSUERS. shared/core/environment.ts describes their members. To use the file of another stage, add -c stage=<name>: see docs/deploy.md.",
    );
  }
  const problem = problems.find(({ when }) => when(settings));
  if (problem) throw new BadConfig(problem.message);
  const unknownFunctions = Object.keys(settings.routeThrottles).filter((name) => !functionNames.has(name));
  if (unknownFunctions.length > 0) {
    throw new BadConfig(
      `routeThrottles has unknown functions: ${unknownFunctions.join(", ")}. A function has the name of its route.`,
    );
  }
  const unknownWorkers = Object.keys(settings.workerConcurrency).filter((name) => !workerNames.has(name));
  if (unknownWorkers.length > 0)
    throw new BadConfig(`workerConcurrency has unknown workers: ${unknownWorkers.join(", ")}.`);
  const issuers = settings.issuers ?? placeholderIssuers;
  // The functions check the issuers in the same way. This check finds a bad list before the deployment.
  const checked = Environment.pick({ ISSUERS: true }).safeParse({ ISSUERS: issuers });
  if (!checked.success) throw new BadConfig(`The issuers are not valid:\n${prettySettings(checked.error)}`);
  if (checked.data.ISSUERS.some(({ issuer }) => URL.parse(issuer)?.protocol === "http:")) {
    throw new BadConfig("Each issuer must be an https URL, because its keys decide which tokens are valid.");
  }
  return { ...settings, issuers, hasNoIssuers: settings.issuers === undefined };
}

/** Returns the settings with `publicUrl`. The default of `publicUrl` is `https://<domainName>`. */
const withPublicUrl = ({ publicUrl, ...settings }: Settings): Settings => {
  const { domainName } = settings;
  const url = publicUrl ?? (domainName === undefined ? undefined : `https://${domainName}`);
  return { ...settings, ...(url === undefined ? {} : { publicUrl: url }) };
};

const workerNames = new Set(workers.map(({ name }) => name));
const functionNames = new Set(lambdas.map(({ name }) => name));

/** The combinations of settings that are not allowed. Each message says how to correct the settings. */
const problems: readonly { when: (settings: Settings) => boolean; message: string }[] = [
  {
    // The settings must contain the API's address, because CloudFormation cannot give it to the functions: the
    // gateway has an address only once it is defined, and its definition needs the functions.
    when: ({ paymentsSecretName, publicUrl }) => paymentsSecretName !== undefined && publicUrl === undefined,
    message:
      "paymentsSecretName needs publicUrl (such as the output ApiUrl) or domainName, because the checkout leads back to the API.",
  },
  {
    when: ({ mailFrom, smtpSecretName, sesConfigurationSet, publicUrl }) =>
      publicUrl === undefined && [mailFrom, smtpSecretName, sesConfigurationSet].some((one) => one !== undefined),
    message:
      "mailFrom, smtpSecretName and sesConfigurationSet need publicUrl or domainName, because the links in mails lead to the API.",
  },
  {
    when: ({ planPrices, vat }) => withoutRate(planPrices, vat).length > 0,
    message: noRateMessage,
  },
  {
    when: ({ vat }) => vat?.register === "embedded",
    message:
      "vat.register must be vies or none. The embedded register of VAT ids is for tests: it accepts invented ids.",
  },
  {
    when: ({ smtpSecretName, sesConfigurationSet }) =>
      smtpSecretName !== undefined && sesConfigurationSet !== undefined,
    message: "Give either sesConfigurationSet or smtpSecretName, because mail is sent by SES or by SMTP.",
  },
  {
    when: ({ domainName, certificateArn }) => (domainName === undefined) !== (certificateArn === undefined),
    message: "Give both domainName and certificateArn, or neither, because a domain name needs a certificate.",
  },
  {
    when: ({ domainName, hostedZoneId, edge }) => domainName === undefined && (hostedZoneId ?? edge) !== undefined,
    message: "hostedZoneId and edge need domainName.",
  },
  {
    when: ({ domainName, edge }) => edge !== undefined && edge.originDomainName === domainName,
    message: "edge.originDomainName must not be domainName, because CloudFront has that name.",
  },
  {
    when: ({ domainName, publicUrl }) => domainName !== undefined && new URL(publicUrl ?? "").host !== domainName,
    message: "Leave publicUrl out if you give domainName, because the API then has only the name domainName.",
  },
  {
    when: ({ monthlyBudgetUsd, costAnomalyUsd, ticketTarget, alarmEmail }) =>
      (monthlyBudgetUsd ?? costAnomalyUsd) !== undefined && (ticketTarget ?? alarmEmail) === undefined,
    message: "monthlyBudgetUsd and costAnomalyUsd need ticketTarget or alarmEmail, because somebody has to be warned.",
  },
  {
    when: ({ mailSecretName, mailSecretRotationDays }) =>
      mailSecretRotationDays !== undefined && mailSecretName === undefined,
    message: "mailSecretRotationDays needs mailSecretName.",
  },
  {
    when: ({ webHost, webAddresses }) => webHost === undefined && webAddresses.length > 0,
    message: "webAddresses needs webHost, because a domain that redirects gets DNS records with both values.",
  },
];
