import { createHash } from "node:crypto";

import * as z from "zod";

const hostName = z.string().regex(/^(?=.{4,200}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/, {
  error: "Not a lower-case host name",
});

/** Where this deployment hosts mail and DNS, in names that it has in its own zones. */
export const PlatformEnvironment = z.object({
  /** The zone of the nameservers that domains are delegated to: `<account>.ns1.<zone>` and `<account>.ns2.<zone>`. */
  NS_ZONE: hostName.default("dns.hosted-mail.example"),
  /** The zone of the mail hosts that the records of domains lead to. */
  MAIL_ZONE: hostName.default("hosted-mail.example"),
});

/** The names of this deployment's own hosts. Needs the environment when it is called, not at import. */
export function platform() {
  const { NS_ZONE, MAIL_ZONE } = PlatformEnvironment.parse(process.env);
  return {
    nsZone: NS_ZONE,
    mailZone: MAIL_ZONE,
    mx: [
      { priority: 10, host: `mx1.${MAIL_ZONE}` },
      { priority: 20, host: `mx2.${MAIL_ZONE}` },
    ],
    mailHost: `mail.${MAIL_ZONE}`,
    spfInclude: `_spf.${MAIL_ZONE}`,
    autoconfig: `autoconfig.${MAIL_ZONE}`,
    autodiscover: `autodiscover.${MAIL_ZONE}`,
    dmarcReports: `dmarc@${MAIL_ZONE}`,
  } as const;
}

/** Sixty bits of the account's id: no two accounts share nameservers, so that a delegation proves whose a name is. */
const shortId = (accountId: string): string =>
  BigInt(`0x${createHash("sha256").update(accountId).digest("hex").slice(0, 15)}`)
    .toString(36)
    .padStart(12, "0");

/** The pair of nameservers that an account's domains are delegated to. */
export const nameserversOf = (accountId: string): [string, string] => {
  const { nsZone } = platform();
  return [`${shortId(accountId)}.ns1.${nsZone}`, `${shortId(accountId)}.ns2.${nsZone}`];
};
