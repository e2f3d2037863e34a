import { describe, expect, test } from "vitest";

import { asOwner, withRole } from "../../../support/auth.ts";
import { withStep } from "../../../support/between-calls.ts";
import { entryPoints, through } from "../../../support/entry-points.ts";
import { newAccount, newUser, type Account } from "../../../support/world.ts";

const assign = (account: Account, subject_id = newUser().id) =>
  asOwner(account, "POST", "role-assignments", { role_key: "support", subject_id, subject_type: "user" });

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const remove = ({ id, owner }: Account, role = "support") =>
    attempt("auth.roles.delete", { account_id: id, role }, owner);

  test("deletes a role that nobody holds, and its key is free again", async () => {
    const account = await withRole();
    expect((await remove(account)).status).toBe(200);
    expect((await remove(account)).status).toBe(404);
    const body = { role_key: "support", subject_id: newUser().id, subject_type: "user" };
    const refused = await attempt("auth.role_assignments.assign", { account_id: account.id, ...body }, account.owner);
    expect(refused.body.detail).toMatchObject([{ loc: ["body", "role_key"], type: "not_found" }]);
    await asOwner(account, "POST", "roles", { key: "support", name: "Support", capability_keys: ["ip.view"] });
  });

  test("refuses while the role is assigned, and returns the number of assignments", async () => {
    const account = await withRole();
    const [first, second] = [await assign(account), await assign(account)];
    expect((await remove(account)).body).toMatchObject({ status: 409, code: "role_in_use", assignments: 2 });
    for (const { id } of [first, second]) await asOwner(account, "DELETE", `role-assignments/${String(id)}`);
    expect((await remove(account)).status).toBe(200);
    const args = { account_id: account.id, include_revoked: true };
    const listed = await attempt("auth.role_assignments.list", args, account.owner);
    expect(listed.body).toMatchObject([
      { role_key: "support", expanded_capability_keys: [] },
      { role_key: "support", expanded_capability_keys: [] },
    ]);
  });

  test("refuses a built-in role", async () => {
    expect((await remove(await newAccount(), "viewer")).body).toMatchObject({ status: 409, code: "role_built_in" });
  });
});

test("an assignment between any two table calls of a deletion either is refused or keeps the role", async () => {
  const attempt = through("REST");
  for (let at = 0, calls = 1; at < calls; at++) {
    const account = await withRole();
    const given = { account_id: account.id, role_key: "support", subject_id: newUser().id, subject_type: "user" };
    const done = await withStep(
      at,
      () => attempt("auth.role_assignments.assign", given, account.owner),
      () => attempt("auth.roles.delete", { account_id: account.id, role: "support" }, account.owner),
    );
    calls = done.calls;
    const { body: roles } = await attempt("auth.roles.list", { account_id: account.id, page_size: 100 }, account.owner);
    const { body: held } = await attempt("auth.role_assignments.list", { account_id: account.id }, account.owner);
    const isThere = roles.items.some(({ key }: { key: string }) => key === "support");
    expect([at, isThere, held.length]).toEqual([at, isThere, isThere ? 1 : 0]);
  }
});
