import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import {
  capabilityFor,
  claiming,
  giveGroup,
  isSuperAdmin,
  join,
  newGroup,
  newWorkspace,
} from "../../../support/auth.ts";
import { entryPoints, storedOf, through } from "../../../support/entry-points.ts";
import { newAccount, newMember, newServiceAccount, newUser } from "../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const give = (args: Record<string, unknown>, caller: { token: string }) =>
    attempt("auth.authorizations.grant", args, caller);

  describe("nobody grants permissions that they do not hold:", () => {
    async function withManager() {
      const account = await newAccount();
      const [one, two] = [await newWorkspace(account, "One"), await newWorkspace(account, "Two")];
      const group = await newGroup(account, "Friends");
      const manager = await newMember(
        account,
        { capability: "auth.manage" },
        { capability: "credential.view" },
        { capability: "workspace.manage", scope: { type: "workspace", id: one } },
      );
      await join(account, group, manager.id);
      const program = await attempt("auth.service_accounts.create", { account_id: account.id, name: "Mine" }, manager);
      return { account, one, two, group, manager, program: String(program.body.id) };
    }
    type World = Awaited<ReturnType<typeof withManager>>;
    const key = (capability_key: string) => ({ grant_kind: "capability", capability_key });
    const workspace = (resource_id: string) => ({ resource_type: "workspace", resource_id });
    const cases: [string, (world: World) => Record<string, unknown>, string[]][] = [
      ["to themselves", ({ manager }) => ({ ...key("billing.view"), subject_id: manager.id }), ["billing.view"]],
      ["to another user", () => ({ ...key("dns.manage"), subject_id: randomUUID() }), ["dns.manage"]],
      [
        "to a group they are in",
        ({ group }) => ({ ...key("mailbox.reveal"), subject_id: group.id, subject_type: "group" }),
        ["mailbox.reveal"],
      ],
      [
        "to a service account they made",
        ({ program }) => ({ ...key("dns.view"), subject_id: program, subject_type: "service_account" }),
        ["dns.view"],
      ],
      [
        "on the account, if they hold the permission on a workspace",
        ({ manager }) => ({ ...key("workspace.manage"), subject_id: manager.id }),
        ["workspace.manage"],
      ],
      [
        "on a workspace, if they hold the permission on another workspace",
        ({ manager, two }) => ({ ...key("workspace.manage"), subject_id: manager.id, ...workspace(two) }),
        ["workspace.manage"],
      ],
      [
        "on a workspace where they hold only another capability",
        ({ manager, one }) => ({ ...key("workspace.view"), subject_id: manager.id, ...workspace(one) }),
        ["workspace.view"],
      ],
      [
        "ownership to themselves",
        ({ manager }) => ({ grant_kind: "account_owner", subject_id: manager.id }),
        ["account_owner"],
      ],
      [
        "ownership to a service account they made",
        ({ program }) => ({ grant_kind: "account_owner", subject_id: program, subject_type: "service_account" }),
        ["account_owner"],
      ],
      ["super admin", ({ manager }) => ({ grant_kind: "super_admin", subject_id: manager.id }), ["super_admin"]],
    ];

    test.each(cases)("%s", async (_, argumentsOf, missing) => {
      const world = await withManager();
      const before = await storedOf(world.account);
      const args = { account_id: world.account.id, subject_type: "user", ...argumentsOf(world) };
      const refused = await give(args, world.manager);
      expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing });
      expect(await storedOf(world.account)).toEqual(before);
      expect(await isSuperAdmin(world.manager.token)).toBe(false);
    });

    test("a holder can grant a permission on the same scope and on the scopes inside it", async () => {
      const { account, one, manager } = await withManager();
      const to = (args: object) =>
        give({ account_id: account.id, subject_type: "user", subject_id: randomUUID(), ...args }, manager);
      expect((await to({ ...key("workspace.manage"), ...workspace(one) })).status).toBe(201);
      expect((await to({ ...key("credential.view"), ...workspace(one) })).status).toBe(201);
    });

    test("auth.manage on a workspace is not enough to grant permissions on this workspace", async () => {
      const account = await newAccount();
      const scope = { type: "workspace" as const, id: await newWorkspace(account, "One") };
      const narrow = await newMember(account, { capability: "auth.manage", scope }, { capability: "dns.view", scope });
      const args = { ...capabilityFor(account, newUser().id, "dns.view"), ...workspace(scope.id) };
      expect((await give(args, narrow)).body).toMatchObject({ code: "forbidden", required_capability: "auth.manage" });
    });

    test("grants by a service account are limited to the permissions of the service account", async () => {
      const account = await newAccount();
      const program = await newServiceAccount(account, { capability: "auth.manage" });
      const refused = await give(capabilityFor(account, program.id, "dns.view", "service_account"), program);
      expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing: ["dns.view"] });
    });
  });

  test("a member can grant the permissions of the group, until the group loses them", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    await giveGroup(account, group, "auth.manage");
    const { id } = await giveGroup(account, group, "dns.view");
    const member = claiming(group);
    expect((await give(capabilityFor(account, randomUUID(), "dns.view"), member)).status).toBe(201);
    await attempt("auth.authorizations.revoke", { account_id: account.id, grant_id: id }, account.owner);
    const refused = await give(capabilityFor(account, randomUUID(), "dns.view"), member);
    expect(refused.body).toMatchObject({ code: "would_escalate", missing: ["dns.view"] });
  });
});
