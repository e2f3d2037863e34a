import type { Reader } from "../table/table.ts";
import type { StoredDomain } from "./domain.ts";
import { domainById } from "./find.ts";
import { readHolders } from "./holder.ts";

/**
 * The labels in front of a domain's name. The product answers HTTP at each of these host names. The empty label stands
 * for the domain's name itself.
 */
const siteLabels = ["", "www", "mta-sts", "autoconfig", "autodiscover"] as const;
type SiteLabel = (typeof siteLabels)[number];

/** The domain that a host name belongs to, and the label in front of the domain's name; empty if there is none. */
export type Site = { domain: StoredDomain; label: SiteLabel };

/**
 * The domains that a host name belongs to, among all accounts. The domain with this name is the first result. If the
 * first label is one of `siteLabels`, the next result is the domain whose name is the rest of the host name. `host` is
 * in lower-case A-labels without a final dot.
 */
export async function sitesOf(table: Reader, host: string): Promise<Site[]> {
  const [first = "", ...rest] = host.split(".");
  const label = siteLabels.find((siteLabel) => siteLabel === first);
  const places = [
    { name: host, label: "" as const },
    ...(label === undefined || rest.length < 2 ? [] : [{ name: rest.join("."), label }]),
  ];
  const holders = await readHolders(
    table,
    places.map(({ name }) => name),
  );
  const domains = await Promise.all(
    holders.map(async (holder) => holder && domainById(table, holder.account_id, holder.domain_id)),
  );
  return places.flatMap(({ name, label: at }, index) => {
    const domain = domains[index];
    return domain?.name === name ? [{ domain, label: at }] : [];
  });
}
