import * as z from "zod";

import { notFound } from "../core/errors.ts";
import { later } from "../core/time.ts";
import type { Resolver } from "../dns/answer.ts";
import type { Context } from "../http/route.ts";
import { planHeld, takeFromRivals, passedCheck } from "./activate.ts";
import { checkDns, type DnsCheck } from "./check-dns.ts";
import { DedicatedIp, ipById, newSetupKey, notReady, type StoredIp } from "./dedicated-ip.ts";
import { planLoosening } from "./holder.ts";
import { ipSeen } from "./view.ts";
import { ipUpdate, ipChange } from "./work.ts";

export const AuthorizedIp = DedicatedIp.extend({
  setup_key: z
    .string()
    .optional()
    .meta({ description: "The setup key, if this call created one. It is shown only once. Only its hash is stored." }),
}).meta({
  id: "DedicatedIpAuthorization",
  description: "Your own host, with its new setup key if one was created.",
});
type AuthorizedIp = z.output<typeof AuthorizedIp>;

/** The wait before the worker first checks a host with a new key. */
const firstCheckMs = 60_000;

/**
 * Makes a setup key for a host that has none, or another one with `reissue`. Otherwise checks whether the host proves
 * itself, and activates it if it does.
 * - Throws 404.
 * - Throws 409 `ip_not_ready` for a managed dedicated IP and for a suspended host.
 * - Throws 409 `ip_taken` when an address is in stock, or belongs to another account whose host still proves it.
 */
export async function authorizeIp(
  found: StoredIp,
  reissue: boolean,
  context: Context,
  resolver: Resolver,
): Promise<AuthorizedIp> {
  requireHost(found);
  const check = await checkDns(found, resolver);
  if (found.key_hash === undefined || reissue) return issueKey(found, check, context);
  const isWell = check.status === "well";
  if (isWell) await takeFromRivals(found, check, context);
  return context.commit(async () => {
    const ip = await currentIp(found, context);
    // The check was made with the previous key, so its result no longer counts.
    if (ip.key_hash !== found.key_hash) return { value: ipSeen(ip, context), writes: [], changes: [] };
    return isWell ? planActivated(ip, check, context) : planFailed(ip, check, context);
  });
}

function requireHost({ type, status, name }: StoredIp): void {
  if (type === "managed") throw notReady(status, `${name} is managed by us. It needs no authorization.`);
  if (status === "suspended") throw notReady(status, `${name} is suspended.`);
}

async function currentIp({ account_id, id }: StoredIp, { table }: Context): Promise<StoredIp> {
  const ip = await ipById(table, account_id, id);
  if (!ip) throw notFound();
  requireHost(ip);
  return ip;
}

const publish = "publish the setup record of each address, and authorize the host again.";
const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * Issues a new setup key. From then on the old key proves nothing, and the hold on addresses that were proved with it
 * is not firm any more.
 */
function issueKey(found: StoredIp, check: DnsCheck, context: Context): Promise<AuthorizedIp> {
  const { table, commit, now } = context;
  const { key, hash } = newSetupKey();
  return commit(async () => {
    // The addresses of a host never change.
    const ips = found.addresses.map((address) => address.ip);
    const [ip, loosened] = await Promise.all([currentIp(found, context), planLoosening(table, found, ips)]);
    const at = now();
    const isNew = ip.key_hash === undefined;
    const { after, writes } = ipUpdate(ip, {
      status: "verifying",
      status_reason: isNew && check.status === "wanting" ? `${check.message} Then ${publish}` : capitalized(publish),
      key_hash: hash,
      key_issued_at: at.toISOString(),
      addresses: check.addresses.map((address) => ({
        ...address,
        healthy: false,
        // The check looked for the previous key.
        message: isNew ? address.message : "Publish the setup record of the new key.",
      })),
      failures: 0,
      due_at: later(at, firstCheckMs),
      updated_at: at.toISOString(),
    });
    return {
      value: { ...ipSeen(after, context), setup_key: key },
      writes: [...writes, ...loosened],
      changes: [ipChange("key_issued", ip, after)],
    };
  });
}

async function planActivated(ip: StoredIp, check: DnsCheck, context: Context) {
  const { table, now } = context;
  const { after, writes } = ipUpdate(ip, { ...passedCheck(check, now()), updated_at: now().toISOString() });
  const verb = ip.status === "degraded" ? "recovered" : ip.status === "active" ? "updated" : "activated";
  return {
    value: ipSeen(after, context),
    writes: [...writes, ...(await planHeld(table, ip))],
    changes: [ipChange(verb, ip, after)],
  };
}

/** Plans to store a failed check. Only the daily check makes an active host degraded. */
function planFailed(ip: StoredIp, { addresses, message }: DnsCheck, context: Context) {
  const isWaiting = ip.status === "verifying";
  const { after, writes } = ipUpdate(ip, {
    addresses,
    ...(isWaiting ? { status_reason: message } : {}),
    updated_at: context.now().toISOString(),
  });
  return { value: ipSeen(after, context), writes, changes: [ipChange("updated", ip, after)] };
}
