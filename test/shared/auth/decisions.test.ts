import fc from "fast-check";
import { afterEach, expect, test } from "vitest";

import { route as listAccounts } from "../../../functions/accounts/list.ts";
import { route as getWorkspace } from "../../../functions/workspaces/get.ts";
import { route as listWorkspaces } from "../../../functions/workspaces/list.ts";
import { route as updateWorkspace } from "../../../functions/workspaces/update.ts";
import { listMembers } from "../../../shared/access/groups/members.ts";
import { capabilities, type Capability } from "../../../shared/auth/capabilities.ts";
import { covers, holdsAnywhere } from "../../../shared/auth/permissions.ts";
import { clock, setClockAhead } from "../../../shared/core/time.ts";
import { listAssignments } from "../../../shared/grants/assignments.ts";
import { workspaceScope } from "../../../shared/workspaces/workspace.ts";
import { callRest } from "../../support/call.ts";
import { isKnown, isSuperAdmin, lasts, may, mayAnywhere, placeOf, type Asker } from "./decisions/model.ts";
import { step, type Step } from "./decisions/scene.ts";
import { furnish, take } from "./decisions/steps.ts";
import { askersOf, contextOf, newWorld, permissionsOf, tokenOf, type World } from "./decisions/world.ts";

afterEach(() => setClockAhead(0));

const decisionsAtLeast = 20_000;

/** The longest time to look for a difference and to shrink the steps that lead to it, in milliseconds. */
const searchMs = 100_000;

/**
 * The number of compared decisions, and a line for each decision in which the product differs from the model. The line
 * ends with the decision of the model.
 */
type Compared = { decisions: number; differences: string[] };

/**
 * Compares the decisions about one caller in one account: each capability on the account, on each workspace that ever
 * existed, and on anything in the account.
 */
async function compareOne(world: World, asker: Asker, accountId: string, compared: Compared): Promise<void> {
  const real = await permissionsOf(world, asker, accountId);
  const place = placeOf(world.model, asker, accountId);
  const note = (capability: Capability, on: string, allowed: boolean, expected: boolean): void => {
    compared.decisions += 1;
    if ((real.member && allowed) !== expected)
      compared.differences.push(`${asker.type} ${asker.id}, ${capability} on ${on} of ${accountId}: ${expected}`);
  };
  for (const capability of capabilities) {
    note(capability, "account", covers(real, capability, []), may(place, capability));
    note(capability, "anything", holdsAnywhere(real, capability), mayAnywhere(place, capability));
    for (const { id } of world.ever.workspace) {
      const scopes = workspaceScope({ account_id: accountId, workspace_id: id });
      note(capability, id, covers(real, capability, scopes), may(place, capability, id));
    }
  }
}

async function compareAll(world: World): Promise<Compared> {
  const compared: Compared = { decisions: 0, differences: [] };
  const pairs = askersOf(world).flatMap((asker) => world.accountIds.map((accountId) => ({ asker, accountId })));
  await Promise.all(pairs.map(({ asker, accountId }) => compareOne(world, asker, accountId, compared)));
  return compared;
}

/** The status of a route about one workspace, by the rules of the model. */
function statusOf({ model }: World, asker: Asker, capability: Capability, accountId: string, id: string): number {
  const place = placeOf(model, asker, accountId);
  if (!isKnown(model, asker)) return 401;
  if (!place.member) return 404;
  if (may(place, capability, id)) return model.workspaces.get(id)?.accountId === accountId ? 200 : 404;
  const holdsSome = mayAnywhere(place, "workspace.view") || mayAnywhere(place, capability);
  // A caller who holds permissions only on other workspaces does not learn whether this workspace exists.
  return holdsSome && !may(place, "workspace.view", id) ? 404 : 403;
}

type Shown = { status: number; total?: number; ids?: string[] };

/** The status of an answer. If it is 200, also the total and the ids on the page. */
const shown = ({ status, body }: Awaited<ReturnType<typeof callRest>>): Shown =>
  status === 200 ? { status, total: body.total, ids: body.items.map(({ id }: { id: string }) => id) } : { status };

const all = (ids: string[]): Shown => ({ status: 200, total: ids.length, ids });

function workspacesSeen({ model }: World, asker: Asker, accountId: string): Shown {
  const place = placeOf(model, asker, accountId);
  if (!isKnown(model, asker)) return { status: 401 };
  if (!place.member) return { status: 404 };
  if (!mayAnywhere(place, "workspace.view")) return { status: 403 };
  const own = [...model.workspaces].filter(([, one]) => one.accountId === accountId).map(([id]) => id);
  return all(own.filter((id) => may(place, "workspace.view", id)));
}

function accountsSeen({ model, accountIds }: World, asker: Asker): Shown {
  const seen = accountIds.filter((id) => placeOf(model, asker, id).member);
  return isKnown(model, asker) ? all(seen.toSorted()) : { status: 401 };
}

/**
 * Compares the answers of the Lambda handlers to one caller, about one workspace. The workspace may be deleted, or
 * belong to the other account.
 */
async function compareRoutes(world: World, asker: Asker, accountId: string, id: string): Promise<void> {
  const token = tokenOf(world, asker);
  const path = { account_id: accountId, workspace_id: id };
  const read = await callRest(getWorkspace, path, token);
  expect(read.status).toBe(statusOf(world, asker, "workspace.view", accountId, id));
  const name = world.ever.workspace.find((one) => one.id === id)?.name;
  const written = await callRest(updateWorkspace, { ...path, name }, token);
  expect(written.status).toBe(statusOf(world, asker, "workspace.manage", accountId, id));
  const listed = await callRest(listWorkspaces, { account_id: accountId, page_size: 100 }, token);
  expect(shown(listed)).toEqual(workspacesSeen(world, asker, accountId));
  const filter = isSuperAdmin(world.model, asker) ? { client_id: world.clientId } : {};
  const { ids, ...accounts } = shown(await callRest(listAccounts, filter, token));
  expect({ ...accounts, ...(ids ? { ids: ids.toSorted() } : {}) }).toEqual(accountsSeen(world, asker));
}

/** Compares the lists of assignments and of group members with the model. */
async function compareLists(world: World): Promise<void> {
  const { model, accountIds } = world;
  const context = await contextOf(world, { type: "user", id: world.users[0] ?? "" }, accountIds[0]);
  const assignments = await Promise.all(accountIds.map((id) => listAssignments(context.table, id, false, clock())));
  expect(new Set(assignments.flat().map(({ id }) => id))).toEqual(
    new Set([...model.assignments].flatMap(([id, { given }]) => (lasts(model, given, "now") ? [id] : []))),
  );
  for (const [groupId, { accountId }] of model.groups) {
    const { items, total } = await listMembers(accountId, groupId, { page: 1, page_size: 100 }, context);
    const ids = model.members.filter((one) => one.groupId === groupId).map(({ id }) => id);
    expect({ total, ids: items.map((item) => item.subject_id) }).toEqual({ total: ids.length, ids });
  }
}

const stepsBetween = 8;

test(
  "the product decides as a simple model of the rules does, after random changes of grants, roles and groups",
  { timeout: searchMs + 60_000 },
  async () => {
    let decisions = 0;
    const compare = async (world: World, { first, second, account }: Step): Promise<void> => {
      const compared = await compareAll(world);
      expect(compared.differences).toEqual([]);
      decisions += compared.decisions;
      const askers = askersOf(world);
      const asker = askers[first % askers.length];
      const workspace = world.ever.workspace[second % world.ever.workspace.length];
      if (asker && workspace) await compareRoutes(world, asker, world.accountIds[account], workspace.id);
      await compareLists(world);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 100, size: "max" }), async (steps) => {
        const world = await newWorld();
        await furnish(world);
        for (const [index, one] of steps.entries()) {
          const answered = await take(world, one);
          expect({ kind: one.kind, answer: answered?.real }).toEqual({ kind: one.kind, answer: answered?.model });
          if (index % stepsBetween === 0 || index === steps.length - 1) await compare(world, one);
        }
      }),
      { numRuns: 8, interruptAfterTimeLimit: searchMs, markInterruptAsFailure: true },
    );
    expect(decisions).toBeGreaterThanOrEqual(decisionsAtLeast);
  },
);
