import * as z from "zod";

import { change, defineKind, type Change } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";
import { Currency, defaultCurrency, money, MoneyText } from "../../core/money.ts";
import { Timestamp } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";

/*
 * Access patterns
 *   a recharge of an account by its id   ACCOUNT#<id> / RECHARGE#<id>
 */
export const rechargeKey = (accountId: string, id: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `RECHARGE#${id}`,
});

const Status = z.enum(["charging", "processing", "succeeded", "action_required", "confirmed", "failed"]);

/** One attempt to charge the saved card. A recharge takes money once at most. `amount` is in minor units. */
export const StoredRecharge = z.object({
  id: Id,
  amount: z.int().min(1),
  currency: Currency.default(defaultCurrency),
  status: Status,
  reason: z.string().optional(),
  /** The page on which the payer confirms the payment. */
  action_url: z.string().optional(),
  customer_id: z.string(),
  card_id: z.string(),
  /** The provider's id of the charge, once it is known. */
  charge_id: z.string().optional(),
  created_at: Timestamp,
  /** When the task in `rechargeQueue` is due; null once the recharge is over. */
  due_at: Timestamp.nullable(),
  settled_at: Timestamp.optional(),
  version: z.int(),
});
export type StoredRecharge = z.output<typeof StoredRecharge>;

export const RechargeView = z.object({
  id: Id.meta({
    description:
      "The recharge's id. In the events `disabled` and `limit_reached`, the id of the last recharge, or the account's id if there was none.",
  }),
  amount: MoneyText.meta({ description: "The amount of the recharge." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  status: z.enum([...Status.options, "disabled", "limit_reached"]).meta({
    description:
      "`charging` and `processing` until the bank has answered. `action_required` if the payer has to confirm the payment at `action_url`. `confirmed` once the payer has paid at `action_url`: the payment is then a top-up. `disabled` and `limit_reached` occur only in the events with these names.",
  }),
  reason: z.string().nullish().meta({ description: "For people: why the recharge failed, or why the event occurred." }),
  action_url: z.string().nullish().meta({
    description:
      "The page on which the payer pays the amount, because the bank did not accept the charge of the card without a confirmation. It is valid for less than a day.",
  }),
  retry_at: Timestamp.nullish().meta({
    description: "Only in the event `failed`: when the next attempt is made. Null if there is none.",
  }),
});
type RechargeView = z.input<typeof RechargeView>;

export const rechargeKind = defineKind({
  name: "billing.recharge",
  verbs: ["succeeded", "failed", "action_required", "disabled", "limit_reached"],
  view: RechargeView,
  seenWith: "billing.view",
});

export const readRecharge = (table: Reader, accountId: string, id: string): Promise<StoredRecharge | undefined> =>
  table.get(rechargeKey(accountId, id), StoredRecharge);

type Shown = Pick<StoredRecharge, "id" | "amount" | "currency" | "reason" | "action_url"> & {
  status: RechargeView["status"];
};

/** A recharge as customers see it. */
export const rechargeView = ({ id, amount, currency, status, reason, action_url }: Shown): RechargeView => ({
  id,
  amount: money(amount),
  currency,
  status,
  ...(reason === undefined ? {} : { reason }),
  ...(action_url === undefined || status !== "action_required" ? {} : { action_url }),
});

/** The event about a recharge. `more` has further members for the event. */
export const rechargeChange = (
  verb: "succeeded" | "failed" | "action_required" | "disabled" | "limit_reached",
  recharge: Shown,
  more: Pick<RechargeView, "retry_at"> = {},
): Change => change(rechargeKind, verb, recharge.id, { after: { ...rechargeView(recharge), ...more } });
