import * as z from "zod";

import { Id } from "../core/ids.ts";
import { Currency, MoneyText } from "../core/money.ts";
import { Timestamp } from "../core/time.ts";
import type { Registration } from "../providers/registrar/registrar.ts";

export const RegistrationView = z
  .object({
    status: z.enum(["pending", "active", "grace", "redemption", "failed", "expired"]).meta({
      description:
        "`pending` → `active` → `grace` → `redemption` → `expired`. In `grace` the name still works. In `redemption` the name does not work, and a renewal also pays for the restoration of the name. An `expired` name is not registered here any more.",
    }),
    registrar_status: z.array(z.string()).meta({
      description:
        "The registry's statuses of the name (EPP, RFC 5731 and RFC 3915), such as `clientTransferProhibited`.",
    }),
    expires_at: Timestamp.nullable().meta({ description: "When the registration ends." }),
    grace_ends_at: Timestamp.nullable().meta({ description: "When the name stops working if it is not renewed." }),
    redemption_ends_at: Timestamp.nullable().meta({ description: "When the name is lost if it is not renewed." }),
    locked: z.boolean().meta({
      description:
        "Whether the account wants the name locked against transfer. `registrar_status` has `clientTransferProhibited` while the name is locked. Not every registry has this lock.",
    }),
    privacy: z.boolean().meta({
      description:
        "Whether the account wants the registry's public data to hide the contact. Some registries hide every contact or none.",
    }),
  })
  .meta({ id: "DomainRegistration", description: "The registration of a domain that was purchased here." });

/** A stored registration. Earlier versions stored only the status, the end and the lock of a registration. */
export const StoredRegistration = RegistrationView.extend({
  registrar_status: RegistrationView.shape.registrar_status.default([]),
  grace_ends_at: RegistrationView.shape.grace_ends_at.default(null),
  redemption_ends_at: RegistrationView.shape.redemption_ends_at.default(null),
  privacy: RegistrationView.shape.privacy.default(true),
});
export type StoredRegistration = z.output<typeof StoredRegistration>;

/** The registration of a name that is not registered yet, or could not be registered. */
export const unregistered = (status: "pending" | "failed"): StoredRegistration => ({
  status,
  registrar_status: [],
  expires_at: null,
  grace_ends_at: null,
  redemption_ends_at: null,
  locked: false,
  privacy: true,
});

const registrationStatuses = { registered: "active", grace: "grace", redemption: "redemption" } as const;

/** The settings of a registration that customers choose: the lock against transfer, and the privacy of the contact. */
export type Protection = Pick<StoredRegistration, "locked" | "privacy">;

/** The registration as the registrar shows it, with the customer's settings. Both settings are on by default. */
export const registrationOf = (
  found: Registration,
  { locked, privacy }: Protection = { locked: true, privacy: true },
): StoredRegistration => ({
  status: registrationStatuses[found.phase],
  registrar_status: [...found.statuses],
  expires_at: new Date(found.expiresAt).toISOString(),
  grace_ends_at: new Date(found.graceEndsAt).toISOString(),
  redemption_ends_at: new Date(found.redemptionEndsAt).toISOString(),
  locked,
  privacy,
});

export const RenewalView = z
  .object({
    id: Id.meta({ description: "The renewal's id." }),
    status: z.enum(["running", "succeeded", "failed"]).meta({
      description: "The price of a `running` renewal is held. A `failed` renewal costs nothing.",
    }),
    reason: z.string().nullable().meta({ description: "Why the renewal failed, for people." }),
    years: z.int().meta({ description: "How many years the renewal adds." }),
    price: MoneyText.meta({ description: "The price of all these years, without VAT." }),
    restore_fee: MoneyText.meta({
      description: "The price of the restoration of a name in redemption, without VAT. 0.00 for other names.",
    }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
    by: z.enum(["request", "auto"]).meta({ description: "`auto` if the product renewed the name by itself." }),
    started_at: Timestamp.meta({ description: "When the renewal began." }),
  })
  .meta({ id: "DomainRenewal", description: "A renewal of a domain's registration." });

export const TransferView = z
  .object({
    id: Id.meta({ description: "The transfer's id." }),
    status: z.enum(["running", "succeeded", "failed"]).meta({
      description: "The price of a `running` transfer is held. A `failed` transfer costs nothing.",
    }),
    reason: z.string().nullable().meta({ description: "Why the transfer failed, for people." }),
    price: MoneyText.meta({
      description: "The price of the transfer, without VAT. The transfer adds a year to the registration.",
    }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
    started_at: Timestamp.meta({ description: "When the transfer began." }),
  })
  .meta({ id: "DomainTransfer", description: "A transfer of a domain's registration from another registrar." });

/** The state of a request to the registrar, and of the money that is held for the request. */
const RegistrarRequest = z.object({
  hold_id: z.string(),
  /**
   * The progress of the request. First the price is `held`, then the registrar is `asked`, then the registrar's
   * operation is `running`. The request is over once the money is `captured` after a success, or `voided` (released)
   * after a failure.
   */
  stage: z.enum(["held", "asked", "running", "captured", "voided"]),
  /** When the registrar was first asked. An operation that is older belongs to another request. */
  asked_at: Timestamp.optional(),
  /** When the registrar was last asked again, because an earlier request had no effect. Absent if it was asked once. */
  asked_again_at: Timestamp.optional(),
  operation_id: z.string().optional(),
  /** When the registrar first reported that the operation succeeded, but did not show the operation's effect yet. */
  done_at: Timestamp.optional(),
});
export type RegistrarRequest = z.output<typeof RegistrarRequest>;

/** The state of a purchase, from the hold on the money to its capture or release. */
export const Purchase = RegistrarRequest.extend({
  batch_id: z.string(),
  /** The price without VAT, in minor units. The hold also covers the VAT. */
  price: z.int(),
  /**
   * The former `deletes_at` of a domain that had lost this name. The domain gets this time back as its `deletes_at` if
   * the registration fails.
   */
  kept_until: Timestamp.optional(),
  /**
   * The former `registration` of this domain. The domain gets it back together with its `deletes_at`. Purchases of
   * earlier versions lack it.
   */
  kept_registration: StoredRegistration.nullable().optional(),
});
export type Purchase = z.output<typeof Purchase>;

/**
 * The state of a renewal, from the hold on the money to its capture or release. One hold covers `price` and
 * `restore_fee`, with their VAT. If the price of an automatic renewal could not be held, or the registry gave no price,
 * the renewal is stored as `voided`.
 */
export const Renewal = RegistrarRequest.extend({
  id: z.string(),
  years: z.int(),
  /** The price of all years without VAT, in minor units. */
  price: z.int(),
  /** The price of the restoration without VAT, in minor units; 0 for a name that is not in redemption. */
  restore_fee: z.int(),
  /** The end of the registration before the renewal. */
  from: Timestamp,
  by: z.enum(["request", "auto"]),
  started_at: Timestamp,
  reason: z.string().nullable(),
  /** How many times in a row the worker looked at the request and had to wait. */
  looks: z.int(),
});
export type Renewal = z.output<typeof Renewal>;

/** The state of a transfer to us, from the hold on the money to its capture or release. */
export const Transfer = RegistrarRequest.extend({
  id: z.string(),
  batch_id: z.string(),
  /** The price without VAT, in minor units. The hold also covers the VAT. */
  price: z.int(),
  /** The sealed auth code. Absent once the transfer is over. */
  sealed_auth_code: z.string().optional(),
  started_at: Timestamp,
  reason: z.string().nullable(),
  /** How many times in a row the worker looked at the request and had to wait. */
  looks: z.int(),
  /** When the worker looks at the transfer next; null once the transfer is over. */
  due_at: Timestamp.nullable(),
});
export type Transfer = z.output<typeof Transfer>;
