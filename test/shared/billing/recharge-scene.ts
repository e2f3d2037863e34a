import { updateAlerts } from "../../../shared/billing/recharges/alerts.ts";
import { getAutoRecharge, updateAutoRecharge } from "../../../shared/billing/recharges/auto-recharge.ts";
import { openCardSetup } from "../../../shared/billing/recharges/payment-method.ts";
import { rechargeQueue } from "../../../shared/billing/recharges/payment-method.ts";
import { handleProviderEvent, sweepRecharges } from "../../../shared/billing/recharges/provider-events.ts";
import type { RechargeContext } from "../../../shared/billing/recharges/recharge.ts";
import { giveBillingNotices, watchWallet } from "../../../shared/billing/recharges/watch.ts";
import { money } from "../../../shared/core/money.ts";
import { saveCard, testCards } from "../../../shared/providers/payments/embedded-cards.ts";
import { embeddedPayments } from "../../../shared/providers/payments/embedded.ts";
import type { ChargeState, Payments } from "../../../shared/providers/payments/payments.ts";
import type { Table } from "../../../shared/table/table.ts";
import { testTable } from "../../support/world.ts";
import { log, newScene } from "./scene.ts";

const base = testTable();

/** The shared table, with the recharge tasks of one account only, because other tests queue tasks at other times. */
const onlyTasksOf = (accountId: string): Table => ({
  ...base,
  between: async (partition, ...range) => {
    const items = await base.between(partition, ...range);
    return partition.startsWith(rechargeQueue.name) ? items.filter(({ SK }) => SK.includes(accountId)) : items;
  },
});

/**
 * The fault of a provider at one charge: the provider fails before or after it makes the charge, or refuses the charge.
 */
type Fault = "before" | "after" | "refusal" | undefined;

/** An account with 30.00 in its wallet. Below 20.00, an automatic recharge takes 25.00 from a test card. */
export async function newRechargeScene(card: keyof typeof testCards = "works") {
  const scene = await newScene("2026-03-01");
  const { accountId, context } = scene;
  const { now } = context;
  const embedded = embeddedPayments(base, { webhookSecret: "a secret of 16 and more", baseUrl: "http://here", now });
  const faults: Fault[] = [];
  const charges: ChargeState[] = [];
  const payments: Payments = {
    ...embedded,
    charge: async (input) => {
      const fault = faults.shift();
      if (fault === "before") throw new Error("The provider does not answer.");
      const { reference, accountId: id, amount, currency } = input;
      const refused = { status: "failed" as const, reason: "Too small.", reference, accountId: id, amount, currency };
      if (fault === "refusal") return refused;
      const state = await embedded.charge(input);
      charges.push(state);
      if (fault === "after") throw new Error("The answer is lost.");
      return state;
    },
  };
  const work: RechargeContext = { table: onlyTasksOf(accountId), now, log, payments, publicUrl: "http://here" };
  const enter = async (kind: keyof typeof testCards): Promise<void> => {
    const { hosted_page } = await openCardSetup(accountId, context, { payments, publicUrl: "http://here" });
    await saveCard(base, hosted_page.id, { number: testCards[kind].number, exp_month: 12, exp_year: 2099 }, now());
    const state = await payments.getCardSetup(hosted_page.id);
    await handleProviderEvent({ ...state, id: "evt_card", type: "card_setup", setupId: state.id }, work);
  };
  await enter(card);
  scene.on("2026-03-02");
  const settings = { enabled: true, threshold: "20.00", amount: "25.00", monthly_cap: "100.00", max_per_month: 4 };
  await updateAutoRecharge(accountId, settings, context);
  await scene.topUp(3_000);
  return {
    ...scene,
    work,
    faults,
    charges,
    enter,
    watch: () => watchWallet(accountId, work),
    notices: () => giveBillingNotices(accountId, work),
    sweep: () => sweepRecharges(work),
    settings: () => getAutoRecharge(accountId, context),
    alertBelow: (low_balance_threshold: string) => updateAlerts(accountId, { low_balance_threshold }, context),
    update: (body: Parameters<typeof updateAutoRecharge>[1]) => updateAutoRecharge(accountId, body, context),
    tell: (event: Parameters<typeof handleProviderEvent>[0]) => handleProviderEvent(event, work),
    balance: async () => money((await scene.wallet()).posted),
  };
}
