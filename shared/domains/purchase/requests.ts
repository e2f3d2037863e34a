import * as z from "zod";

import { DryRun, Preview } from "../../billing/preview.ts";
import { Id } from "../../core/ids.ts";
import { MoneyText } from "../../core/money.ts";
import { Timestamp } from "../../core/time.ts";
import { ReturnUrl } from "../../wallet/return-url.ts";
import { DnsMode } from "../domain.ts";
import { NewDomainName } from "../registrable.ts";
import { ContactInfo, missingForNames } from "./contact.ts";
import { refusalReasons, transferReasons, type RefusalReason, type TransferReason } from "./offers.ts";
import { answerMembers, codesOf, MaxTotal, orderReasons, resultMembers, type OrderReason } from "./results.ts";

/*
 * The requests and answers of `domains.purchase` and `domains.transfer`. They have a file of their own, so that workers
 * do not load the rules for telephone numbers.
 */

export const PurchaseRequest = z
  .strictObject({
    workspace_id: Id.meta({ description: "The workspace for the domains." }),
    domains: z.array(NewDomainName).min(1).max(50).meta({ description: "The names to purchase, 1 to 50." }),
    contact_info: ContactInfo,
    max_total: MaxTotal.optional(),
    return_url: ReturnUrl.nullish(),
    dry_run: DryRun,
  })
  .superRefine(({ domains, contact_info }, context) => {
    for (const { member, message } of missingForNames(domains, contact_info)) {
      context.addIssue({ code: "custom", path: ["contact_info", member], message });
    }
  })
  .meta({ id: "DomainPurchase", description: "Names to purchase, and the contact for their registration." });
export type PurchaseRequest = z.output<typeof PurchaseRequest>;

const PurchaseResult = z
  .object({
    ...resultMembers,
    status: z.enum(["pending_registration", "payment_required", "failed"]).meta({
      description:
        "With `pending_registration`, the name was bought by this purchase, and the price is held. With `payment_required`, the purchase continues once `payment_url` is paid. In the answer to a dry run, this is the status that the name would get.",
    }),
    error_code: z
      .enum(codesOf<RefusalReason | OrderReason>({ ...refusalReasons, ...orderReasons }))
      .nullable()
      .meta({ description: "Why the name failed." }),
  })
  .meta({ id: "DomainPurchaseResult", description: "The result for one name." });

export const PurchaseAnswer = z
  .object({
    ...answerMembers,
    results: z.array(PurchaseResult).meta({ description: "The result for each name, in the order of the request." }),
    successful_count: z.int().min(0).meta({ description: "How many names are being registered." }),
    estimated_total: MoneyText.meta({ description: "The price of the first year for all names that did not fail." }),
    preview: Preview,
  })
  .meta({ id: "DomainPurchaseResponse", description: "The result of a purchase." });
export type PurchaseAnswer = z.output<typeof PurchaseAnswer>;

const AuthCode = z
  .string()
  .trim()
  .min(1)
  .max(255)
  .regex(/^[\x20-\x7e]*$/, { error: "An auth code has printable ASCII characters only" })
  .meta({
    description:
      "The secret that the present registrar gives to the name's owner, also called EPP code or transfer code. The code is stored encrypted, is deleted once the transfer is over, and is never shown.",
    examples: ["Kx7-q2vR.9mT"],
  });

export const TransferRequest = z
  .strictObject({
    workspace_id: Id.meta({
      description:
        "The workspace for the domains. A name that the account has connected stays in its present workspace.",
    }),
    domains: z
      .array(
        z.strictObject({
          name: NewDomainName.meta({ description: "The name to transfer." }),
          auth_code: AuthCode,
        }),
      )
      .min(1)
      .max(50)
      .meta({ description: "The names to transfer, 1 to 50, each with its auth code." }),
    contact_info: ContactInfo,
    dns_mode: DnsMode.default("hosted").meta({
      description:
        "`hosted` delegates the names to our nameservers after the transfer. Then the records that the domain does not have here stop working. `external` keeps the present nameservers. A name that the account has connected keeps its own `dns_mode`. The default is `hosted`.",
    }),
    max_total: MaxTotal.optional(),
    return_url: ReturnUrl.nullish(),
    dry_run: DryRun,
  })
  .superRefine(({ domains, contact_info }, context) => {
    const names = domains.map(({ name }) => name);
    for (const { member, message } of missingForNames(names, contact_info)) {
      context.addIssue({ code: "custom", path: ["contact_info", member], message });
    }
  })
  .meta({ id: "DomainTransferRequest", description: "Names to transfer, and the contact for their registration." });
export type TransferRequest = z.output<typeof TransferRequest>;

const TransferResult = z
  .object({
    ...resultMembers,
    status: z.enum(["pending_transfer", "payment_required", "failed"]).meta({
      description:
        "With `pending_transfer`, this request began the transfer, and the price is held. With `payment_required`, the request continues once `payment_url` is paid. In the answer to a dry run, this is the status that the name would get.",
    }),
    error_code: z
      .enum(codesOf<TransferReason | OrderReason>({ ...transferReasons, ...orderReasons }))
      .nullable()
      .meta({ description: "Why the name failed." }),
    transferable_at: Timestamp.nullable().meta({
      description: "When a name that failed with `transfer_too_soon` can be transferred. Null if this is not known.",
    }),
  })
  .meta({ id: "DomainTransferResult", description: "The result for one name." });

export const TransferAnswer = z
  .object({
    ...answerMembers,
    results: z.array(TransferResult).meta({ description: "The result for each name, in the order of the request." }),
    successful_count: z.int().min(0).meta({ description: "How many names are being transferred." }),
    estimated_total: MoneyText.meta({ description: "The price of the transfers of all names that did not fail." }),
    preview: Preview,
  })
  .meta({ id: "DomainTransferResponse", description: "The result of a request for transfers." });
export type TransferAnswer = z.output<typeof TransferAnswer>;
