import { describe, expect, test } from "vitest";

import { asOwner, named, newGroup, newWorkspace } from "../../../support/auth.ts";
import { entryPoints, through } from "../../../support/entry-points.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newServiceAccount, newUser } from "../../../support/world.ts";

async function accountWithGrants() {
  const account = await newAccount();
  const [user, group, program] = [newUser(), await newGroup(account, "Support"), await newServiceAccount(account)];
  const workspace = await newWorkspace(account, "One");
  const give = (subject_type: string, subject_id: string, capability_key: string, more: object = {}) =>
    asOwner(account, "POST", "authorizations", {
      grant_kind: "capability",
      subject_type,
      subject_id,
      capability_key,
      ...more,
    });
  const grants = {
    user: named(await give("user", user.id, "dns.view")),
    narrow: named(await give("user", user.id, "dns.manage", { resource_type: "workspace", resource_id: workspace })),
    group: named(await give("group", group.id, "dns.view"), "Support"),
    program: named(await give("service_account", program.id, "ip.view"), "Test program"),
    revoked: named(await give("user", user.id, "ip.view")),
  };
  await asOwner(account, "DELETE", `authorizations/${grants.revoked.id}`);
  return { account, user, group, program, grants };
}

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);

  test("lists grants oldest first, each as `grant` returned it, with the subject's email and name", async () => {
    const { account, grants } = await accountWithGrants();
    const { status, body } = await attempt("auth.authorizations.list", { account_id: account.id }, account.owner);
    expect(status).toBe(200);
    expect(body).toEqual([
      {
        id: expect.any(String),
        grant_kind: "account_owner",
        subject_id: account.owner.id,
        subject_type: "user",
        capability_key: null,
        created_at: expect.any(String),
        resource_id: null,
        resource_type: null,
        expires_at: null,
        revoked_at: null,
        subject_email: account.owner.email,
        subject_name: null,
      },
      grants.user,
      grants.narrow,
      grants.group,
      grants.program,
    ]);
  });

  test("filters by capability, kind and subject; a listed grant matches all given filters", async () => {
    const { account, user, group, grants } = await accountWithGrants();
    const list = async (filter: object): Promise<unknown> =>
      (await attempt("auth.authorizations.list", { account_id: account.id, ...filter }, account.owner)).body;
    expect(await list({ capability_key: "dns.view" })).toEqual([grants.user, grants.group]);
    expect(await list({ subject_id: user.id })).toEqual([grants.user, grants.narrow]);
    expect(await list({ subject_type: "service_account" })).toEqual([grants.program]);
    expect(await list({ grant_kind: "account_owner" })).toMatchObject([{ subject_id: account.owner.id }]);
    expect(await list({ grant_kind: "super_admin" })).toEqual([]);
    expect(await list({ capability_key: "dns.view", subject_id: group.id })).toEqual([grants.group]);
    expect(await list({ capability_key: "ip.view", subject_id: user.id })).toEqual([]);
  });

  test("`include_revoked` also shows revoked grants, with the time of their revocation", async () => {
    const { account, user, grants } = await accountWithGrants();
    const list = async (filter: object) =>
      (await attempt("auth.authorizations.list", { account_id: account.id, ...filter }, account.owner)).body;
    const at = expect.stringMatching(/\.\d{3}Z$/);
    expect(await list({ include_revoked: true, subject_id: user.id })).toEqual([
      grants.user,
      grants.narrow,
      { ...grants.revoked, revoked_at: at },
    ]);
    expect(await list({ include_revoked: false, subject_id: user.id })).toHaveLength(2);
    expect(await list({ include_revoked: true, capability_key: "ip.view" })).toHaveLength(2);
  });

  test("leaves out role assignments and the grants of other accounts", async () => {
    const account = await newAccount();
    const other = await accountWithGrants();
    const role = { role_key: "viewer", subject_type: "user", subject_id: newUser().id };
    const { id } = await asOwner(account, "POST", "role-assignments", role);
    await asOwner(account, "DELETE", `role-assignments/${id}`);
    await asOwner(account, "POST", "role-assignments", role);
    const args = { account_id: account.id, include_revoked: true };
    expect((await attempt("auth.authorizations.list", args, account.owner)).body).toHaveLength(1);
    const theirs = { ...args, subject_id: other.user.id };
    expect((await attempt("auth.authorizations.list", theirs, account.owner)).body).toEqual([]);
  });

  test.each([
    [{ capability_key: "dns.fly" }, "capability_key", /dns\.view/],
    [{ grant_kind: "role" }, "grant_kind", /capability/],
    [{ subject_type: "robot" }, "subject_type", /service_account/],
    [{ subject_id: "7" }, "subject_id", /UUID/],
    [{ include_revoked: "yes" }, "include_revoked", /true or false/],
  ])("refuses the filter %j at its place", async (filter, name, msg) => {
    const account = await newAccount();
    const args = { account_id: account.id, ...filter };
    const { status, body } = await attempt("auth.authorizations.list", args, account.owner);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["query", name], msg: expect.stringMatching(msg) }]);
  });
});

test("null is no filter in code mode, and an unknown filter in a query is refused", async () => {
  const { id, owner } = await newAccount();
  const nulls = { capability_key: null, grant_kind: null, subject_id: null, subject_type: null };
  const all = await through("code mode")("auth.authorizations.list", { account_id: id, ...nulls }, owner);
  expect(all.body).toHaveLength(1);
  const answer = await request("GET", `/v1/public/accounts/${id}/auth/authorizations?role=viewer`, {
    token: owner.token,
  });
  expect(answer.body).toMatchObject({ detail: [{ loc: ["query", "role"], type: "extra_forbidden" }] });
});
