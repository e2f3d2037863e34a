import type * as z from "zod";

import { Environment } from "../../../shared/core/environment.ts";
import { PlatformEnvironment } from "../../../shared/core/platform.ts";
import { PublicUrlEnvironment } from "../../../shared/core/product.ts";
import { ResolverEnvironment } from "../../../shared/dns/services.ts";
import { HealthEnvironment } from "../../../shared/domains/health/health.ts";
import { MtaStsEnvironment } from "../../../shared/domains/health/mta-sts.ts";
import { MailServersEnvironment } from "../../../shared/mail/servers/platform.ts";
import { DnsEnvironment } from "../../../shared/providers/dns/factory.ts";
import { FilesEnvironment } from "../../../shared/providers/files/factory.ts";
import { MailEnvironment } from "../../../shared/providers/mail/mail.ts";
import { MailSecretEnvironment } from "../../../shared/providers/mail/secret.ts";
import { readSmtpUrl } from "../../../shared/providers/mail/smtp-url.ts";
import { PaymentsEnvironment } from "../../../shared/providers/payments/factory.ts";
import { RegistrarEnvironment } from "../../../shared/providers/registrar/factory.ts";
import { SecretsEnvironment } from "../../../shared/providers/secrets/factory.ts";
import { PriceLists } from "../../../shared/wallet/catalogue.ts";
import { noRateMessage, VatSettings, withoutRate } from "../../../shared/wallet/vat.ts";
import { StartProblem, reasonOf } from "../command-line.ts";

/** The schemas with which the functions read their environment variables. */
const schemas: readonly z.ZodType[] = [
  Environment,
  PublicUrlEnvironment,
  PlatformEnvironment,
  DnsEnvironment,
  ResolverEnvironment,
  HealthEnvironment,
  MtaStsEnvironment,
  RegistrarEnvironment,
  PaymentsEnvironment,
  MailEnvironment,
  MailSecretEnvironment,
  MailServersEnvironment,
  FilesEnvironment,
  SecretsEnvironment,
];

/** Placeholders for the variables that the local product always sets itself. */
const ownValues = {
  TABLE_NAME: "local",
  ISSUERS: JSON.stringify([{ issuer: "local", audience: ["local"], jwks: { keys: [] }, algorithms: ["ES256"] }]),
};

/**
 * Describes an issue in a sentence. Shows the value only for a variable that allows a fixed set of words, because other
 * values may be secrets.
 */
function sentenceOf({ path: [name], message, ...issue }: z.core.$ZodIssue, value: string | undefined): string {
  // An issue without a name is about a rule for two variables. Its message names both variables.
  if (name === undefined) return `${message}.`;
  const variable = String(name);
  if (issue.code === "invalid_value") return `${variable} is "${value}". It must be ${oneOf(issue.values)}.`;
  if (issue.code === "too_small" && issue.origin === "string" && Number(issue.minimum) > 1) {
    return `${variable} is too short. It must have ${issue.minimum} characters or more.`;
  }
  if (value === "") return `${variable} is empty. Give it a value, or unset it.`;
  return `${variable} is not valid: ${message}.`;
}

function oneOf(values: readonly unknown[]): string {
  const words = values.map(String);
  const last = words.pop() ?? "";
  return words.length === 0 ? last : `${words.join(", ")} or ${last}`;
}

type Source = Record<string, string | undefined>;

function checkMailServer({ MAIL_PROVIDER, SMTP_URL, SMTP_URL_SECRET_NAME }: Source): void {
  if (MAIL_PROVIDER === "smtp" && SMTP_URL === undefined && SMTP_URL_SECRET_NAME === undefined) {
    throw new StartProblem(
      "MAIL_PROVIDER is smtp, but there is no SMTP server. Set its URL, such as SMTP_URL=smtp://127.0.0.1:1025.",
    );
  }
  try {
    if (SMTP_URL !== undefined) readSmtpUrl(SMTP_URL);
  } catch (reason) {
    throw new StartProblem(`SMTP_URL is not valid. ${reasonOf(reason)}`);
  }
}

/** The message of an issue, with its place in the value. */
const placed = ({ message, path }: z.core.$ZodIssue): string =>
  path.length === 0 ? message : `${message} (${path.join(".")})`;

function checkVat(text = ""): void {
  if (text === "") return;
  let settings: unknown;
  try {
    settings = JSON.parse(text);
  } catch {
    throw new StartProblem("VAT is not valid: Not JSON.");
  }
  const [issue] = VatSettings.safeParse(settings).error?.issues ?? [];
  if (issue !== undefined) throw new StartProblem(`VAT is not valid: ${placed(issue)}.`);
}

function checkPrices(text = "[]"): void {
  let lists: unknown;
  try {
    lists = JSON.parse(text);
  } catch {
    throw new StartProblem("PLAN_PRICES is not valid: Not JSON.");
  }
  const [issue] = PriceLists.safeParse(lists).error?.issues ?? [];
  if (issue !== undefined) throw new StartProblem(`PLAN_PRICES is not valid: ${placed(issue)}.`);
}

/** Checks that VAT has an exchange rate for each currency in PLAN_PRICES. Both variables must be valid. */
function checkRates({ PLAN_PRICES: prices, VAT: vat }: Source): void {
  const settings = vat ? VatSettings.parse(JSON.parse(vat)) : undefined;
  if (withoutRate(PriceLists.parse(JSON.parse(prices ?? "[]")), settings).length > 0)
    throw new StartProblem(noRateMessage);
}

/**
 * Checks the environment variables at the start. Without this check, requests would fail later. Throws a `StartProblem`
 * that names the invalid variables.
 */
export function checkEnvironment(source: Source): void {
  const complete = { ...source, ...ownValues };
  const issues = schemas.flatMap((schema) => schema.safeParse(complete).error?.issues ?? []);
  if (issues.length > 0) {
    const sentences = issues.map((issue) => sentenceOf(issue, source[String(issue.path[0])]));
    throw new StartProblem([...new Set(sentences)].join("\n"));
  }
  checkPrices(source["PLAN_PRICES"]);
  checkVat(source["VAT"]);
  checkRates(source);
  checkMailServer(source);
}
