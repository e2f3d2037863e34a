import { hash } from "node:crypto";
import { isIP } from "node:net";

import * as z from "zod";

const hostName = z.string().regex(/^(?=.{4,200}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/, {
  error: "Not a lower-case host name",
});

/** The settings for the names and addresses of this deployment's own hosts. */
export const PlatformEnvironment = z.object({
  /** The zone of the nameservers to which domains are delegated: `<account>.ns1.<zone>` and `<account>.ns2.<zone>`. */
  NS_ZONE: hostName.default("dns.hosted-mail.example"),
  /** The zone of the mail hosts to which the records of domains point. */
  MAIL_ZONE: hostName.default("hosted-mail.example"),
  /**
   * The host on which the function `web` answers HTTP and HTTPS for domains. CNAME records of domains point to this
   * host. Without WEB_HOST no domain can redirect or have MTA-STS.
   */
  WEB_HOST: hostName.optional(),
  /**
   * The addresses of WEB_HOST, separated by commas, for the A and AAAA records of domains that redirect. Without
   * WEB_ADDRESSES no domain can redirect.
   */
  WEB_ADDRESSES: z
    .string()
    .default("")
    .transform((text) => text.split(",").filter((part) => part !== ""))
    .refine((addresses) => addresses.every((address) => isIP(address) > 0), { error: "Not a list of IP addresses" }),
});

/** The names of this deployment's own hosts. Reads the environment when it is called, not at import. */
export function platform() {
  const { NS_ZONE, MAIL_ZONE, WEB_HOST, WEB_ADDRESSES } = PlatformEnvironment.parse(process.env);
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
    webHost: WEB_HOST,
    webAddresses: WEB_ADDRESSES,
  } as const;
}

/**
 * Sixty bits of the hash of the account's id, in base 36. Every account has nameservers of its own, so that the
 * delegation of a domain proves to which account the domain belongs.
 */
const shortId = (accountId: string): string =>
  BigInt(`0x${hash("sha256", accountId).slice(0, 15)}`)
    .toString(36)
    .padStart(12, "0");

/** The two nameservers to which an account's domains are delegated. */
export const nameserversOf = (accountId: string): [string, string] => {
  const { nsZone } = platform();
  return [`${shortId(accountId)}.ns1.${nsZone}`, `${shortId(accountId)}.ns2.${nsZone}`];
};
