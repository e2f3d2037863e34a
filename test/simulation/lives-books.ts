import { StoredMovement } from "../../shared/ledger/movement.ts";
import { byHand, type LifeOperation } from "./lives-registry.ts";
import type { LifeScene } from "./lives-scene.ts";
import { mustHold, type Invariant } from "./world.ts";

const isSettled = ({ settlesMs }: LifeOperation, seenMs: number): boolean => settlesMs <= seenMs;

/**
 * The hold for a transfer or a renewal is captured for one operation that succeeded. It is voided only if no operation
 * succeeded and none runs. A renewal is also captured if an operator renewed the name by hand meanwhile.
 */
export const lifeInvariant = (scene: LifeScene): Invariant => ({
  name: "the payments of transfers and renewals",
  check: (changes) => {
    for (const { key, after } of changes) {
      if (/^LEDGER#MOVEMENT#(?:purchase|renewal)\//.test(key.SK) && after)
        checkPaid(scene, StoredMovement.parse(after));
    }
  },
});

export function checkPaid({ registry, facts, seenMs }: LifeScene, { id, status }: StoredMovement): void {
  const all = registry.operations.filter(({ holdId }) => holdId === id);
  const done = all.filter((one) => one.outcome === "succeeded" && isSettled(one, seenMs));
  const running = all.filter((one) => !isSettled(one, seenMs));
  const { name } = facts.lives.get(id.split("/")[1] ?? "") ?? {};
  const isByHand = registry.operations.some((one) => one.holdId === byHand && one.name === name);
  mustHold(done.length <= 1, () => `${id} paid for ${done.length} operations`);
  if (status === "captured")
    mustHold(done.length === 1 || isByHand, () => `${id} is paid, and nothing was done for it`);
  const isFree = done.length + running.length === 0;
  if (status === "voided") mustHold(isFree, () => `${id} was given back, and something is done for it`);
}
