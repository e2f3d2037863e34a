import { createLog } from "../../core/log.ts";
import { clock } from "../../core/time.ts";
import { resolverHere } from "../../dns/services.ts";
import { runtime } from "../../http/runtime.ts";
import type { Dns } from "../../providers/dns/dns.ts";
import { dns } from "../../providers/dns/factory.ts";
import { registrar } from "../../providers/registrar/factory.ts";
import type { Registrar } from "../../providers/registrar/registrar.ts";
import { secretsHere } from "../../providers/secrets/factory.ts";
import { openTable, type Table } from "../../table/table.ts";
import type { DomainWork } from "./work.ts";

function tableHere(): Table {
  const { env, client } = runtime();
  return openTable(client, env.TABLE_NAME);
}

/** The registrar of this process. Reads the environment when it is called, not at import. */
export const registrarHere = (): Registrar => registrar(tableHere(), clock);

/** The DNS hosting of this process. Reads the environment when it is called, not at import. */
export const dnsHere = (): Dns => dns(tableHere());

/** The services of a domain worker in this process. Reads the environment when it is called, not at import. */
export function domainWork(worker: string): DomainWork {
  const { env } = runtime();
  const table = tableHere();
  return {
    table,
    now: clock,
    log: createLog(env.LOG_LEVEL, { worker }, env.LOG_FORMAT),
    dns: dns(table),
    registrar: registrar(table, clock),
    secrets: secretsHere(),
    resolver: resolverHere(),
  };
}
