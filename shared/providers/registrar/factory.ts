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
 * The registrar of an environment, for the table and the clock of the embedded registrar. Make it once per process, as
 * it keeps a client. When the environment names no registrar, the first use throws, not this function.
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

/** The registrar of this process. Reads the environment at the first call, not at import. */
export function registrar(table: Table, now: () => Date): Registrar {
  ofProcess ??= registrarOf(RegistrarEnvironment.parse(process.env));
  return ofProcess(table, now);
}

export const RegistrarEnvironment = z.object({ REGISTRAR: z.enum(["route53", "embedded"]).optional() });

export type RegistrarEnvironment = z.output<typeof RegistrarEnvironment>;
