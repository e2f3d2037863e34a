import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { claiming, giveGroup, join, makeOwner, newGroup, newWorkspace, statusOf } from "../../../support/auth.ts";
import { entryPoints, masked, storedOf, through } from "../../../support/entry-points.ts";
import { statusesOf } from "../../../support/request.ts";
import { newAccount, newMember, newSuperAdmin, type Account, type User } from "../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const update = ({ id }: Account, groupId: string, change: object, caller: Pick<User, "token">) =>
    attempt("auth.groups.update", { account_id: id, group_id: groupId, ...change }, caller);

  test("changes only the given members, and null empties the description and the attributes", async () => {
    const account = await newAccount();
    const { id } = await newGroup(account, "Support");
    const to = async (change: object) => (await update(account, id, change, account.owner)).body;
    const first = await to({ name: " Help ", description: "Desk", attributes: { a: 1 } });
    expect(first).toMatchObject({ id, name: "Help", path: "/Help", description: "Desk", attributes: { a: 1 } });
    expect(await to({ name: "Helpers" })).toEqual({ ...first, name: "Helpers", path: "/Helpers" });
    expect(await to({ description: null, attributes: null })).toMatchObject({ description: null, attributes: {} });
    expect((await to({ description: "again" })).idp_name).toBe(first.idp_name);
  });

  test("a rename keeps the members and frees the old name; a taken name is refused", async () => {
    const account = await newAccount();
    const [group, other] = [await newGroup(account, "Support"), await newGroup(account, "Sales")];
    await giveGroup(account, group, "workspace.view");
    const taken = await update(account, group.id, { name: "SALES" }, account.owner);
    expect(taken.body).toMatchObject({ status: 409, code: "group_name_taken", conflicts_with: other.id });
    expect((await update(account, group.id, { name: "support" }, account.owner)).status).toBe(200);
    expect((await update(account, group.id, { name: "Help" }, account.owner)).status).toBe(200);
    expect(await statusOf(account, claiming(group))).toBe(200);
    const again = await newGroup(account, "Support");
    expect(await statusOf(account, claiming(again))).toBe(403);
  });

  test("members inherit the permissions of a new parent from the next request on, and lose them when their group moves out", async () => {
    const account = await newAccount();
    const [outer, inner] = [await newGroup(account, "Outer"), await newGroup(account, "Inner")];
    await giveGroup(account, outer, "workspace.view");
    const explicit = await newMember(account, { capability: "tag.manage" });
    await join(account, inner, explicit.id);
    const statuses = () => Promise.all([claiming(inner), explicit].map((member) => statusOf(account, member)));
    expect(await statuses()).toEqual([403, 403]);
    const moved = await update(account, inner.id, { parent_id: outer.id }, account.owner);
    expect(moved.body).toMatchObject({ parent_id: outer.id, path: "/Outer/Inner" });
    expect(await statuses()).toEqual([200, 200]);
    expect((await update(account, inner.id, { parent_id: null }, account.owner)).body.parent_id).toBe(null);
    expect(await statuses()).toEqual([403, 403]);
  });

  test("nobody moves a group into a parent whose permissions they lack", async () => {
    const account = await newAccount();
    const workspace = await newWorkspace(account, "One");
    const names = ["Mine", "Strong", "Stronger", "Owners", "Narrow"];
    const groups = [];
    for (const name of names) groups.push(await newGroup(account, name));
    const [mine, strong, stronger, owners, narrow] = groups.map(({ id }) => id) as [
      string,
      string,
      string,
      string,
      string,
    ];
    await giveGroup(account, { id: stronger }, "billing.manage");
    await update(account, strong, { parent_id: stronger }, account.owner);
    await giveGroup(account, { id: strong }, "dns.manage");
    await makeOwner(account, owners, "group");
    await giveGroup(account, { id: narrow }, "ip.assign", workspace);
    const manager = await newMember(account, { capability: "auth.manage" }, { capability: "dns.manage" });
    await join(account, { id: mine }, manager.id);
    const before = await storedOf(account);
    for (const [parent_id, missing] of [
      [strong, ["billing.manage"]],
      [stronger, ["billing.manage"]],
      [owners, ["account_owner"]],
      [narrow, ["ip.assign"]],
    ] as const) {
      const refused = await update(account, mine, { name: "Renamed", parent_id }, manager);
      expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing });
    }
    expect(await storedOf(account)).toEqual(before);
    expect((await update(account, mine, { parent_id: strong }, await newSuperAdmin())).status).toBe(200);
  });

  test("needs no permissions of the parent if the parent stays the same", async () => {
    const account = await newAccount();
    const outer = await newGroup(account, "Outer");
    await giveGroup(account, outer, "billing.manage");
    const inner = await newGroup(account, "Inner", outer);
    const manager = await newMember(account, { capability: "auth.manage" });
    const renamed = await update(account, inner.id, { name: "Renamed", parent_id: outer.id }, manager);
    expect([renamed.status, renamed.body.path]).toEqual([200, "/Outer/Renamed"]);
  });

  test("refuses cycles of one, two and three groups", async () => {
    const account = await newAccount();
    const a = await newGroup(account, "A");
    const b = await newGroup(account, "B", a);
    const c = await newGroup(account, "C", b);
    const before = await storedOf(account);
    for (const parent of [a, b, c]) {
      const refused = await update(account, a.id, { parent_id: parent.id, name: "Z" }, account.owner);
      expect(refused.body).toMatchObject({ status: 409, code: "group_cycle" });
    }
    expect(await storedOf(account)).toEqual(before);
  });

  test("refuses one of three concurrent moves that together would make a cycle", async () => {
    for (let round = 0; round < 5; round++) {
      const account = await newAccount();
      const [a, b, c] = [await newGroup(account, "A"), await newGroup(account, "B"), await newGroup(account, "C")];
      const moves = [
        [a, b],
        [b, c],
        [c, a],
      ] as const;
      const answers = await Promise.all(
        moves.map(([group, parent]) => update(account, group.id, { parent_id: parent.id }, account.owner)),
      );
      expect(statusesOf(answers)).toEqual([200, 200, 409]);
      expect(answers.find(({ status }) => status === 409)?.body.code).toBe("group_cycle");
    }
  });

  test("refuses to nest more than 16 deep, whether a group moves below the deepest one or above the top one", async () => {
    const account = await newAccount();
    let deepest = await newGroup(account, "1");
    for (let depth = 2; depth <= 16; depth++) deepest = await newGroup(account, String(depth), deepest);
    const single = await newGroup(account, "single");
    const below = await update(account, single.id, { parent_id: deepest.id }, account.owner);
    expect(below.body).toMatchObject({ status: 409, code: "limit_reached" });
    const { body } = await attempt("auth.groups.list", { account_id: account.id, page_size: 1 }, account.owner);
    const above = await update(account, body.items[0].id, { parent_id: single.id }, account.owner);
    expect(above.body).toMatchObject({ status: 409, code: "limit_reached" });
  });

  test("another account's group gets the same answer as a missing one: 404 in the path, 422 as the parent", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const [own, foreign] = [await newGroup(account, "Ours"), await newGroup(other, "Theirs")];
    const before = [await storedOf(account), await storedOf(other)];
    const missing = masked((await update(account, randomUUID(), { name: "X" }, account.owner)).body);
    expect(masked((await update(account, foreign.id, { name: "X" }, account.owner)).body)).toBe(missing);
    const parent = async (parent_id: string) => update(account, own.id, { parent_id }, account.owner);
    const unknown = { loc: ["body", "parent_id"], msg: "There is no such group in this account", type: "not_found" };
    expect(await parent(foreign.id)).toMatchObject({ status: 422, body: { detail: [unknown] } });
    expect(masked((await parent(foreign.id)).body)).toBe(masked((await parent(randomUUID())).body));
    expect([await storedOf(account), await storedOf(other)]).toEqual(before);
  });

  test.each([
    [{ name: "" }, "name"],
    [{ name: null }, "name"],
    [{ parent_id: "x" }, "parent_id"],
    [{ description: 7 }, "description"],
    [{ attributes: "x" }, "attributes"],
  ])("refuses %j at its place", async (change, name) => {
    const account = await newAccount();
    const { id } = await newGroup(account, "Support");
    const answer = await update(account, id, change, account.owner);
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", name] }] } });
  });
});
