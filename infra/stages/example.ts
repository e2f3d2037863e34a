import type { StageSettings } from "../config/settings.ts";
import { standardVatRates } from "../config/vat-rates.ts";

/**
 * A production stage with every setting, except three: `readOnly` is for incidents, `restoredTable` is for a restored
 * table, and `smtpSecretName` would replace SES.
 * - Copy this file to `<your stage>.ts`.
 * - Remove the settings that you do not need.
 * - Enter your own names.
 *
 * docs/deploy.md describes each setting, and lists the secrets that must exist first.
 */
export const settings: StageSettings = {
  issuers: [
    {
      issuer: "https://id.example.com",
      audience: ["hosted-mail-api"],
      jwksUri: "https://id.example.com/.well-known/jwks.json",
      algorithms: ["RS256"],
      primary: true,
    },
  ],
  allowedOrigins: ["https://app.example.com"],
  returnOrigins: ["https://app.example.com"],

  domainName: "api.example.com",
  certificateArn: "arn:aws:acm:eu-west-1:123456789012:certificate/00000000-0000-0000-0000-000000000000",
  hostedZoneId: "Z0123456789ABCDEFGHIJ",
  publicUrl: "https://api.example.com",
  edge: {
    originDomainName: "origin.api.example.com",
    certificateArn: "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-0000-0000-000000000000",
    secretName: "hosted-mail/example/origin",
    secretKey: "first",
    requestsPer5Minutes: 10_000,
    requestsPerTokenPer5Minutes: 10_000,
  },

  backup: {
    keepDays: 35,
    lock: "compliance",
    lockDays: 7,
    copyTo: [
      "arn:aws:backup:eu-central-1:123456789012:backup-vault:hosted-mail",
      "arn:aws:backup:eu-west-1:210987654321:backup-vault:hosted-mail",
    ],
  },
  formerSecretsKeyArns: ["arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-0000-0000-000000000000"],

  logLevel: "info",
  logRetentionDays: 90,
  trace: false,
  canary: false,
  alarmEmail: "ops@example.com",
  pageTarget: "https://events.pager.example/integration/hosted-mail",
  ticketTarget: "tickets@example.com",
  latencyAlarmMs: 2_000,
  monthlyBudgetUsd: 500,
  costAnomalyUsd: 50,
  throttleRatePerSecond: 500,
  throttleBurst: 1_000,
  workerConcurrency: { "workers.dispatch_event": 200, "workers.send_notices": 20 },
  routeThrottles: { docs: { ratePerSecond: 50, burst: 100 } },

  registrar: "route53",
  dns: "route53",
  nsZone: "dns.example.net",
  mailZone: "mail.example.net",
  delegationSetId: "N1PA6795SAMPLE",
  webHost: "web.example.net",
  webAddresses: ["192.0.2.80", "2001:db8::80"],
  blocklistZones: ["dbl.example.org"],

  planPrices: [
    {
      from: "2027-01-01",
      plans: {
        per_mailbox: { minimum: 600, mailbox: 350, dedicatedIp: 2_500, sentMails: 0 },
        per_dedicated_ip: { minimum: 0, mailbox: 0, dedicatedIp: 9_900, sentMails: 40 },
      },
    },
  ],
  paymentsSecretName: "hosted-mail/example/stripe",
  paymentsReturnUrl: "https://app.example.com/wallet",

  mailFrom: "Example Mail <no-reply@mail.example.net>",
  sesConfigurationSet: "hosted-mail-example",
  mailSecretName: "hosted-mail/example/mail-servers",
  mailSecretRotationDays: 90,
  smtpRelay: "10.0.0.5:25",
  imapServer: "10.0.0.6:143",
  popServer: "10.0.0.6:110",
  mailLoginWaitSeconds: 3,

  vat: {
    seller_country: "IE",
    seller_vat_id: "IE6433435F",
    rates: standardVatRates,
    register: "vies",
  },
};
