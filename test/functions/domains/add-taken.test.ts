import { expect, test } from "vitest";

import { nameserversOf } from "../../../shared/core/platform.ts";
import type { Resolver } from "../../../shared/dns/answer.ts";
import { holderKey } from "../../../shared/domains/domain.ts";
import { addDomain } from "../../../shared/domains/setup/add.ts";
import { systemWriter } from "../../../shared/domains/setup/work.ts";
import type { Context } from "../../../shared/http/route.ts";
import { newWorkspace } from "../../support/auth.ts";
import { advance, domainOf, storedAs, workAt } from "../../support/domain-work.ts";
import {
  active,
  connect,
  connected,
  delegated,
  domainTotals,
  domainsRequest,
  uniqueName,
} from "../../support/domains.ts";
import { masked } from "../../support/entry-points.ts";
import { recorded } from "../../support/recorded.ts";
import { request, statusesOf } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

test("if many accounts connect a name at once, one gets the name, and nothing of it stays in the others", async () => {
  const name = uniqueName();
  const scenes: { account: Account; workspaceId: string }[] = [];
  for (let count = 0; count < 4; count++) {
    const account = await newAccount();
    scenes.push({ account, workspaceId: await newWorkspace(account, "Sales") });
  }
  const answers = await Promise.all(
    scenes.map(({ account, workspaceId }) => Promise.all([0, 1, 2].map(() => connect(account, name, workspaceId)))),
  );
  expect(statusesOf(answers.flat())).toEqual([201, ...Array(11).fill(409)]);
  for (const [index, { account, workspaceId }] of scenes.entries()) {
    const own = answers[index] ?? [];
    const hasWon = own.some(({ status }) => status === 201);
    expect(await domainTotals(account, workspaceId)).toEqual(hasWon ? [1, 1] : [0, 0]);
    if (hasWon) continue;
    const refusal = { code: "domain_taken", nameservers: nameserversOf(account.id) };
    expect(own.map(({ body }) => body)).toMatchObject([refusal, refusal, refusal]);
    const { token } = account.owner;
    const gone = await request("DELETE", `/v1/public/accounts/${account.id}/workspaces/${workspaceId}`, { token });
    expect(gone.status).toBe(200);
  }
});

test("the refusal of a taken name says what the caller can do, and hides whether the holder proved the name", async () => {
  const [holder, other] = [await newAccount(), await newAccount()];
  const workspaceId = await newWorkspace(other, "Sales");
  const [unproved, proved] = [await connected(holder), await active(holder)];
  const answers = [await connect(other, unproved.name, workspaceId), await connect(other, proved.name, workspaceId)];
  const [first, second] = answers.map(({ body }, index) =>
    masked(body)
      .replaceAll([unproved.name, proved.name][index] ?? "", "<name>")
      .replace(/verification=[0-9a-f]+/, "verification=<value>"),
  );
  expect(answers[0]?.body).toMatchObject({
    status: 409,
    code: "domain_taken",
    nameservers: nameserversOf(other.id),
  });
  expect(second).toBe(first);
  expect(first).not.toContain(holder.id);
  expect(await domainTotals(other, workspaceId)).toEqual([0, 0]);
});

test("an unproved name goes to the account to which it is delegated; the old contents are deleted after 30 days", async () => {
  const [old, newcomer] = [await newAccount(), await newAccount()];
  const { id, name, workspace_id } = await connected(old);
  const body = { domain: name, name: "www", type: "A", value: "192.0.2.1" };
  const records = `/v1/public/accounts/${old.id}/dns-records`;
  await request("POST", records, { token: old.owner.token, body });
  const member = await newMember(old, { role: "viewer", scope: { type: "domain", id } });
  await delegated(newcomer, name);
  const taken = await connect(newcomer, name, await newWorkspace(newcomer, "Sales"));
  expect(taken.status).toBe(201);
  const left = await domainsRequest(old, "GET", `/${name}`);
  expect(left.body).toMatchObject({ status: "releasing", status_reason: expect.stringContaining("Another account") });
  expect(left.body.dns_record_count).toBe(1);
  expect(Date.parse(left.body.deletes_at) - Date.parse(left.body.updated_at)).toBe(30 * 86_400_000);

  expect(await advance(old, name)).toBeUndefined();
  expect((await domainsRequest(old, "GET", `/${name}`)).status).toBe(404);
  expect(await domainTotals(old, workspace_id)).toEqual([0, 0]);
  expect((await request("GET", records, { token: old.owner.token })).body.total).toBe(0);
  const { token } = old.owner;
  expect((await request("DELETE", `/v1/public/accounts/${old.id}/workspaces/${workspace_id}`, { token })).status).toBe(
    200,
  );
  expect((await request("GET", `/v1/public/accounts/${old.id}`, { token: member.token })).status).toBe(404);
  const changes = await recorded(old);
  expect(changes.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["domain.taken_over", "dns_record.deleted", "domain.deleted"]),
  );
  expect(changes.find(({ type }) => type === "domain.taken_over")).toMatchObject({
    actor_type: "system",
    resource_id: id,
  });

  const now = (await domainsRequest(newcomer, "GET", `/${name}`)).body;
  expect(now).toMatchObject({ id: taken.body.id, status: "pending_delegation", dns_record_count: 0 });
  expect((await connect(old, name, await newWorkspace(old, "Again"))).body.code).toBe("domain_taken");
});

test("an account keeps a name that it proved, even if the name is now delegated to another account", async () => {
  const [holder, other] = [await newAccount(), await newAccount()];
  const { name } = await active(holder);
  await delegated(other, name);
  const refused = await connect(other, name, await newWorkspace(other, "Sales"));
  expect(refused.body).toMatchObject({ code: "domain_taken" });
  expect((await storedAs(holder, name)).status).toBe("active");
});

test("a name stays with its holder if the parent zone delegates it to neither the holder nor the caller", async () => {
  const [holder, other, third] = [await newAccount(), await newAccount(), await newAccount()];
  const { name } = await connected(holder);
  await delegated(third, name);
  expect((await connect(other, name, await newWorkspace(other, "Sales"))).body.code).toBe("domain_taken");
  expect((await storedAs(holder, name)).status).toBe("pending_delegation");
});

test("concurrent requests take a name over only once", async () => {
  const [holder, newcomer, other] = [await newAccount(), await newAccount(), await newAccount()];
  const { id, name } = await connected(holder);
  await delegated(newcomer, name);
  const [own, foreign] = [await newWorkspace(newcomer, "Sales"), await newWorkspace(other, "Sales")];
  const [asked, refused] = await Promise.all([
    Promise.all(Array.from({ length: 5 }, () => connect(newcomer, name, own))),
    Promise.all(Array.from({ length: 3 }, () => connect(other, name, foreign))),
  ]);
  expect(statusesOf(asked)).toEqual([201, ...Array(4).fill(409)]);
  expect(refused.map(({ body }) => body.code)).toEqual(Array(3).fill("domain_taken"));
  expect(await domainTotals(newcomer, own)).toEqual([1, 1]);
  expect(await domainTotals(other, foreign)).toEqual([0, 0]);
  const events = (await recorded(holder)).map(({ type }) => type);
  expect(events.filter((type) => type === "domain.taken_over")).toHaveLength(1);
  expect(await domainOf(holder, id)).toMatchObject({ status: "releasing", is_open: false });
});

/** A resolver that finds every name delegated to this account. */
const delegatedTo = (accountId: string): Resolver => ({
  resolve: async () => ({ status: "none" }),
  delegation: async () => ({ status: "delegated", nameservers: nameserversOf(accountId) }),
});

test("if two accounts both saw the name delegated to them, one of them gets it", async () => {
  const holder = await newAccount();
  const { name } = await connected(holder);
  const rivals = await Promise.all(
    [0, 1].map(async () => {
      const account = await newAccount();
      return { account, workspaceId: await newWorkspace(account, "Sales") };
    }),
  );
  const results = await Promise.allSettled(
    rivals.map(({ account, workspaceId }) => {
      const context = systemWriter(workAt(new Date()), account.id) as Context;
      return addDomain(account.id, { name, workspaceId }, context, delegatedTo(account.id));
    }),
  );
  const won = results.flatMap(({ status }, index) => (status === "fulfilled" ? [rivals[index]?.account.id] : []));
  expect(won).toHaveLength(1);
  expect(results.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "domain_taken" } });
  expect(await testTable().getMany([holderKey(name)])).toMatchObject([{ account_id: won[0] }]);
  const found = await Promise.all(rivals.map(({ account, workspaceId }) => domainTotals(account, workspaceId)));
  expect(found).toEqual(rivals.map(({ account }) => (account.id === won[0] ? [1, 1] : [0, 0])));
});
