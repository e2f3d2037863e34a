import { isIP } from "node:net";

import * as z from "zod";

import { isPublicUnicast } from "../core/ip.ts";
import { canonicalAddress } from "../dns/reverse.ts";

/** How many addresses a host can have. The SPF record of each domain of the host lists all of these addresses. */
const addressLimit = 16;

/** An address of a host on the public internet, in its canonical spelling (RFC 5952 for IPv6). */
const PublicAddress = z
  .string()
  .trim()
  .max(60)
  .superRefine((text, context) => {
    const message = faultOf(text);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .overwrite((text) => (isPublicUnicast(text) ? canonicalAddress(text) : text));

function faultOf(text: string): string | undefined {
  if (isPublicUnicast(text)) return undefined;
  if (isIP(text) === 0 || text.includes("%"))
    return "Write one IPv4 or IPv6 address, such as 8.8.8.8, without a zone, port or prefix length";
  return "This is not the address of a host on the public internet";
}

/** The schema of the addresses of a customer's own host. It refuses duplicates. */
export const HostAddresses = z
  .array(PublicAddress)
  .min(1)
  .max(addressLimit)
  .superRefine((ips, context) => {
    ips.forEach((ip, index) => {
      if (ips.indexOf(ip) < index) {
        context.addIssue({ code: "custom", path: [index], message: "This address is in the list twice" });
      }
    });
  })
  .meta({
    description: `The host's addresses, 1 to ${addressLimit}, IPv4 and IPv6, on the public internet. Mail for the host goes to port 587 of the first address.`,
    examples: [["8.8.8.8", "2606:4700::1111"]],
  });
