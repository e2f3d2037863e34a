import * as z from "zod";

import type { Table } from "../../table/table.ts";
import { lacking, lazy } from "../lazy.ts";
import type { Registrar } from "./registrar.ts";

/** The methods of the provider, for `lazy`. */
const calls = {
  tlds: true,
  offer: true,
  fees: true,
  register: true,
  renew: true,
  transferOffer: true,
  transfer: true,
  operation: true,
  findOperation: true,
  registration: true,
  setNameservers: true,
  setLock: true,
  setPrivacy: true,
  contact: true,
  setContact: true,
  authCode: true,
  stopAutoRenew: true,
  release: true,
} as const;

/**
 * The registrar that the environment configures. The embedded registrar uses the table and the clock. Open the
 * registrar once per process, because it keeps a client open. If no registrar is configured, every call throws 409
 * `registrar_unavailable`.
 */
export function registrarOf({ REGISTRAR }: RegistrarEnvironment): (table: Table, now: () => Date) => Registrar {
  if (REGISTRAR === "embedded") {
    return (table, now) =>
      lazy<Registrar>(calls, async () => (await import("./embedded.ts")).embeddedRegistrar(table, now));
  }
  if (REGISTRAR === undefined) return () => lazy<Registrar>(calls, lacking("registrar"));
  let made: Registrar | undefined;
  const route53 = lazy<Registrar>(calls, async () => {
    const { route53Registrar } = await import("./route53.ts");
    return (made ??= route53Registrar());
  });
  return () => route53;
}

let ofProcess: ReturnType<typeof registrarOf> | undefined;

/** The registrar of this process. Reads the environment at the first call, not at import. */
export function registrar(table: Table, now: () => Date): Registrar {
  ofProcess ??= registrarOf(RegistrarEnvironment.parse(process.env));
  return ofProcess(table, now);
}

export const RegistrarEnvironment = z.object({ REGISTRAR: z.enum(["route53", "embedded"]).optional() });

export type RegistrarEnvironment = z.output<typeof RegistrarEnvironment>;
