import * as z from "zod";

export const capabilities = [
  "account.view",
  "workspace.view",
  "workspace.manage",
  "domain.view",
  "domain.update",
  "domain.move",
  "domain.purchase",
  "domain.delete",
  "dns.view",
  "dns.manage",
  "mailbox.view",
  "mailbox.create",
  "mailbox.update",
  "mailbox.delete",
  "mailbox.export",
  "mailbox.reveal",
  "credential.view",
  "credential.manage",
  "forwarding.view",
  "forwarding.manage",
  "suppression.view",
  "suppression.manage",
  "ip.view",
  "ip.assign",
  "ip.manage",
  "billing.view",
  "billing.manage",
  "tag.manage",
  "webhook.manage",
  "auth.manage",
] as const;

export const Capability = z.enum(capabilities);
export type Capability = (typeof capabilities)[number];

const viewer = [
  "account.view",
  "workspace.view",
  "domain.view",
  "dns.view",
  "mailbox.view",
  "forwarding.view",
  "suppression.view",
  "ip.view",
] as const satisfies Capability[];
const editor = [
  ...viewer,
  "domain.update",
  "mailbox.update",
  "mailbox.export",
  "forwarding.manage",
  "suppression.manage",
  "ip.assign",
  "tag.manage",
] as const satisfies Capability[];
const domainManager = [...editor, "mailbox.create", "mailbox.delete", "mailbox.reveal"] as const satisfies Capability[];

/** The roles of the product, which every account has. Each role is a fixed set of capabilities. */
export const roles = {
  viewer,
  editor,
  domain_manager: domainManager,
  manager: [...domainManager, "workspace.manage", "domain.purchase", "domain.move", "domain.delete", "webhook.manage"],
  dns_manager: ["dns.view", "dns.manage"],
  ip_manager: ["ip.view", "ip.assign", "ip.manage"],
  billing_viewer: ["billing.view"],
  billing_admin: ["billing.view", "billing.manage"],
  credential_manager: ["credential.view", "credential.manage"],
} as const satisfies Record<string, readonly Capability[]>;

export type RoleKey = keyof typeof roles;
export const RoleKey = z.enum(Object.keys(roles) as [RoleKey, ...RoleKey[]]);

/**
 * The capability to view the resources that `capability` changes, such as `workspace.view` for `workspace.manage`;
 * `account.view` if there is no such capability.
 */
export function viewCapability(capability: Capability): Capability {
  const view = `${capability.split(".")[0]}.view`;
  return capabilities.find((candidate) => candidate === view) ?? "account.view";
}
