import { change } from "../changes/kind.ts";
import type { ChangePlan } from "../changes/recorder.ts";
import { Problem } from "../core/errors.ts";
import { valueOn, withFormer } from "../core/former.ts";
import { dayOf, type Day } from "../core/time.ts";
import { appendRows, readHeads, readList, removeRows, type ListState } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { accountKey, accountKind, listsOf, type AccountStatus, type Debt, type StoredAccount } from "./account.ts";

function ordinalIn({ id, ordinals }: StoredAccount, list: string): number {
  const ordinal = ordinals[list];
  if (ordinal === undefined) throw new Error(`Account ${id} has no ordinal for the list ${list}.`);
  return ordinal;
}

/** The status of an account at the end of a day. For today and later days, it is the present status. */
export const statusOn = ({ status, former_statuses }: StoredAccount, day: Day): AccountStatus =>
  valueOn(day, { status }, former_statuses).status;

/**
 * Plans the change of an account's status, and the move of the account between the lists by status. `debt` is the money
 * that the account owes, if billing changes the status for this reason. Plans no writes if the account has the status
 * already. Throws 409 `account_closed` if the account is closed and `status` is another status.
 */
export async function planAccountStatus(
  table: Reader,
  account: StoredAccount,
  status: AccountStatus,
  now: Date,
  debt?: Debt,
): Promise<ChangePlan<StoredAccount>> {
  if (account.status === status) return { value: account, writes: [], changes: [] };
  if (account.status === "closed") {
    const verb = status === "suspended" ? "suspended" : "opened again";
    throw new Problem("account_closed", `The account is closed, so it cannot be ${verb}.`);
  }
  // Only the last two of the four lists depend on the status.
  const former = listsOf(account).slice(2);
  const formerStates = await Promise.all(
    former.map(async (list) => (await readList(table, list, [ordinalIn(account, list.name)])).state),
  );
  const { writes, ordinals } = enlist(await readHeads(table, listsOf({ ...account, status }).slice(2)), account.id);
  const kept = Object.entries(account.ordinals).filter(([name]) => !former.some((list) => list.name === name));
  const { debt: _, ...rest } = account;
  const changed: StoredAccount = {
    ...rest,
    status,
    ...(debt === undefined ? {} : { debt }),
    former_statuses: withFormer<{ status: AccountStatus }>(
      account.former_statuses,
      { status: account.status },
      dayOf(now),
    ),
    ordinals: { ...Object.fromEntries(kept), ...ordinals },
    updated_at: now.toISOString(),
    version: account.version + 1,
  };
  const removals = formerStates.flatMap((state) => removeRows(state, [ordinalIn(account, state.list.name)]));
  return {
    value: changed,
    writes: [
      { put: { ...accountKey(account.id), ...changed }, if: { version: account.version } },
      ...removals,
      ...writes,
    ],
    changes: [change(accountKind, "updated", account.id, { before: account, after: changed })],
  };
}

/** The writes that append an account to lists, and its ordinal in each list. */
export function enlist(
  states: readonly ListState[],
  accountId: string,
): { writes: Write[]; ordinals: Record<string, number> } {
  return {
    writes: states.flatMap((state) => appendRows(state, [{ account_id: accountId }])),
    ordinals: Object.fromEntries(states.map((state) => [state.list.name, state.next])),
  };
}
