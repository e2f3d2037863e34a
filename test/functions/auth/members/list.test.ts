import { expect, test, vi } from "vitest";

import { asOwner, giveGroup, join, makeOwner, newGroup } from "../../../support/auth.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newMember, newServiceAccount, newUser } from "../../../support/world.ts";

test("lists users and service accounts, with their permissions and the groups that give them", async () => {
  const account = await newAccount();
  const staff = await newGroup(account, "Staff");
  const support = await newGroup(account, "Support", staff);
  await giveGroup(account, staff, "tag.manage");
  const viewer = await newMember(account, { role: "viewer" });
  const inGroup = newUser();
  await join(account, support, inGroup.id);
  const program = await newServiceAccount(account, { capability: "dns.view" });
  // A service account without permissions is not listed.
  await newServiceAccount(account);
  const { items, total } = await asOwner(account, "GET", "members");
  expect(total).toBe(4);
  expect(items.at(-1)).toMatchObject({
    subject_id: program.id,
    subject_type: "service_account",
    name: "Test program",
    email: null,
    access: [{ kind: "capability", capability_key: "dns.view", group_id: null }],
  });
  const of = (id: string) => items.find(({ subject_id }: { subject_id: string }) => subject_id === id);
  expect(of(account.owner.id)).toMatchObject({
    email: account.owner.email,
    is_owner: true,
    access: [{ kind: "account_owner" }],
  });
  expect(of(viewer.id)).toMatchObject({ email: viewer.email, is_owner: false, access: [{ role_key: "viewer" }] });
  expect(of(inGroup.id)).toMatchObject({
    access: [{ capability_key: "tag.manage", group_id: staff.id, group_name: "Staff" }],
  });
  const pages = await Promise.all([1, 2].map((page) => asOwner(account, "GET", `members?page_size=3&page=${page}`)));
  expect(pages.flatMap((page) => page.items)).toEqual(items);
});

test("a member of an owning group is an owner, and somebody whose last role was revoked is no member", async () => {
  const account = await newAccount();
  const group = await newGroup(account, "Owners");
  await makeOwner(account, group.id, "group");
  const partner = newUser();
  await join(account, group, partner.id);
  const leaver = await newMember(account, { role: "viewer" });
  const listedMember = async (id: string) =>
    (await asOwner(account, "GET", "members")).items.find(
      ({ subject_id }: { subject_id: string }) => subject_id === id,
    );
  expect(await listedMember(partner.id)).toMatchObject({ is_owner: true });
  const { access } = await listedMember(leaver.id);
  await asOwner(account, "DELETE", `role-assignments/${access[0].id}`);
  expect(await listedMember(leaver.id)).toBeUndefined();
});

test("a service account that has expired is not listed, although it still has its role", async () => {
  const account = await newAccount();
  const start = Date.now();
  const expires_at = new Date(start + 600_000).toISOString();
  const [ending, lasting] = await Promise.all(
    [{ name: "Import", expires_at }, { name: "Export" }].map((body) =>
      asOwner(account, "POST", "service-accounts", body),
    ),
  );
  for (const { id: subject_id } of [ending, lasting]) {
    const role = { subject_id, subject_type: "service_account", role_key: "viewer" };
    await asOwner(account, "POST", "role-assignments", role);
  }
  const programs = async () =>
    (await asOwner(account, "GET", "members")).items
      .filter((one: { subject_type: string }) => one.subject_type === "service_account")
      .map((one: { subject_id: string }) => one.subject_id);
  expect(await programs()).toEqual(expect.arrayContaining([ending.id, lasting.id]));
  try {
    vi.useFakeTimers({ toFake: ["Date"], now: start + 600_000 });
    expect(await programs()).toEqual([lasting.id]);
  } finally {
    vi.useRealTimers();
  }
});

test("needs auth.manage", async () => {
  const account = await newAccount();
  const { token } = await newMember(account, { role: "manager" });
  expect((await request("GET", `/v1/public/accounts/${account.id}/auth/members`, { token })).status).toBe(403);
});
