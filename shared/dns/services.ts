import * as z from "zod";

import { Endpoint } from "../core/endpoint.ts";
import type { ZoneResolver } from "./answer.ts";
import { openResolver } from "./resolver.ts";

const serverList = z
  .string()
  .default("")
  .transform((text) => text.split(",").filter((part) => part !== ""));

/** The settings of this process's resolver. By default it begins at the root servers of the internet. */
export const ResolverEnvironment = z.object({
  /** Other root servers to begin at, separated by commas; for development and tests. */
  DNS_ROOTS: serverList.pipe(z.array(Endpoint)),
  /** Nameservers with a known address: `<suffix of their names>=<address>:<port>`, separated by commas. */
  DNS_KNOWN: serverList.pipe(
    z.array(
      z.templateLiteral([z.string(), "=", z.string()]).transform((text, context) => {
        const [suffix = "", at = ""] = text.split("=");
        const read = Endpoint.safeParse(at);
        if (read.success) return { suffix, endpoint: read.data };
        context.addIssue({ code: "custom", message: "Write <suffix>=<address>:<port>" });
        return z.NEVER;
      }),
    ),
  ),
});

/** The resolver of this process, once it is open, and the settings with which it was opened. */
let opened: { settings: string; resolver: ZoneResolver } | undefined;

/**
 * The resolver of this process. Each call reads the environment, and opens another resolver if the settings have
 * changed.
 */
export function resolverHere(): ZoneResolver {
  const { DNS_ROOTS = "", DNS_KNOWN = "" } = process.env;
  const settings = `${DNS_ROOTS} ${DNS_KNOWN}`;
  if (opened?.settings === settings) return opened.resolver;
  const { DNS_ROOTS: roots, DNS_KNOWN: known } = ResolverEnvironment.parse(process.env);
  const resolver = openResolver({ ...(roots.length > 0 ? { roots } : {}), known });
  opened = { settings, resolver };
  return resolver;
}
