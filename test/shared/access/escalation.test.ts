import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import {
  heldNow,
  permissionsOfGroup,
  permissionsOfServiceAccount,
  ownershipIn,
  requireToHold,
} from "../../../shared/access/escalation.ts";
import { accessKey, groupsKey, userKey, type GroupsRecord } from "../../../shared/accounts/standing.ts";
import type { HeldGrant, Permissions } from "../../../shared/auth/permissions.ts";
import type { Table } from "../../../shared/table/table.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

const account = "account";
const now = new Date("2026-03-01T00:00:00.000Z");
const gone = { type: "workspace" as const, id: "99999999-9999-4999-8999-999999999999" };
const permissionsOf = (more: Partial<Permissions>): Permissions => ({
  member: true,
  everything: false,
  superAdmin: false,
  grants: [],
  ...more,
});

/** Returns `may` if the giver may give `handed`. Otherwise returns the names of the missing permissions. */
async function tried(permissions: Partial<Permissions>, handed: Parameters<typeof requireToHold>[2], isSuper = false) {
  const table = openMemoryTable(createMemoryStore());
  const principal = { type: "user" as const, id: "u", email: "", groups: [] };
  if (isSuper) await table.attempt({ put: { ...userKey("u"), super_admin_grants: ["g"], version: 1 } });
  const giver = { permissions: permissionsOf(permissions), principal, table, now: () => now };
  return requireToHold(giver, account, handed).then(
    () => "may",
    ({ code, message, extras }: { code: string; message: string; extras: { missing: string[] } }) => {
      expect(code).toBe("would_escalate");
      for (const name of extras.missing) expect(message).toContain(name);
      return extras.missing;
    },
  );
}

describe("a giver of permissions", () => {
  const holder = { grants: [{ id: "g", role: "dns_manager" as const }] };

  test("must hold every capability of what is given, and the error lists each missing capability once, sorted", async () => {
    expect(await tried(holder, [{ capability: "dns.view" }, { role: "dns_manager" }])).toBe("may");
    expect(
      await tried(holder, [{ role: "ip_manager" }, { capability: "dns.view" }, { capability: "ip.view" }]),
    ).toEqual(["ip.assign", "ip.manage", "ip.view"]);
    expect(await tried(holder, [])).toBe("may");
  });

  test("may give a permission on a resource that the account does not have, because it has no effect", async () => {
    expect(await tried({}, [{ capability: "ip.view", scope: gone }])).toBe("may");
    expect(await tried({}, [{ capability: "ip.view", scope: { type: "account", id: "other" } }])).toBe("may");
    expect(await tried({}, [{ capability: "ip.view", scope: { type: "account", id: account } }])).toEqual(["ip.view"]);
    expect(await tried({}, [{ capability: "ip.view", scope: { type: "proxy", id: "x" } }])).toBe("may");
  });

  test("must hold a permission on a deleted mailbox to give it, because the mailbox can be restored", async () => {
    const scope = { type: "mailbox" as const, id: gone.id };
    expect(await tried({}, [{ capability: "mailbox.reveal", scope }])).toEqual(["mailbox.reveal"]);
    const held = { grants: [{ id: "g", capability: "mailbox.reveal" as const, scope }] };
    expect(await tried(held, [{ capability: "mailbox.reveal", scope }])).toBe("may");
  });

  test("can give permissions on many resources, because all resources are read at the same time", async () => {
    const running = { now: 0, most: 0 };
    const step = async () => {
      running.most = Math.max(running.most, (running.now += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running.now -= 1;
      return undefined;
    };
    const table = openMemoryTable(createMemoryStore(), { step });
    const principal = { type: "user" as const, id: "u", email: "", groups: [] };
    const handed = Array.from({ length: 50 }, () => ({
      capability: "dns.view" as const,
      scope: { type: "workspace" as const, id: randomUUID() },
    }));
    await requireToHold({ permissions: permissionsOf(holder), principal, table, now: () => now }, account, handed);
    expect(running.most).toBe(50);
  });

  test("must be an owner to give ownership, and a super admin to make a super admin", async () => {
    expect(await tried(holder, ["account_owner"])).toEqual(["account_owner"]);
    expect(await tried({ everything: true }, ["account_owner", { role: "manager" }])).toBe("may");
    expect(await tried({ everything: true }, ["super_admin"])).toEqual(["super_admin"]);
    expect(await tried({ everything: true, superAdmin: true }, ["super_admin", "account_owner"])).toBe("may");
  });

  test("may give everything as a super admin, even with few permissions of their own in the account", async () => {
    expect(await tried(holder, ["super_admin", "account_owner", { role: "manager" }], true)).toBe("may");
  });
});

const [a, b, c]: HeldGrant[] = ["a", "b", "c"].map((id) => ({ id, capability: "ip.view" as const }));
const grants = (...all: (HeldGrant | undefined)[]) => all.filter((one) => one !== undefined);
const record: GroupsRecord = {
  version: 7,
  groups: {
    inner: { grants: grants(a), parent_id: "outer" },
    outer: { grants: grants(b), owner_grant_id: "o" },
    other: { grants: grants(c) },
  },
};

test("a group gives its own permissions and its parents' permissions, ownership included", () => {
  expect(permissionsOfGroup(record, "inner", now)).toEqual([a, b, "account_owner"]);
  expect(permissionsOfGroup(record, "other", now)).toEqual([c]);
  expect(permissionsOfGroup(record, "gone", now)).toEqual([]);
  expect(ownershipIn(permissionsOfGroup(record, "inner", now), now)).toEqual([heldNow("account_owner", now)]);
  expect(ownershipIn([{ capability: "ip.view" }, "super_admin"], now)).toEqual([]);
});

describe("the permissions of a service account", () => {
  const key = accessKey(account, { type: "service_account", id: "s" });
  const handed = async (stored: object | undefined, groups?: GroupsRecord) => {
    const table: Table = openMemoryTable(createMemoryStore());
    if (stored) await table.attempt({ put: { ...key, grants: [], version: 3, ...stored } });
    if (groups) await table.attempt({ put: { ...groupsKey(account), ...groups } });
    return permissionsOfServiceAccount(table, account, "s", now);
  };
  const own = { check: key, if: { version: 3 } };
  const ofGroups = { check: groupsKey(account), if: { version: 7 } };

  test("are its own and those of its groups, with checks that fail once these permissions change", async () => {
    expect(await handed({ grants: [c] }, record)).toEqual({ permissions: [c], unchanged: [own] });
    expect(await handed({ owner_grant_id: "o" })).toEqual({ permissions: ["account_owner"], unchanged: [own] });
    expect(await handed({ grants: [c], groups: ["inner"] }, record)).toEqual({
      permissions: [c, a, b, "account_owner"],
      unchanged: [own, ofGroups],
    });
  });

  test("are refused with `not_found` if the service account does not exist", async () => {
    await expect(handed(undefined, record)).rejects.toMatchObject({ code: "not_found" });
  });
});
