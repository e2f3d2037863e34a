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
import { lifeActors, transferBefore } from "./lives-actors.ts";
import { lifeInvariant } from "./lives-books.ts";
import { restOfLives } from "./lives-rest.ts";
import { lifeMistakes, newLifeScene, type LifeMistake, type LifeScene } from "./lives-scene.ts";
import { ofAccounts } from "./of-accounts.ts";
import { claimInvariant } from "./purchases-claim-books.ts";
import { isDomainRow, observer } from "./purchases-facts.ts";
import type { Random } from "./random.ts";
import type { Bug, Module, World } from "./world.ts";

/** These mistakes drop no condition. They change the world around the product. */
const around = Object.keys(lifeMistakes).map((name): [string, Bug] => [name, () => false]);

const isLifeRow = (write: Write): boolean => isDomainRow(keyOf(write).SK);

/** Two accounts whose names are transferred here and away, renewed, left to expire, deleted and restored. */
export const livesModule: Module = {
  name: "lives",
  bugs: {
    "transferred-version": (write) => isLifeRow(write) && typeof write.if === "object" && !("check" in write),
    "transferred-buyer": (write) => keyOf(write).SK === "BUYER",
    ...Object.fromEntries(around),
  },
  open: (random, bug) => {
    const [mistake] = around.find(([, planted]) => planted === bug) ?? [];
    const scene = newLifeScene(random, mistake as LifeMistake | undefined);
    const randomBefore = random.fork();
    return {
      actors: mixed(lifeActors(scene), themes, random),
      prepare: (world) => prepare(scene, world, randomBefore),
      quiet: (world, random) => restOfLives(scene, world, random),
      invariants: () => [
        ...[observer(scene.facts), claimInvariant(), lifeInvariant(scene)].map((one) =>
          ofAccounts(scene.accounts, one),
        ),
        ...scene.accounts.flatMap((id) => [ledgerInvariant(walletOf(id)), walletInvariant(scene, id)]),
      ],
    };
  },
};

const themes = [
  ["transfer", "work"],
  ["transfer", "transfer-again", "work"],
  ["connect", "transfer", "work"],
  ["leave", "transfer", "work"],
  ["time", "renew", "work"],
  ["renew", "renew-by-hand", "work"],
  ["remove", "transfer", "work"],
  ["pay", "transfer", "work"],
  ["remove", "restore", "work"],
  ["time", "remove", "restore"],
  ["time", "work"],
];

/**
 * Makes two accounts with a workspace each, most of them with money. In half of the schedules, the accounts with money
 * have transferred a name.
 */
async function prepare(scene: LifeScene, world: World, random: Random): Promise<void> {
  const { table } = world;
  const isGrown = random.chance(0.5);
  const client = { id: "c0000000-0000-4000-8000-000000000000", name: "A client" };
  for (const id of scene.accounts) {
    await createAccount(table, { id, client, name: "An account", ownerId: id }, world.now());
    const { id: workspaceId } = await addWorkspace(id, "One", contextOf(scene, world, id));
    scene.workspaces.set(id, workspaceId);
    const amount = random.pick([0, 2_000, 50_000, 50_000]);
    if (amount === 0) continue;
    await fund(scene, world, id, amount);
    if (isGrown) await transferBefore(scene, world, random, id);
  }
}
