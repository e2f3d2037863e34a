import * as z from "zod";

import type { Table } from "../../table/table.ts";
import { lazy, unconfigured } from "../lazy.ts";
import type { Registrar } from "./registrar.ts";

const calls = {
  tlds: true,
  offer: true,
  register: true,
  operation: true,
  findOperation: true,
  registration: true,
  setNameservers: true,
  setAutoRenew: true,
  release: true,
} as const;

const missing = "There is nobody to register names with: set REGISTRAR to route53 or embedded.";

/**
 * The registrar of an environment, over the table and the clock of the embedded one; make it once for each process, as
 * it keeps a client. Without a registrar in the environment its first use throws, not this.
 */
export function registrarOf({ REGISTRAR }: RegistrarEnvironment): (table: Table, now: () => Date) => Registrar {
  if (REGISTRAR === "embedded") {
    return (table, now) =>
      lazy<Registrar>(calls, async () => (await import("./embedded.ts")).embeddedRegistrar(table, now));
  }
  if (REGISTRAR === undefined) return () => lazy<Registrar>(calls, unconfigured(missing));
  let made: Registrar | undefined;
  const route53 = lazy<Registrar>(calls, async () => {
    const { route53Registrar } = await import("./route53.ts");
    return (made ??= route53Registrar());
  });
  return () => route53;
}

let ofProcess: ReturnType<typeof registrarOf> | undefined;

/** The registrar of this process, from its environment, which it needs from the first call on, not at import. */
export function registrar(table: Table, now: () => Date): Registrar {
  ofProcess ??= registrarOf(RegistrarEnvironment.parse(process.env));
  return ofProcess(table, now);
}

export const RegistrarEnvironment = z.object({ REGISTRAR: z.enum(["route53", "embedded"]).optional() });

export type RegistrarEnvironment = z.output<typeof RegistrarEnvironment>;
