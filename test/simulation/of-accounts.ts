import type { Change } from "../support/memory-table.ts";
import type { Invariant } from "./world.ts";

/** Whether a change concerns one of the accounts: by its partition, by its sort key, or by its `account_id`. */
const isOf = (accounts: readonly string[], { key, before, after }: Change): boolean =>
  accounts.some((id) => {
    const owner = (after ?? before)?.["account_id"];
    return key.PK === `ACCOUNT#${id}` || key.SK.split("#").includes(id) || owner === id;
  });

/** An invariant that sees the changes of some accounts only. The other accounts belong to other modules. */
export const ofAccounts = (accounts: readonly string[], { name, check }: Invariant): Invariant => ({
  name,
  check: (changes) => check(changes.filter((change) => isOf(accounts, change))),
});
