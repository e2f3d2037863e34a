import { hash } from "node:crypto";

import * as z from "zod";

import { platform } from "../../core/platform.ts";

/** How senders treat a mail host that is not in the policy, or that has no valid certificate (RFC 8461 §5). */
export const MtaStsMode = z.enum(["none", "testing", "enforce"]);
export type MtaStsMode = z.output<typeof MtaStsMode>;

/** How long senders keep a policy, in seconds: a week if the policy is enforced, otherwise a day. */
const maxAgeSeconds = { none: 86_400, testing: 86_400, enforce: 604_800 } as const;

/**
 * The MTA-STS policy of a domain (RFC 8461 §3.2), as it is served. It is the same for all domains with the same mode.
 */
export function mtaStsPolicy(mode: MtaStsMode): string {
  const hosts = mode === "none" ? [] : platform().mx.map(({ host }) => `mx: ${host}`);
  return ["version: STSv1", `mode: ${mode}`, ...hosts, `max_age: ${maxAgeSeconds[mode]}`, ""].join("\r\n");
}

/** The text that announces the policy (RFC 8461 §3.1). Its id changes with the policy. */
export const mtaStsText = (mode: MtaStsMode): string =>
  `v=STSv1; id=${hash("sha256", mtaStsPolicy(mode)).slice(0, 20)}`;

/**
 * The mode and the hosts of a policy (RFC 8461 §3.2). Undefined if `version`, `mode` or `max_age` is missing or
 * invalid. `mx` may be missing.
 */
export function readPolicy(text: string): { mode: MtaStsMode; hosts: string[] } | undefined {
  const fields = text.split(/\r?\n/).map((line) => line.split(":").map((part) => part.trim()));
  const valuesOf = (name: string): string[] => fields.flatMap(([key, value = ""]) => (key === name ? [value] : []));
  const mode = MtaStsMode.safeParse(valuesOf("mode")[0]);
  const hasMaxAge = /^\d{1,10}$/.test(valuesOf("max_age")[0] ?? "");
  if (valuesOf("version")[0] !== "STSv1" || !mode.success || !hasMaxAge) return undefined;
  return { mode: mode.data, hosts: valuesOf("mx").map((host) => host.toLowerCase()) };
}

/** Whether a policy allows a mail host: by its name, or by `*.` and the rest of its name (RFC 8461 §4.1). */
export const allowsHost = (patterns: readonly string[], host: string): boolean =>
  patterns.some((pattern) => pattern === host || (pattern.startsWith("*.") && host.replace(/^[^.]+/, "*") === pattern));
