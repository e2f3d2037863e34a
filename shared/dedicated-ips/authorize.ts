import * as z from "zod";

import { notFound } from "../core/errors.ts";
import { later } from "../core/time.ts";
import type { Resolver } from "../dns/answer.ts";
import type { Context } from "../http/route.ts";
import type { Secrets } from "../providers/secrets/secrets.ts";
import { activationVerb, planFirmHold, takeFromRivals, passedCheck } from "./activate.ts";
import { ipUpdate, ipChange } from "./change.ts";
import { checkDns, type DnsCheck } from "./check-dns.ts";
import { DedicatedIp, ipById, newRelayPassword, newSetupKey, notReady, type StoredIp } from "./dedicated-ip.ts";
import { planLoosening } from "./holder.ts";
import { sealRelayPassword } from "./relay.ts";
import { ipViewFor } from "./view.ts";

export const AuthorizedIp = DedicatedIp.extend({
  setup_key: z
    .string()
    .optional()
    .meta({ description: "The setup key, if this call created one. It is shown only once. Only its hash is stored." }),
  relay_login: z
    .object({
      user: z.string().meta({ description: "The user name of our mail servers at your host." }),
      password: z.string().meta({ description: "The password of our mail servers at your host." }),
    })
    .optional()
    .meta({
      description:
        "The login with which our mail servers hand mail over to your host, if this call created a setup key. Let your host relay mail for this login only. The login is shown only once.",
    }),
}).meta({
  id: "DedicatedIpAuthorization",
  description: "Your own host, with its new setup key if one was created.",
});
type AuthorizedIp = z.output<typeof AuthorizedIp>;

/** How long the worker waits before it first checks a host with a new key, in milliseconds. */
const firstCheckMs = 60_000;

/**
 * Authorizes a customer's own host:
 * - If the host has no setup key, or `reissue` is true, issues a setup key and a relay login.
 * - Otherwise checks whether the host proves its addresses. If it does, activates the host.
 *
 * Throws:
 * - 404 if the host was deleted meanwhile;
 * - 409 `ip_not_ready` for a managed dedicated IP, and for a suspended host;
 * - 409 `ip_taken` if another holder keeps one of the addresses (`takeFromRivals`);
 * - 503 if the secrets service does not answer.
 */
export async function authorizeIp(
  found: StoredIp,
  reissue: boolean,
  context: Context,
  { resolver, secrets }: { resolver: Resolver; secrets: Secrets },
): Promise<AuthorizedIp> {
  requireHost(found);
  const check = await checkDns(found, resolver);
  if (found.key_hash === undefined || reissue) return issueKey(found, { reissue, check, secrets }, context);
  const hasPassed = check.status === "passed";
  if (hasPassed) await takeFromRivals(found, check, context);
  return context.commit(async () => {
    const ip = await currentIp(found, context);
    // If the key has changed since the check, the result of the check does not count.
    if (ip.key_hash !== found.key_hash) return { value: ipViewFor(ip, context), writes: [], changes: [] };
    return hasPassed ? planActivated(ip, check, context) : planFailed(ip, check, context);
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

const publishAdvice = "publish the setup record of each address, and authorize the host again.";
const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * Issues a new setup key and a new relay login to a host. The old key proves nothing any more, so the host's hold on
 * its addresses is not firm any more: another host can take over an address by proving it. If another call has issued
 * the first key meanwhile, and `reissue` is false, issues nothing.
 */
async function issueKey(
  found: StoredIp,
  { reissue, check, secrets }: { reissue: boolean; check: DnsCheck; secrets: Secrets },
  context: Context,
): Promise<AuthorizedIp> {
  const { table, commit, now } = context;
  const { key, hash } = newSetupKey();
  const password = newRelayPassword();
  const sealed_relay_password = await sealRelayPassword(found, password, secrets);
  return commit(async () => {
    // The addresses of a host never change, so the addresses that were read before are still right.
    const ips = found.addresses.map((address) => address.ip);
    const [ip, loosened] = await Promise.all([currentIp(found, context), planLoosening(table, found, ips)]);
    const isFirstKey = ip.key_hash === undefined;
    if (!isFirstKey && !reissue) return { value: ipViewFor(ip, context), writes: [], changes: [] };
    const at = now();
    const { after, writes } = ipUpdate(ip, {
      status: "verifying",
      status_reason:
        isFirstKey && check.status === "failed" ? `${check.message} Then ${publishAdvice}` : capitalized(publishAdvice),
      key_hash: hash,
      sealed_relay_password,
      key_issued_at: at.toISOString(),
      addresses: check.addresses.map(({ proved_name: _, ...address }) => ({
        ...address,
        healthy: false,
        // The check looked for the previous key, so its message is of no use.
        message: isFirstKey ? address.message : "Publish the setup record of the new key.",
      })),
      failures: 0,
      due_at: later(at, firstCheckMs),
      updated_at: at.toISOString(),
    });
    return {
      value: { ...ipViewFor(after, context), setup_key: key, relay_login: { user: found.id, password } },
      writes: [...writes, ...loosened],
      changes: [ipChange("key_issued", ip, after)],
    };
  });
}

async function planActivated(ip: StoredIp, check: DnsCheck, context: Context) {
  const { table, now } = context;
  const { after, writes } = ipUpdate(ip, { ...passedCheck(check, now()), updated_at: now().toISOString() });
  return {
    value: ipViewFor(after, context),
    writes: [...writes, ...(await planFirmHold(table, ip))],
    changes: [ipChange(activationVerb(ip), ip, after)],
  };
}

/** Plans to store a check that did not pass. An active host stays active: only the worker's check makes it degraded. */
function planFailed(ip: StoredIp, { addresses, message }: DnsCheck, context: Context) {
  const isWaiting = ip.status === "verifying";
  const { after, writes } = ipUpdate(ip, {
    addresses,
    ...(isWaiting ? { status_reason: message } : {}),
    updated_at: context.now().toISOString(),
  });
  return { value: ipViewFor(after, context), writes, changes: [ipChange("updated", ip, after)] };
}
