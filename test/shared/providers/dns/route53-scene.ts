import type { RRset } from "../../../../shared/dns/rrset.ts";
import type { Dns } from "../../../../shared/providers/dns/dns.ts";
import { route53Dns, type Route53Options } from "../../../../shared/providers/dns/route53.ts";
import { a } from "../../../support/dns-network.ts";
import { timeoutFor } from "../loopback.ts";
import { startRoute53, type Route53Service, type Trouble } from "../route53-service.ts";

export const input = {
  name: "example.com",
  reference: "domain-1",
  nameservers: ["a.ns1.example.net", "a.ns2.example.net"],
};

export type Scene = Route53Service & { dns: Dns };

/** The provider `route53`, with a service of its own. The first requests have these faults, one for each request. */
export async function scene(troubles: Trouble[] = [], options: Route53Options = {}): Promise<Scene> {
  const service = await startRoute53(...troubles);
  return { ...service, dns: route53Dns({ endpoint: service.url, timeoutMs: timeoutFor(troubles), ...options }) };
}

/** A zone of example.com with these RRsets. */
export async function zoneScene(...rrsets: RRset[]): Promise<Scene & { zoneId: string }> {
  const made = await scene();
  const { zoneId } = await made.dns.createZone(input);
  if (rrsets.length > 0)
    await made.dns.changeZone(
      zoneId,
      rrsets.map((put) => ({ put })),
    );
  made.recorded.length = 0;
  return { ...made, zoneId };
}

/** `count` RRsets of example.com. */
export const many = (count: number): RRset[] =>
  Array.from({ length: count }, (_, n) => a(`h${n}.example.com`, "192.0.2.1"));

/** `<type> <name>` of the RRsets of a zone. */
export const namesIn = ({ zones }: Scene, zoneId: string): string[] =>
  (zones.get(zoneId)?.sets ?? []).map(({ name, type }) => `${type} ${name}`);
/** The requests to the service, as `<method> <path>`. */
export const callsOf = ({ recorded }: Scene): string[] =>
  recorded.map(({ method, path }) => `${method} ${path.replace("/2013-04-01/", "").replace(/\?.*/, "")}`);

export const unavailable = { code: "upstream_unavailable", status: 503, extras: { retry_after: 5 } };
