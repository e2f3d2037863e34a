import { featureNames } from "../../shared/core/features.ts";
import type { Config } from "./config.ts";

/** A feature that a deployment has only with certain settings. docs/deploy.md has the same table. */
type FeatureRow = {
  name: string;
  /** The settings, secrets and names that the feature needs. */
  needs: string;
  isOn: (config: Config) => boolean;
  /** The effect on callers if the deployment does not have the feature. */
  without: string;
};

export const featureTable: readonly FeatureRow[] = [
  {
    name: "tokens",
    needs: "`issuers`",
    isOn: ({ hasNoIssuers }) => !hasNoIssuers,
    without: "401 `unauthenticated` for every token of a person",
  },
  {
    name: "payments",
    needs: "`paymentsSecretName`, its secret, and `publicUrl` or `domainName`",
    isOn: ({ paymentsSecretName }) => paymentsSecretName !== undefined,
    without: "409 `payments_unavailable` for top-ups and for saving a card",
  },
  {
    name: "mail",
    needs: "`publicUrl` or `domainName`, and either a verified identity in SES or `smtpSecretName`",
    isOn: ({ publicUrl }) => publicUrl !== undefined,
    without:
      "409 `mail_unavailable` for invitations and for forwarding to other people's addresses; no mails about events",
  },
  {
    name: "invitation page",
    needs: "`signIn` of an issuer, and everything that the feature mail needs",
    isOn: ({ issuers, publicUrl }) => publicUrl !== undefined && issuers.includes('"signIn"'),
    without: "the page of an invitation offers no sign-in. A program can still accept an invitation by the API",
  },
  {
    name: "mail servers",
    needs: "`mailSecretName` and its secret",
    isOn: ({ mailSecretName }) => mailSecretName !== undefined,
    without: "503 `mail_servers_unavailable` for mail servers, without an alarm",
  },
  {
    name: "registrar",
    needs: "`registrar` with another value than `none`",
    isOn: ({ registrar }) => registrar !== "none",
    without: "409 `registrar_unavailable` for searches, purchases, renewals and transfers of names",
  },
  {
    name: "dns",
    needs: "`dns` with another value than `none`",
    isOn: ({ dns }) => dns !== "none",
    without: "409 `dns_unavailable` for domains with `dns_mode` `hosted`; `dns_mode` `external` works",
  },
  {
    name: "web",
    needs: "`webHost` and `webAddresses`",
    isOn: ({ webHost, webAddresses }) => webHost !== undefined && webAddresses.length > 0,
    without: "409 `redirects_unavailable` for redirects. If `webHost` is missing, also for MTA-STS",
  },
  {
    name: "vat register",
    needs: '`vat` with `register: "vies"`',
    isOn: ({ vat }) => vat?.register === "vies",
    without:
      "only the form and the check digit of a VAT id are checked. A VAT id of another EU country that passes this check gets reverse charge, even if nobody has registered it. Without `vat`, no VAT is charged",
  },
  {
    name: "edge",
    needs: "`edge`, its secret and its certificate",
    isOn: ({ edge }) => edge !== undefined,
    without: "nothing. But floods of requests reach the API itself, and only the API's own limits stop them",
  },
  {
    name: "alarms",
    needs: "`alarmEmail`, or both `pageTarget` and `ticketTarget`",
    isOn: ({ alarmEmail, pageTarget, ticketTarget }) =>
      [pageTarget, ticketTarget].every((target) => (target ?? alarmEmail) !== undefined),
    without: "nothing. But alarms of a severity without a target notify nobody",
  },
];

/**
 * The value of `FEATURES_OFF`: the features that a deployment does not have. Leaves out the features about which the
 * functions need not know.
 */
export const featuresOff = (config: Config): string[] => {
  const off = new Set(featureTable.filter(({ isOn }) => !isOn(config)).map(({ name }) => name));
  return featureNames.filter((name) => off.has(name));
};

/**
 * The environment variables with the missing features, the prices and the VAT of a stage. The functions and the
 * operator's command use the same variables.
 */
export const featureAndPriceVariables = (
  config: Config,
): { FEATURES_OFF?: string; PLAN_PRICES?: string; VAT?: string } => ({
  ...(featuresOff(config).length === 0 ? {} : { FEATURES_OFF: featuresOff(config).join(",") }),
  ...(config.planPrices.length === 0 ? {} : { PLAN_PRICES: JSON.stringify(config.planPrices) }),
  ...(config.vat === undefined ? {} : { VAT: JSON.stringify(config.vat) }),
});

/** One line about each missing feature of a deployment. */
export const featureWarnings = (config: Config): string[] =>
  featureTable
    .filter(({ isOn }) => !isOn(config))
    .map(({ name, needs, without }) => `Off: ${name}. It needs ${needs}. Callers see: ${without}.`.replaceAll("`", ""));
