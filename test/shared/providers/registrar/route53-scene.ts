import type { Registrar } from "../../../../shared/providers/registrar/registrar.ts";
import { route53Registrar, type Route53RegistrarOptions } from "../../../../shared/providers/registrar/route53.ts";
import { contact } from "../../../support/contact.ts";
import { startDomains, type DomainsService } from "../domains-service.ts";
import { timeoutFor, type Fault } from "../loopback.ts";

export const name = "example.com";
export const input = { name, contact: { ...contact, organization: "" } };
export const since = new Date("2026-01-02T03:04:05Z");

type Scene = DomainsService & { registrar: Registrar };

/** The registrar `route53`, with a service of its own. The first requests have these faults, one for each request. */
export async function scene(troubles: Fault[] = [], options: Route53RegistrarOptions = {}): Promise<Scene> {
  const service = await startDomains(...troubles);
  return {
    ...service,
    registrar: route53Registrar({ endpoint: service.url, timeoutMs: timeoutFor(troubles), ...options }),
  };
}

/** The names of the calls to the service. */
export const callsOf = ({ recorded }: Scene): string[] =>
  recorded.map(({ headers }) => String(headers["x-amz-target"]).replace("Route53Domains_v20140515.", ""));
/** The body of the call with this index. */
export const bodyOf = ({ recorded }: Scene, index: number): unknown => JSON.parse(recorded.at(index)?.body ?? "null");

export const unavailable = { code: "upstream_unavailable", status: 503, extras: { retry_after: 10 } };
