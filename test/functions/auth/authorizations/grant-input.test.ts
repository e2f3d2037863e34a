import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { entryPoints, storedOf, through } from "../../../support/entry-points.ts";
import { request } from "../../../support/request.ts";
import { newAccount } from "../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const give = (args: Record<string, unknown>, caller: { token: string }) =>
    attempt("auth.authorizations.grant", args, caller);

  const valid = {
    grant_kind: "capability",
    subject_id: randomUUID(),
    subject_type: "user",
    capability_key: "dns.view",
  };
  const owner = { ...valid, grant_kind: "account_owner", capability_key: undefined };
  const pair = { resource_type: "workspace", resource_id: randomUUID() };
  test.each([
    ["an unknown capability", { ...valid, capability_key: "dns.fly" }, "capability_key", /dns\.view.*auth\.manage/],
    ["an unknown kind", { ...valid, grant_kind: "god" }, "grant_kind", /capability.*account_owner.*super_admin/],
    ["an unknown subject type", { ...valid, subject_type: "role" }, "subject_type", /user.*group.*service_account/],
    ["an unknown resource type", { ...valid, ...pair, resource_type: "planet" }, "resource_type", /workspace.*proxy/],
    ["a subject that is no UUID", { ...valid, subject_id: "me" }, "subject_id", /UUID/],
    ["a resource that is no UUID", { ...valid, ...pair, resource_id: "1" }, "resource_id", /UUID/],
    ["a capability grant without capability", { ...valid, capability_key: undefined }, "capability_key", /capability/],
    [
      "a capability grant with null as the capability",
      { ...valid, capability_key: null },
      "capability_key",
      /capability/,
    ],
    ["a capability on an owner grant", { ...owner, capability_key: "dns.view" }, "capability_key", /capability/],
    ["an owner grant on a workspace", { ...owner, ...pair }, "resource_type", /narrowed/],
    [
      "a super admin that is a group",
      { ...owner, grant_kind: "super_admin", subject_type: "group" },
      "subject_type",
      /user/,
    ],
    ["a resource without its type", { ...valid, resource_id: pair.resource_id }, "resource_type", /resource_id/],
    ["a resource type without resource", { ...valid, resource_type: "workspace" }, "resource_id", /resource_type/],
    [
      "an owner grant with a resource but no resource type",
      { ...owner, resource_id: pair.resource_id },
      "resource_type",
      /resource_id/,
    ],
  ])("refuses %s at its place", async (_, args, name, msg) => {
    const account = await newAccount();
    const before = await storedOf(account);
    const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));
    const answer = await give({ account_id: account.id, ...given }, account.owner);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([
      { loc: ["body", name], msg: expect.stringMatching(msg), type: expect.any(String) },
    ]);
    expect(await storedOf(account)).toEqual(before);
  });
});

test.each([
  [{ role_key: "viewer" }, "role_key", "extra_forbidden"],
  [{ account_id: "x" }, "account_id", "extra_forbidden"],
])("refuses the unknown member in %j", async (more, name, type) => {
  const { id, owner } = await newAccount();
  const body = { grant_kind: "capability", subject_id: id, subject_type: "user", capability_key: "dns.view", ...more };
  const answer = await request("POST", `/v1/public/accounts/${id}/auth/authorizations`, { token: owner.token, body });
  expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", name], type }] } });
});
