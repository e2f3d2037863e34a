import { localVat } from "../../infra/local/start/local-vat.ts";
import { createAccount } from "../../shared/access/operate-accounts.ts";
import { sweepCheckouts } from "../../shared/billing/ask.ts";
import { handlePayment } from "../../shared/billing/payments.ts";
import { runAccount } from "../../shared/billing/run.ts";
import { movementKey } from "../../shared/ledger/ledger.ts";
import type { Write } from "../../shared/table/writes.ts";
import { createTopup } from "../../shared/wallet/topup.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { keyOf } from "../support/memory-writes.ts";
import { mixed } from "./acting.ts";
import { billingActors } from "./billing-actors.ts";
import { invoiceInvariant } from "./billing-invoice-books.ts";
import { queueInvariant } from "./billing-queue-books.ts";
import {
  askingMistakes,
  askingOf,
  contextOf,
  currencyOf,
  euroPrices,
  sweepDays,
  dayMs,
  newId,
  nowOf,
  providerOf,
  silent,
  yesterdayOf,
  type AskingMistake,
  type Scene,
} from "./billing-scene.ts";
import { accountStatusInvariant } from "./billing-status-books.ts";
import { walletInvariant } from "./billing-wallet-books.ts";
import { ledgerInvariant } from "./ledger-books.ts";
import { mustHold, type Bug, type Module, type World } from "./world.ts";

const sortKeyOf = (write: Write): string => keyOf(write).SK;

/** These mistakes drop no condition. They change how the product asks about checkouts. */
const around = askingMistakes.map((name): [AskingMistake, Bug] => [name, () => false]);

/** This mistake drops no condition either. The worker forgets an account if the worker dies. */
const forgotten: Bug = () => false;

/** This mistake drops no condition either. The daily run uses the default currency for every account. */
const inDefault: Bug = () => false;

const closingMistakes = new Map<Bug | undefined, NonNullable<Scene["closingMistake"]>>([
  [forgotten, "forgotten-day"],
  [inDefault, "default-currency"],
]);

/** The bills of one or two accounts over months, while customers, the provider, the operator and the clock act. */
export const billingModule: Module = {
  name: "billing",
  vat: JSON.stringify(localVat),
  prices: [euroPrices],
  bugs: {
    "billing-state": (write) => sortKeyOf(write) === "BILLING",
    "account-status": (write) => /^(ACCOUNT$|LIST#(status|client)\/)/.test(sortKeyOf(write)),
    "transaction-list": (write) => sortKeyOf(write).startsWith("LIST#transactions#"),
    ...Object.fromEntries(around),
    "forgotten-day": forgotten,
    "default-currency": inDefault,
  },
  open: (random, bug) => {
    const [mistake] = around.find(([, planted]) => planted === bug) ?? [];
    // The account `a` pays in USD, and the account `b` in EUR.
    const accounts = random
      .pick([["a"], ["a"], ["b"], ["a", "b"]])
      .map((name) => `${name}0000000-0000-4000-8000-000000000000`);
    const aheadMs = random.between(0, 900) * dayMs;
    const hasIps = random.chance(0.3);
    const scene: Scene = {
      accounts,
      aheadMs,
      checkouts: [],
      events: [],
      holds: [],
      ids: 0,
      hasIps,
      askingMistake: mistake,
      closingMistake: closingMistakes.get(bug),
    };
    return {
      actors: mixed(billingActors(scene), themes, random),
      prepare: (world) => prepare(scene, world),
      quiet: (world) => quiet(scene, world),
      invariants: () =>
        accounts.flatMap((id) => [
          ledgerInvariant(walletOf(id)),
          walletInvariant(scene, id),
          invoiceInvariant(id),
          accountStatusInvariant(id),
          queueInvariant(id),
        ]),
    };
  },
};

const themes = [
  [],
  ["deliver"],
  ["deliver", "ask", "visit"],
  ["day", "operator", "calendar"],
  ["day", "change-plan", "cancel-plan"],
  ["spend", "hold", "resolve"],
];

async function prepare(scene: Scene, world: World): Promise<void> {
  const client = { id: "c0000000-0000-4000-8000-000000000000", name: "A client" };
  const at = nowOf(scene, world)();
  for (const id of scene.accounts) {
    const currency = currencyOf(id);
    await createAccount(world.table, { id, client, name: "An account", currency, ownerId: id }, at);
    const outside = { payments: providerOf(scene, world, []), publicUrl: "http://here" };
    await createTopup(id, 700, contextOf(scene, world, id), outside);
  }
}

/** Delivers the remaining events, asks about checkouts and runs the worker. Another run must commit nothing. */
async function quiet(scene: Scene, world: World): Promise<void> {
  const work = { table: world.table, now: nowOf(scene, world) };
  for (const told of scene.events.filter(({ isKnown }) => !isKnown)) {
    await handlePayment(told.event, { ...work, log: silent });
  }
  await askAll(scene, world);
  const run = async (): Promise<void> => {
    const last = yesterdayOf(scene, world);
    for (const id of scene.accounts) await runAccount(id, last, { ...work, requestId: newId(scene, "run") });
  };
  await sweepDays(scene, world);
  await run();
  await askAll(scene, world);
  // `watch` calls its function once at the start.
  let commits = -1;
  const unwatch = world.watch(() => (commits += 1));
  await run();
  for (const { event, isLost } of scene.events) {
    if (!isLost) await handlePayment(event, { ...work, log: silent });
    const id = `topup/${event.checkoutId}`;
    const isCredited = world.peek(movementKey(walletOf(event.accountId), id)) !== undefined;
    mustHold(isCredited || event.type !== "paid", () => `${id} was paid and is not credited`);
  }
  unwatch();
  mustHold(commits === 0, () => `everything was done, and done again it made ${commits} commits`);
}

/** Asks about all open checkouts, also before they are due. With the mistake `nobody-asks`, does nothing. */
async function askAll(scene: Scene, world: World): Promise<void> {
  if (scene.askingMistake === "nobody-asks") return;
  await sweepCheckouts(askingOf(scene, world), { early: true });
}
