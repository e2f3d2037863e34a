import { randomUUID } from "node:crypto";

import * as z from "zod";

import { change } from "../../changes/kind.ts";
import { invalidAt, InvalidInput, notFound, Problem } from "../../core/errors.ts";
import { isSame } from "../../core/fields.ts";
import { dayMs, later, Timestamp } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import { Refused, type Contact, type Registrar, type RegistrarOperation } from "../../providers/registrar/registrar.ts";
import { domainKind, isRegistered, notReady, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { ContactMembers, missingForNames, missingInCountry } from "../purchase/contact.ts";
import { domainUpdate } from "../setup/work.ts";
import { domainViews } from "../view.ts";

/** A member of the contact in an answer: any text, with the description of the member in a request. */
const memberView = (member: z.ZodType) => z.string().meta({ description: member.description ?? "" });

const { shape } = ContactMembers;

const ContactChange = z
  .object({
    status: z.enum(["running", "succeeded", "failed"]).meta({
      description: "While the change is `running`, the registrar may still show the former contact.",
    }),
    reason: z.string().nullable().meta({ description: "Why the change failed, for people." }),
    started_at: Timestamp.meta({ description: "When the change was requested." }),
  })
  .meta({ id: "DomainContactChange", description: "A change of a domain's contact, at the registrar." });

export const Registrant = z
  .object({
    first_name: memberView(shape.first_name),
    last_name: memberView(shape.last_name),
    organization: memberView(shape.organization).nullable(),
    email: memberView(shape.email),
    phone: memberView(shape.phone),
    address_1: memberView(shape.address_1),
    address_2: memberView(shape.address_2).nullable(),
    city: memberView(shape.city),
    state: memberView(shape.state).nullable(),
    zip: memberView(shape.zip).nullable(),
    country: memberView(shape.country),
    change: ContactChange.nullable().meta({
      description: "The latest change by `domains.contact.update`. Null if no change was requested in the last week.",
    }),
  })
  .meta({ id: "DomainRegistrant", description: "The person or company for whom a name is registered." });
type Registrant = z.output<typeof Registrant>;

export const RegistrantUpdate = ContactMembers.partial().meta({
  id: "DomainContactUpdate",
  description: "The members of the contact to change.",
});
type RegistrantUpdate = z.output<typeof RegistrantUpdate>;

/**
 * How long the result of a change is shown, in milliseconds. The result is read from the registrar's operation, and
 * registrars delete their operations after some time.
 */
const changeShownMs = 7 * dayMs;

/**
 * Reads the contact of a name from the registrar. Throws:
 * - 409 `not_registered_here` if the name was not purchased here;
 * - 409 `domain_not_ready` if the name is not registered at present, or the registrar has no contact of it;
 * - 503 if the registrar does not answer.
 */
export async function readRegistrant(
  domain: StoredDomain,
  context: Pick<Context, "now">,
  registrar: Registrar,
): Promise<Registrant> {
  requireRegistered(domain);
  const { name, contact_update: latest } = domain;
  const [contact, operation] = await Promise.all([registrar.contact(name), latestChange(domain, context, registrar)]);
  return viewOf(requireContact(domain, contact), operation && latest && { operation, ...latest });
}

/**
 * Changes members of a name's contact at the registrar, and records the change. Only one change runs at a time. The
 * registrar takes whole contacts. So if two changes began with the same contact, the later one would undo the earlier
 * one. Throws:
 * - 404 if the domain was deleted meanwhile;
 * - 409 `domain_not_ready` while another change runs;
 * - 409 `not_registered_here` if the name was not purchased here;
 * - 409 `domain_not_ready` if the name is not registered at present, or the registrar has no contact of it;
 * - 422 for each missing member that the country or the registry requires, or if the registrar refuses the contact;
 * - 503 if the registrar does not answer.
 */
export async function updateRegistrant(
  found: StoredDomain,
  given: RegistrantUpdate,
  context: Context,
  registrar: Registrar,
): Promise<Registrant> {
  requireRegistered(found);
  const { table, commit, now } = context;
  // The contact is read after the latest change has ended. If it were read earlier, it could lack this change, and
  // sending it would undo the change.
  const latestOperation = await latestChange(found, context, registrar);
  if (latestOperation?.state === "running") throw changing(found);
  const before = requireContact(found, await registrar.contact(found.name));
  if (isSame(before, given)) {
    const value = await readRegistrant(found, context, registrar);
    return commit(async () => ({ value, writes: [], changes: [] }));
  }
  const contact = { ...before, ...given } as Contact;
  requireComplete(found.name, contact);
  const started_at = now().toISOString();
  const claim = { contact_claimed_until: later(now(), claimMs), contact_claimed_by: randomUUID() };
  const recordChange = (operation: RegistrarOperation): Promise<Registrant> =>
    commit(async () => {
      const domain = await domainById(table, found.account_id, found.id);
      if (!domain) throw notFound();
      const latest = { operation_id: operation.id, started_at };
      const { after, writes } = domainUpdate(domain, { contact_update: latest, contact_claimed_until: started_at });
      const [view] = (await domainViews(table, domain.account_id, [after])) as [object];
      return {
        value: viewOf(contact, { operation, ...latest }),
        writes,
        // The contact is personal data, which the audit log does not keep.
        changes: [change(domainKind, "contact_updated", domain.id, { before: view, after: view })],
      };
    });
  const send = async (): Promise<RegistrarOperation> => {
    await claimChange(found, claim, context);
    return sendContact(found.name, contact, registrar);
  };
  const operation = await send().catch(async (error: unknown) => {
    await endClaim(found, claim, context);
    throw error;
  });
  // If `recordChange` fails, the claim stays until its end, because the registrar is changing the contact already.
  return recordChange(operation);
}

/**
 * How long a claim lasts, in milliseconds. No request runs this long. If a request dies, its claim ends after this
 * time.
 */
const claimMs = 60_000;

const changing = ({ name, status }: StoredDomain): Problem =>
  notReady(status, `The contact of ${name} is being changed. Try again once that change is complete.`);

type ContactClaim = { contact_claimed_until: string; contact_claimed_by: string };

/**
 * Claims the contact for one change. Throws 409 if another call has claimed or changed the contact since `found` was
 * read, and 404 if the domain was deleted.
 */
function claimChange(found: StoredDomain, claim: ContactClaim, { table, commit, now }: Context): Promise<void> {
  return commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (!domain) throw notFound();
    const isClaimed = (domain.contact_claimed_until ?? "") > now().toISOString();
    const isChanged = domain.contact_update?.operation_id !== found.contact_update?.operation_id;
    if (isClaimed || isChanged) throw changing(domain);
    const { writes } = domainUpdate(domain, claim);
    return { value: undefined, writes, changes: [], housekeeping: true, partial: true };
  });
}

/**
 * Ends the claim of a change that failed, so that the next change need not wait. A claim of another change stays.
 */
function endClaim(
  found: StoredDomain,
  { contact_claimed_by }: ContactClaim,
  { table, commit, now }: Context,
): Promise<void> {
  return commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (domain?.contact_claimed_by !== contact_claimed_by) {
      return { value: undefined, writes: [], changes: [], partial: true };
    }
    const { writes } = domainUpdate(domain, { contact_claimed_until: now().toISOString() });
    return { value: undefined, writes, changes: [], housekeeping: true, partial: true };
  });
}

/** The registrar's operation of the latest change, for a week after its request; undefined if there is none. */
async function latestChange(
  { contact_update: latest }: StoredDomain,
  { now }: Pick<Context, "now">,
  registrar: Registrar,
): Promise<RegistrarOperation | undefined> {
  const isShown = latest !== undefined && later(new Date(latest.started_at), changeShownMs) > now().toISOString();
  return isShown ? registrar.operation(latest.operation_id) : undefined;
}

function requireRegistered(domain: StoredDomain): void {
  const { name, status, registration } = domain;
  if (!registration) {
    throw new Problem("not_registered_here", `${name} was not purchased here. The name's registrar has the contact.`);
  }
  if (isRegistered(domain)) return;
  throw notReady(status, `${name} is not registered at present, so it has no contact.`);
}

function requireContact({ name, status }: StoredDomain, contact: Contact | undefined): Contact {
  if (contact) return contact;
  throw notReady(status, `The registrar has no contact of ${name}.`);
}

function requireComplete(name: string, contact: Contact): void {
  const missing = [...missingInCountry(contact), ...missingForNames([name], contact)];
  if (missing.length === 0) return;
  throw new InvalidInput(
    missing.map(({ member, message: msg }) => ({ loc: ["body", member], msg, type: "value_error" })),
  );
}

/** Sends a contact to the registrar. Throws 422 if the registrar refuses the contact. */
async function sendContact(name: string, contact: Contact, registrar: Registrar): Promise<RegistrarOperation> {
  try {
    return await registrar.setContact(name, contact);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw invalidAt(["body"], error.message, "contact_refused");
  }
}

function viewOf(
  contact: Contact,
  latest: { operation: RegistrarOperation; started_at: string } | undefined,
): Registrant {
  const { organization = null, address_2 = null, state = null, zip = null } = contact;
  return {
    ...contact,
    organization,
    address_2,
    state,
    zip,
    change: latest
      ? {
          status: latest.operation.state,
          reason: latest.operation.reason ?? null,
          started_at: latest.started_at,
        }
      : null,
  };
}
