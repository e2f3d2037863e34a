import { expect, test } from "vitest";

import { ipKey } from "../../../../shared/dedicated-ips/dedicated-ip.ts";
import { readOperation } from "../../../../shared/dedicated-ips/operation.ts";
import { newWorkspace } from "../../../support/auth.ts";
import { activeIp, assignmentFaults, carriedOn, send, storedIp } from "../../../support/dedicated-ips.ts";
import { storedAs, write } from "../../../support/domain-work.ts";
import { connected, funded, uniqueName } from "../../../support/domains.ts";
import { withFault } from "../../../support/faults.ts";
import { stockedDomains } from "../../../support/many-domains.ts";
import { happened } from "../../../support/purchases.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { newMember, testTable, type Account } from "../../../support/world.ts";

const move = (account: Account, kind: "assign" | "unassign", id: string, domains: unknown) =>
  send(account, "POST", `/${id}/domains/${kind}`, { domains });

async function rich(): Promise<Account> {
  const account = await newRoomyAccount();
  return funded(account, 1_000_000);
}

test("unassigned domains send from the shared addresses again, and domains without an IP are skipped", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const [one, other, third] = [await connected(account), await connected(account), await connected(account)];
  await move(account, "assign", id, [one.name, other.name]);
  const { status, body } = await move(account, "unassign", id, [one.name, third.name]);
  expect([status, body.domain_count, body.domains]).toEqual([200, 1, [{ id: other.id, name: other.name }]]);
  expect((await storedAs(account, one.name)).dedicated_ip_id).toBeNull();
  expect(await assignmentFaults(account)).toEqual([]);
  expect((await move(account, "unassign", id, [one.name, third.name])).body).toEqual(body);
  const events = await happened(account);
  expect(events.filter((type) => type === "dedicated_ip.domains_unassigned")).toHaveLength(1);
});

test("works for a suspended IP, and does not change domains of another IP", async () => {
  const account = await rich();
  const [{ id }, other] = [await activeIp(account), await activeIp(account)];
  const [one, two] = [await connected(account), await connected(account)];
  await move(account, "assign", id, [one.name]);
  await move(account, "assign", other.id, [two.name]);
  await write({ update: ipKey(account.id, id), set: { status: "suspended" } });
  const { status, body } = await move(account, "unassign", id, [one.name, two.name]);
  expect([status, body.domain_count]).toEqual([200, 0]);
  expect((await storedAs(account, two.name)).dedicated_ip_id).toBe(other.id);
});

test("if one of the given domains is missing, none is unassigned", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const { name } = await connected(account);
  await move(account, "assign", id, [name]);
  const { status, body } = await move(account, "unassign", id, [name, uniqueName()]);
  expect([status, body.detail[0].loc]).toEqual([422, ["body", "domains", 1]]);
  expect((await storedAs(account, name)).dedicated_ip_id).toBe(id);
});

test("a domain that gets another IP before its unassignment is settled belongs only to the new IP", async () => {
  const account = await rich();
  const [from, to] = [await activeIp(account), await activeIp(account)];
  const names = await stockedDomains(account, 3);
  await move(account, "assign", from.id, names);
  const { calls } = await withFault(undefined, -1, () => move(account, "unassign", from.id, names));
  await move(account, "assign", from.id, names);
  // The second transaction changes the domains, and settles none of them.
  const moving = calls.flatMap((command, at) => (command === "TransactWriteItems" ? [at] : [])).at(1) ?? -1;
  const { value: died } = await withFault("answer lost", moving, () => move(account, "unassign", from.id, names));
  expect(died.status).toBe(503);
  expect((await readOperation(testTable(), account.id, from.id))?.left).toHaveLength(3);
  expect((await move(account, "assign", to.id, names)).status).toBe(200);
  await carriedOn(account, from.id);
  expect(await assignmentFaults(account)).toEqual([]);
  expect((await storedIp(account, to.id))?.domain_count).toBe(3);
});

test.each(["before", "after"])(
  "a repeat by a caller whose only domains were unassigned gets the answer, %s the worker has finished the request",
  async (when) => {
    const account = await rich();
    const { id } = await activeIp(account);
    const workspaceId = await newWorkspace(account, "Sales");
    const own = await connected(account, { workspaceId });
    await move(account, "assign", id, [own.name, (await connected(account)).name]);
    const scope = { type: "workspace" as const, id: workspaceId };
    const as = await newMember(account, { role: "editor", scope });
    const sent = (key: string) =>
      send(
        account,
        "POST",
        `/${id}/domains/unassign`,
        { domains: [own.name] },
        { as, headers: { "idempotency-key": key } },
      );
    const { value: died } = await withFault("answer lost", { transaction: 1 }, () => sent("k"));
    expect(died.status).toBe(503);
    if (when === "after") await carriedOn(account, id);
    const again = await sent("k");
    expect([again.status, again.body.id, again.body.domains]).toEqual([200, id, []]);
    expect((await sent("another")).status).toBe(404);
    expect(await assignmentFaults(account)).toEqual([]);
  },
);

test("the worker finishes or undoes an unassignment that died after any transaction", async () => {
  const account = await rich();
  const { id } = await activeIp(account);
  const names = await stockedDomains(account, 11);
  await move(account, "assign", id, names);
  const { calls } = await withFault(undefined, -1, () => move(account, "unassign", id, names));
  const places = calls.flatMap((command, at) => (command === "TransactWriteItems" ? [at] : []));
  expect(places.length).toBeGreaterThan(0);
  for (const at of places) {
    for (const fault of ["answer lost", "answer unreadable"] as const) {
      expect((await move(account, "assign", id, names)).status).toBe(200);
      await withFault(fault, at, () => move(account, "unassign", id, names));
      await carriedOn(account, id);
      expect(await assignmentFaults(account), `${fault} at call ${at}`).toEqual([]);
      expect([0, 11]).toContain((await storedIp(account, id))?.domain_count);
    }
  }
});
