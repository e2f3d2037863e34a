import { expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { setStored, storedAs } from "../../support/domain-work.ts";
import { connect, connected, domainsRequest, purchase, readDomain, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { continued, buyer, happened, pay, registered, wallet } from "../../support/purchases.ts";
import { nameElsewhere, transfer } from "../../support/transfers.ts";
import { newMember, type Account } from "../../support/world.ts";

/**
 * An account with two workspaces. All three callers manage the second workspace. `restorer` may also delete domains of
 * the first workspace, and `mover` may also delete and move them.
 */
async function scene(funds = 100_000) {
  const account = await buyer(funds);
  const [first, second] = [await newWorkspace(account, "First"), await newWorkspace(account, "Second")];
  const inFirst = { type: "workspace", id: first } as const;
  const inSecond = { role: "manager", scope: { type: "workspace", id: second } } as const;
  const as = async (...more: Parameters<typeof newMember>[1][]): Promise<Account> => ({
    ...account,
    owner: await newMember(account, inSecond, ...more),
  });
  return {
    account,
    first,
    second,
    manager: await as(),
    restorer: await as({ capability: "domain.delete", scope: inFirst }),
    mover: await as({ capability: "domain.delete", scope: inFirst }, { capability: "domain.move", scope: inFirst }),
  };
}
type Scene = Awaited<ReturnType<typeof scene>>;

/** A deleted domain of the first workspace. No account has its name. */
async function kept({ account, first }: Scene) {
  const domain = await connected(account, { workspaceId: first });
  await setStored(account, domain.name, { verified_at: "2026-01-01T00:00:00.000Z" });
  await domainsRequest(account, "DELETE", `/${domain.name}`);
  expect(await storedAs(account, domain.name)).toMatchObject({ status: "releasing" });
  return domain;
}

const resultOf = async (account: Account, name: string, workspace_id: string) =>
  (await purchase(account, [name], { workspace_id })).body.results[0];

const existing = { status: "failed", id: null, error_code: "domain_exists" };

test("a caller who may not see a deleted domain with its registration learns only that the account has the name", async () => {
  const { account, first, second, manager } = await scene();
  const name = uniqueName();
  await purchase(account, [name], { workspace_id: first });
  await registered(account, name);
  expect((await domainsRequest(account, "DELETE", `/${name}?release=true`)).status).toBe(200);
  expect((await connect(account, name, second)).body).toMatchObject({
    code: "domain_not_ready",
    domain_status: "releasing",
  });
  const { body } = await connect(manager, name, second);
  expect(body).toMatchObject({ status: 409, code: "domain_exists" });
  expect(JSON.stringify(body)).not.toMatch(/releas|deleted/);
});

test("only a caller who may restore and move a deleted domain can bring it to another workspace", async () => {
  const one = await scene();
  const { id, name } = await kept(one);
  const before = await storedOf(one.account);
  for (const caller of [one.manager, one.restorer]) {
    expect((await connect(caller, name, one.second)).body).toMatchObject({ status: 409, code: "domain_exists" });
    expect(await resultOf(caller, name, one.second)).toMatchObject(existing);
  }
  expect(await storedOf(one.account)).toEqual(before);
  const { status, body } = await connect(one.mover, name, one.second);
  expect([status, body.id, body.workspace_id]).toEqual([201, id, one.second]);
});

test("a caller who may restore and move a deleted domain can bring it to another workspace by a purchase", async () => {
  const one = await scene();
  const { id, name } = await kept(one);
  expect(await resultOf(one.mover, name, one.second)).toMatchObject({ status: "pending_registration", id });
  expect(await registered(one.account, name)).toMatchObject({ id, workspace_id: one.second });
});

test("a caller who may restore a domain gets it back in its former workspace without domain.move", async () => {
  const one = await scene();
  const { id, name } = await kept(one);
  const scope = { type: "workspace", id: one.first } as const;
  const buyerOnly = await newMember(one.account, { capability: "domain.purchase", scope });
  const alsoDeleter = await newMember(
    one.account,
    { capability: "domain.purchase", scope },
    { capability: "domain.delete", scope },
  );
  expect((await connect({ ...one.account, owner: buyerOnly }, name, one.first)).body.code).toBe("domain_exists");
  expect((await connect({ ...one.account, owner: alsoDeleter }, name, one.first)).body).toMatchObject({ id });
});

test("a purchase checks access when it is requested, even if it waits for its payment", async () => {
  const one = await scene(1);
  const { id, name } = await kept(one);
  expect(await resultOf(one.manager, name, one.second)).toMatchObject(existing);
  const { body } = await purchase(one.mover, [name], { workspace_id: one.second });
  expect(body.results[0]).toMatchObject({ status: "payment_required" });
  await pay(one.account, body.payment_url);
  await continued(one.account);
  expect(await storedAs(one.account, name)).toMatchObject({ id, workspace_id: one.second });
});

test("a purchase or transfer that waits for its payment takes over no domain that was added meanwhile", async () => {
  const one = await scene(1);
  const asked = async (send: typeof purchase | typeof transfer, name = uniqueName()) => {
    const { body } = await send(one.manager, [name], { workspace_id: one.second });
    expect(body.results[0]).toMatchObject({ status: "payment_required" });
    return { name, url: body.payment_url };
  };
  const [kept, failed, open] = [
    await asked(purchase),
    await asked(purchase),
    await asked(transfer, await nameElsewhere()),
  ];
  for (const { name } of [kept, failed, open]) await connected(one.account, { name, workspaceId: one.first });
  await setStored(one.account, kept.name, { verified_at: "2026-01-01T00:00:00.000Z" });
  await domainsRequest(one.account, "DELETE", `/${kept.name}`);
  await setStored(one.account, failed.name, { status: "failed", is_open: false, due_at: null });
  const before = await Promise.all([kept, failed, open].map(({ name }) => storedAs(one.account, name)));
  for (const { url } of [kept, failed, open]) {
    await pay(one.account, url);
    await continued(one.account);
  }
  expect(await Promise.all([kept, failed, open].map(({ name }) => storedAs(one.account, name)))).toEqual(before);
  const events = (await happened(one.account)).filter((event) => event === "domain_purchase.continued");
  expect(events).toHaveLength(3);
});

test("a failed domain is replaced only by a caller who may delete it", async () => {
  const one = await scene();
  const failed = async () => {
    const domain = await connected(one.account, { workspaceId: one.first });
    await setStored(one.account, domain.name, { status: "failed", is_open: false, due_at: null });
    return domain;
  };
  const { id, name } = await failed();
  expect((await connect(one.manager, name, one.second)).body).toMatchObject({ status: 409, code: "domain_exists" });
  expect(await resultOf(one.manager, name, one.second)).toMatchObject(existing);
  expect((await transfer(one.manager, [name], { workspace_id: one.second })).body.results[0]).toMatchObject(existing);
  expect(await readDomain(one.account, name)).toMatchObject({ id, status: "failed", workspace_id: one.first });
  expect((await wallet(one.account)).available).toBe(100_000);
  expect((await connect(one.restorer, name, one.second)).status).toBe(201);
  const another = await failed();
  expect(await resultOf(one.restorer, another.name, one.second)).toMatchObject({ status: "pending_registration" });
  expect(await happened(one.account)).toContain("domain.deleted");
});
