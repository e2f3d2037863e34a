import { createAccount } from "../../shared/access/operate-accounts.ts";
import type { Write } from "../../shared/table/writes.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { addWorkspace } from "../../shared/workspaces/workspace.ts";
import { keyOf } from "../support/memory-writes.ts";
import { mixed } from "./acting.ts";
import { fund } from "./beforehand.ts";
import { contextOf } from "./billing-scene.ts";
import { walletInvariant } from "./billing-wallet-books.ts";
import { ledgerInvariant } from "./ledger-books.ts";
import { ofAccounts } from "./of-accounts.ts";
import { purchaseActors } from "./purchases-actors.ts";
import { drawOrder, send } from "./purchases-buyers.ts";
import { claimInvariant } from "./purchases-claim-books.ts";
import { isDomainRow, observer } from "./purchases-facts.ts";
import { calm } from "./purchases-registry.ts";
import { rest } from "./purchases-rest.ts";
import { mistakes, newScene, type Mistake, type PurchaseScene } from "./purchases-scene.ts";
import { stageInvariant } from "./purchases-stage-books.ts";
import type { Random } from "./random.ts";
import type { Bug, Module, World } from "./world.ts";

const sortKeyOf = (write: Write): string => keyOf(write).SK;
const isDomain = (write: Write): boolean => isDomainRow(sortKeyOf(write));

/** These mistakes drop no condition. They change the world around the product. */
const around = Object.keys(mistakes).map((name): [string, Bug] => [name, () => false]);

/**
 * Names that three accounts buy and connect. Their money is held, and then paid for the registered name or released.
 */
export const purchasesModule: Module = {
  name: "purchases",
  bugs: {
    "domain-version": (write) => isDomain(write) && typeof write.if === "object" && !("check" in write),
    "name-holder": (write) => sortKeyOf(write) === "HOLDER" && !("check" in write),
    "name-buyer": (write) => sortKeyOf(write) === "BUYER",
    "name-in-account": (write) => sortKeyOf(write).startsWith("DOMAIN_NAME#"),
    "batch-version": (write) => sortKeyOf(write).startsWith("PURCHASE#"),
    "domain-list": (write) => /^LIST#(?:domains|workspace\/[^#]*)#HEAD$/.test(sortKeyOf(write)),
    ...Object.fromEntries(around),
  },
  open: (random, bug) => {
    const [mistake] = around.find(([, planted]) => planted === bug) ?? [];
    const scene = newScene(random, mistake as Mistake | undefined);
    const randomBefore = random.fork();
    return {
      actors: mixed(purchaseActors(scene), themes, random),
      prepare: (world) => prepare(scene, world, randomBefore),
      quiet: (world, random) => rest(scene, world, random),
      invariants: () => [
        ...[observer(scene.facts), claimInvariant(), stageInvariant(scene)].map((one) =>
          ofAccounts(scene.accounts, one),
        ),
        ...scene.accounts.flatMap((id) => [ledgerInvariant(walletOf(id)), walletInvariant(scene, id)]),
      ],
    };
  },
};

const themes = [
  [],
  ["work"],
  ["buy", "remove"],
  ["buy", "buy-again"],
  ["buy-twice", "send-again", "work"],
  ["work", "remove"],
  ["pay", "work"],
  ["pass-on", "remove"],
  ["connect", "buy", "work"],
  ["contend", "work"],
  ["renew", "work", "time"],
  ["renew", "remove", "work"],
];

/** Makes three accounts with two workspaces each, some money, and some purchases that are not over. */
async function prepare(scene: PurchaseScene, world: World, random: Random): Promise<void> {
  const { table } = world;
  const { mood } = scene.registry;
  scene.registry.mood = calm;
  const client = { id: "c0000000-0000-4000-8000-000000000000", name: "A client" };
  for (const id of scene.accounts) {
    await createAccount(table, { id, client, name: "An account", ownerId: id }, world.now());
    const context = contextOf(scene, world, id);
    const added = [await addWorkspace(id, "One", context), await addWorkspace(id, "Other", context)];
    scene.workspaces.set(
      id,
      added.map((workspace) => workspace.id),
    );
    const amount = random.pick([0, 1_500, 5_000, 50_000]);
    if (amount > 0) await fund(scene, world, id, amount);
    if (random.chance(0.5)) await send(scene, world, random, { ...drawOrder(scene, random, id), most: undefined });
  }
  scene.registry.mood = mood;
}
