import * as z from "zod";

import { change } from "../changes/kind.ts";
import type { ChangePlan, Writer } from "../changes/recorder.ts";
import { invalidAt } from "../core/errors.ts";
import { withFormer } from "../core/former.ts";
import { dayMs, dayOf } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import { MailAddress, mailAddressForm } from "../mail/forwarding/target.ts";
import type { VatAnswer, VatRegister } from "../providers/vat/vat.ts";
import {
  type BillingProfile,
  profileKey,
  profileKind,
  ProfileMembers,
  readProfile,
  type StoredProfile,
  type VatFacts,
} from "../wallet/profile.ts";
import { vatIdFault } from "../wallet/vat-id.ts";
import { euCountries } from "../wallet/vat.ts";

const { email } = ProfileMembers.shape;

export const ProfileUpdate = z
  .strictObject({
    ...ProfileMembers.partial().shape,
    email: MailAddress.nullable()
      .optional()
      .meta({ description: `${email.description} ${mailAddressForm}` }),
  })
  .meta({
    id: "BillingProfileUpdate",
    description: "The changes to a billing profile. Null removes a member. For `address_lines`, send an empty list.",
  });
type ProfileUpdate = z.output<typeof ProfileUpdate>;

/** The billing profile of an account. */
export const getProfile = (accountId: string, { table }: Pick<Context, "table">): Promise<BillingProfile> =>
  readProfile(table, accountId);

/**
 * The profile after a change. Throws 422 if the VAT id is not valid in the profile's country, or if a profile with a
 * VAT id has no name, city or country.
 */
function merged(profile: StoredProfile, update: ProfileUpdate): StoredProfile {
  const given = Object.fromEntries(Object.entries(update).filter(([, value]) => value !== undefined));
  const next: StoredProfile = { ...profile, ...given };
  const { vat_id, country } = next;
  if (vat_id === null) return { ...next, vat_id_status: null, vat_id_checked_at: null };
  for (const member of ["country", "name", "city"] as const) {
    if (next[member] === null)
      throw invalidAt(["body", member], "A VAT id needs the name and the address of its holder. Write this member too");
  }
  const fault = vatIdFault(vat_id, country ?? "");
  if (fault !== undefined) throw invalidAt(["body", "vat_id"], fault);
  if (vat_id === profile.vat_id && country === profile.country) return next;
  return { ...next, vat_id_status: "unchecked", vat_id_checked_at: null };
}

/**
 * Whether the register of the EU has ids with this prefix. The prefix of Greece is EL and not its country code GR. The
 * prefix XI is Northern Ireland's.
 */
const isOfEu = (vatId: string): boolean =>
  [...euCountries, "EL", "XI"].includes(vatId.slice(0, 2)) && !vatId.startsWith("GR");

/** The profile with the answer of the register about its VAT id. */
function withAnswer(profile: StoredProfile, answer: VatAnswer, now: Date): StoredProfile {
  if (answer !== "unavailable") return { ...profile, vat_id_status: answer, vat_id_checked_at: now.toISOString() };
  // An earlier answer of the register stands until the register gives another answer.
  return profile.vat_id_status === "unchecked" ? { ...profile, vat_id_status: "unverified" } : profile;
}

/**
 * The members of a profile that remember its VAT at the end of yesterday, if `next` has another country or VAT id. An
 * answer of the register changes neither the country nor the VAT id, so the former answer is not remembered: the new
 * answer counts for all days that are not recorded yet.
 */
function formerVat(before: StoredProfile, next: StoredProfile, now: Date): Pick<StoredProfile, "former_vat"> {
  const { country, vat_id, vat_id_status } = before;
  const facts: VatFacts = { country, vat_id, vat_id_status };
  return country === next.country && vat_id === next.vat_id
    ? {}
    : { former_vat: withFormer(before.former_vat, facts, dayOf(now)) };
}

/** Plans to store a changed profile. */
function planProfile(
  accountId: string,
  before: StoredProfile,
  next: StoredProfile,
  now: Date,
): ChangePlan<BillingProfile> {
  // A profile that stays as it is keeps its entity tag.
  if (JSON.stringify(next) === JSON.stringify(before))
    return { value: before, writes: [], changes: [], current: before };
  const after = { ...next, ...formerVat(before, next, now), version: before.version + 1 };
  const { version } = before;
  return {
    value: after,
    writes: [{ put: { ...profileKey(accountId), ...after }, if: version === 0 ? "absent" : { version } }],
    changes: [change(profileKind, "updated", accountId, { before, after })],
  };
}

/**
 * Changes the billing profile. Throws the errors of `merged`. If this deployment asks a register about VAT ids, a VAT
 * id of the EU is checked there unless its status is `valid` already. Throws 422 if the update has the VAT id or the
 * country, and the register does not know the VAT id. A stored VAT id that the register does not know becomes
 * `invalid`. If the register does not answer, a new VAT id is `unverified`. The new profile counts for purchases after
 * the change, and for the usage of days from today on. Existing invoices do not change.
 */
export async function updateProfile(
  accountId: string,
  update: ProfileUpdate,
  { table, commit, now }: Context,
  register: VatRegister | undefined,
): Promise<BillingProfile> {
  const { vat_id, vat_id_status } = merged(await readProfile(table, accountId), update);
  const idToAsk = register && vat_id !== null && isOfEu(vat_id) && vat_id_status !== "valid" ? vat_id : undefined;
  const answer = idToAsk === undefined ? undefined : await register?.ask(idToAsk);
  const isGiven = update.vat_id !== undefined || update.country !== undefined;
  if (answer === "invalid" && isGiven)
    throw invalidAt(["body", "vat_id"], "VIES does not know this VAT id. Is there a typing mistake?");
  return commit(async () => {
    const before = await readProfile(table, accountId);
    const next = merged(before, update);
    const at = now();
    const after = answer && next.vat_id === idToAsk ? withAnswer(next, answer, at) : next;
    return planProfile(accountId, before, after, at);
  });
}

/** How long an answer of the register is valid, in milliseconds. */
const answerMs = 30 * dayMs;

/**
 * Asks the register again about a VAT id of the EU, if the register has not answered yet, or if its last answer is at
 * least 30 days old. Every answer is recorded with an event, because it changes `vat_id_checked_at`.
 */
export async function refreshVatId(
  accountId: string,
  { table, commit, now }: Writer,
  register: VatRegister | undefined,
): Promise<void> {
  if (register === undefined) return;
  const { vat_id, vat_id_checked_at } = await readProfile(table, accountId);
  const isFresh = vat_id_checked_at !== null && now().getTime() - Date.parse(vat_id_checked_at) < answerMs;
  if (vat_id === null || !isOfEu(vat_id) || isFresh) return;
  const answer = await register.ask(vat_id);
  await commit(async (): Promise<ChangePlan<unknown>> => {
    const before = await readProfile(table, accountId);
    const at = now();
    const next = before.vat_id === vat_id ? withAnswer(before, answer, at) : before;
    return next === before ? { value: undefined, writes: [], changes: [] } : planProfile(accountId, before, next, at);
  });
}
