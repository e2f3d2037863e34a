import type { Capability } from "../auth/capabilities.ts";
import { capabilitiesOf, type ResourceType } from "../auth/permissions.ts";
import { InvalidInput } from "../core/errors.ts";
import type { Grantable } from "./assignments.ts";

const workspace = ["workspace"] as const;
const domain = ["workspace", "domain"] as const;
const mailbox = ["workspace", "domain", "mailbox"] as const;
const credential = ["workspace", "domain", "credential"] as const;
const forwarding = ["workspace", "domain", "forwarding"] as const;

/**
 * The types of resources to which a capability can be narrowed and still allow something. A capability that is not
 * listed can only be given on the whole account.
 */
export const scopeTypes: Partial<Record<Capability, readonly ResourceType[]>> = {
  "workspace.view": workspace,
  "workspace.manage": workspace,
  "domain.view": domain,
  "domain.update": domain,
  "domain.move": domain,
  "domain.purchase": workspace,
  "domain.delete": domain,
  "dns.view": domain,
  "dns.manage": domain,
  "mailbox.view": mailbox,
  "mailbox.create": domain,
  "mailbox.update": mailbox,
  "mailbox.delete": mailbox,
  "mailbox.export": mailbox,
  "mailbox.reveal": mailbox,
  "credential.view": credential,
  "credential.manage": credential,
  "forwarding.view": forwarding,
  "forwarding.manage": forwarding,
  "ip.view": domain,
  "ip.assign": domain,
};

/** Throws 422 for a capability or role that allows nothing on the resource to which it is narrowed. */
export function requireMeaning(given: Grantable): void {
  if (given.kind !== "capability" && given.kind !== "role") return;
  const { scope } = given;
  if (scope === undefined || scope.type === "account") return;
  const types = [...new Set(capabilitiesOf(given).flatMap((capability) => scopeTypes[capability] ?? []))];
  if (types.includes(scope.type)) return;
  const [member, name] = given.kind === "role" ? ["role_key", given.role] : ["capability_key", given.capability];
  const narrower = types.length > 0 ? `, or on one ${types.join(" or ")}` : "";
  const msg = `${name} has no effect on a ${scope.type}. Give it on the account${narrower}`;
  throw new InvalidInput([{ loc: ["body", member], msg, type: "value_error" }]);
}
