import { noSuchDomain } from "../../domains/domain.ts";
import { domainByRef, scopesOfDomain } from "../../domains/find.ts";
import type { Expected, ResourceLookup } from "../../http/route.ts";
import type { Key } from "../../table/writes.ts";
import { aheadOfMailbox, mailboxByRef, scopesOfMailbox } from "../mailboxes/find.ts";
import { MailboxRef } from "../mailboxes/local-part.ts";
import { aheadOfPlace } from "../scoped/add.ts";
import { type MailScope, scopeInBody, scopeMembers } from "../scoped/family.ts";
import { AddressPattern } from "./pattern.ts";
import { rules } from "./rule.ts";
import type { BodyFault } from "./target.ts";

/** The members of a body that give the scope of a rule; without any of them, the scope is the whole account. */
export const ruleScopeMembers = {
  ...scopeMembers,
  mailbox: MailboxRef.optional().meta({
    description: "The mailbox whose mail is in the scope, by its id or address.",
  }),
  address: AddressPattern.optional().meta({
    description:
      "An address of `domain` that no mailbox has, as the part before the @. One `*` stands for any characters, also for none. The rule gets the mail of this address, or of addresses that the pattern names.",
    examples: ["sales", "sales-*"],
  }),
};

type ScopeBody = {
  domain?: string | undefined;
  workspace_id?: string | undefined;
  mailbox?: string | undefined;
  address?: string | undefined;
};

/**
 * Explains why the members of a body do not give one scope, with the member at fault. Undefined if the members give one
 * scope.
 */
export function scopeFault({ domain, workspace_id, mailbox, address }: ScopeBody): BodyFault | undefined {
  if (address !== undefined && domain === undefined) {
    return { path: ["address"], message: "Give the domain of the address too, as `domain`" };
  }
  const wide = { domain, workspace_id, mailbox };
  const [, second] = Object.entries(wide).filter(([, given]) => given !== undefined);
  if (!second) return undefined;
  return { path: [second[0]], message: "Give either a domain, a workspace or a mailbox" };
}

/** The scope of a new rule. If the scope is a mailbox, `domainId` is the id of its domain. */
export type NewScope = { scope: MailScope; domainId?: string };

/** The scope that the body of a route gives. */
export const ruleScopeInBody: ResourceLookup<{ params: { account_id: string }; body: ScopeBody }, NewScope> = {
  within: ["mailbox", "domain", "workspace"],
  at: ({ body }) => {
    if (body.mailbox !== undefined) return ["body", "mailbox"];
    return ["body", body.domain === undefined ? "workspace_id" : "domain"];
  },
  missing: noSuchDomain.replace("domain", "domain, workspace or mailbox"),
  find: async (input, table) => {
    const { account_id } = input.params;
    const { mailbox: ref, domain: domainRef, address } = input.body;
    if (ref !== undefined) {
      const found = await mailboxByRef(table, account_id, ref);
      if (!found) return undefined;
      const { id } = found.mailbox;
      return {
        id,
        scopes: scopesOfMailbox(found),
        thing: { scope: { type: "mailbox", id }, domainId: found.domain.id },
      };
    }
    if (domainRef !== undefined && address !== undefined) {
      const domain = await domainByRef(table, account_id, domainRef);
      if (!domain) return undefined;
      const { id } = domain;
      return { id, scopes: scopesOfDomain(domain), thing: { scope: { type: "address", id, local: address } } };
    }
    const wide = await scopeInBody.find(input, table);
    return wide && { ...wide, thing: { scope: wide.thing } };
  },
};

/** The items that `ruleScopeInBody` and `placeFor` read first. */
export function aheadOfRuleScope(
  input: { params: { account_id: string }; body: ScopeBody },
  expected: Expected,
): Key[] {
  const { mailbox } = input.body;
  const ofMailbox = mailbox === undefined ? [] : aheadOfMailbox(expected, input.params.account_id, mailbox).keys;
  return [...aheadOfPlace(rules, input, expected), ...ofMailbox];
}
