import { clock } from "../../core/time.ts";
import { resolverHere } from "../../dns/services.ts";
import { tableHere, workerContext } from "../../http/worker.ts";
import type { Dns } from "../../providers/dns/dns.ts";
import { dns } from "../../providers/dns/factory.ts";
import { registrar } from "../../providers/registrar/factory.ts";
import type { Registrar } from "../../providers/registrar/registrar.ts";
import { secretsHere } from "../../providers/secrets/factory.ts";
import type { DomainWork } from "./work.ts";

/** The registrar of this process. Reads the environment when it is called, not at import. */
export const registrarHere = (): Registrar => registrar(tableHere(), clock);

/** The DNS hosting of this process. Reads the environment when it is called, not at import. */
export const dnsHere = (): Dns => dns(tableHere());

/** The services of a domain worker in this process. Reads the environment when it is called, not at import. */
export function domainWork(worker: string): DomainWork {
  const context = workerContext(worker);
  return {
    ...context,
    dns: dns(context.table),
    registrar: registrar(context.table, context.now),
    secrets: secretsHere(),
    resolver: resolverHere(),
  };
}
