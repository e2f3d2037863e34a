import type { Change } from "../support/memory-table.ts";
import type { Invariant } from "./world.ts";

/** Whether a change is of one of some accounts: in its partition, in a queue, or of something it holds. */
const isOf = (accounts: readonly string[], { key, before, after }: Change): boolean =>
  accounts.some((id) => {
    const owner = (after ?? before)?.["account_id"];
    return key.PK === `ACCOUNT#${id}` || key.SK.split("#").includes(id) || owner === id;
  });

/** An invariant that is told of some accounts alone: others are another part's. */
export const ofAccounts = (accounts: readonly string[], { name, check }: Invariant): Invariant => ({
  name,
  check: (changes) => check(changes.filter((change) => isOf(accounts, change))),
});
