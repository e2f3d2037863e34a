import { expect, test } from "vitest";

import { readOperation } from "../../../../shared/dedicated-ips/operation.ts";
import { activeIp, assignmentFaults, carriedOn, send, storedIp } from "../../../support/dedicated-ips.ts";
import { dig, quicklyActive, storedAs } from "../../../support/domain-work.ts";
import { domainsRequest, funded, verify } from "../../../support/domains.ts";
import { withFault } from "../../../support/faults.ts";
import { happened } from "../../../support/purchases.ts";
import { advanceAt, daysFrom } from "../../../support/renewals.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { testTable, type Account } from "../../../support/world.ts";

const move = (account: Account, kind: "assign" | "unassign", id: string, domains: readonly string[]) =>
  send(account, "POST", `/${id}/domains/${kind}`, { domains });

async function scene() {
  const account = await funded(await newRoomyAccount(), 1_000_000);
  const [{ id }, one, other] = [await activeIp(account), await quicklyActive(account), await quicklyActive(account)];
  return { account, id, names: [one.name, other.name] as const };
}

test("a deleted domain leaves its dedicated IP at once, with an event for its SPF record, and a restoration does not assign it again", async () => {
  const { account, id, names } = await scene();
  await move(account, "assign", id, names);
  expect((await dig(names[0], "TXT")).toString()).toContain("ip4:");
  for (const [index, name] of names.entries()) {
    expect((await send(account, "DELETE", `/${id}`)).body.code).toBe("ip_in_use");
    const before = await happened(account);
    expect((await domainsRequest(account, "DELETE", `/${name}`)).status).toBe(200);
    const changed = (await happened(account)).slice(before.length);
    expect(changed.filter((type) => type.startsWith("dns_record."))).toEqual(["dns_record.updated"]);
    expect((await storedIp(account, id))?.domain_count).toBe(1 - index);
    expect(await assignmentFaults(account)).toEqual([]);
  }
  expect(await happened(account)).toContain("dedicated_ip.domains_unassigned");
  expect((await send(account, "DELETE", `/${id}`)).status).toBe(200);
  const restored = await domainsRequest(account, "POST", `/${names[0]}/restore`);
  expect(restored.body).toMatchObject({ status: "pending_delegation", dedicated_ip_id: null });
  expect((await verify(account, names[0])).body).toMatchObject({ status: "active" });
  expect(await dig(names[0], "TXT")).toEqual(["v=spf1 include:_spf.hosted-mail.example ~all"]);
});

test.each(["assign", "unassign"] as const)(
  "the worker settles an interrupted operation (%s), even if one of its domains was deleted after the interruption",
  async (kind) => {
    const { account, id, names } = await scene();
    if (kind === "unassign") await move(account, "assign", id, names);
    const { calls } = await withFault(undefined, -1, () => move(account, kind, id, names));
    await move(account, kind === "assign" ? "unassign" : "assign", id, names);
    const steps = calls.flatMap((command, at) => (command === "TransactWriteItems" ? [at] : []));
    expect(steps.length).toBeGreaterThan(2);
    for (const step of steps) {
      const [died, ...kept] = names;
      const { value } = await withFault("answer lost", step, () => move(account, kind, id, names));
      expect([200, 503]).toContain(value.status);
      expect((await domainsRequest(account, "DELETE", `/${died}`)).status).toBe(200);
      await carriedOn(account, id);
      expect(await readOperation(testTable(), account.id, id)).toBeUndefined();
      expect(await assignmentFaults(account), `${kind} at ${step}`).toEqual([]);
      // If a sync of the zone died with the operation, the zone stays until the worker runs again.
      const { due_at, deletes_at } = await storedAs(account, died);
      if (due_at !== deletes_at) await advanceAt(account, died, daysFrom(new Date().toISOString(), 1));
      expect((await domainsRequest(account, "POST", `/${died}/restore`)).status).toBe(200);
      await verify(account, died);
      await move(account, kind === "assign" ? "unassign" : "assign", id, [died, ...kept]);
      expect(await storedAs(account, died)).toMatchObject({ is_open: true });
    }
  },
);
