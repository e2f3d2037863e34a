import { expect, test } from "vitest";

import type { DedicatedIp } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import { newWorkspace } from "../../support/auth.ts";
import { activeIp, claimed, host, send } from "../../support/dedicated-ips.ts";
import { connected, funded } from "../../support/domains.ts";
import { newAccount, newMember, type Account, type User } from "../../support/world.ts";

const list = async (account: Account, query = "", as?: User) =>
  (await send(account, "GET", query, undefined, as ? { as } : {})).body as { items: DedicatedIp[]; total: number };

const idsIn = ({ items }: { items: DedicatedIp[] }): string[] => items.map(({ id }) => id);

test("lists dedicated IPs oldest first, in pages, and filters them by type and status", async () => {
  const account = await funded(await newAccount());
  const made = [await host(account), await claimed(account), await host(account), await activeIp(account)];
  const ids = made.map(({ id }) => id);
  expect(await list(account)).toMatchObject({ items: ids.map((id) => ({ id })), page: 1, page_size: 25, total: 4 });
  const second = await list(account, "?page=2&page_size=3");
  expect([idsIn(second), second.total]).toEqual([[ids[3]], 4]);
  const cases: [query: string, found: (string | undefined)[]][] = [
    ["?type=byoh", [ids[0], ids[2]]],
    ["?type=managed", [ids[1], ids[3]]],
    ["?status=active", [ids[3]]],
    ["?type=byoh&status=active", []],
    ["?status=pending_authorization&page_size=1&page=2", [ids[2]]],
  ];
  for (const [query, found] of cases) expect(idsIn(await list(account, query)), query).toEqual(found);
  expect((await list(account, "?status=pending_authorization&page_size=1&page=2")).total).toBe(2);
  expect((await send(account, "GET", "?status=gone")).body.detail).toMatchObject([{ loc: ["query", "status"] }]);
});

test("a caller with access to only some domains sees and counts only the dedicated IPs of these domains", async () => {
  const account = await funded(await newAccount());
  const [one, other] = [await activeIp(account), await activeIp(account)];
  await activeIp(account);
  const workspaceId = await newWorkspace(account, "Sales");
  const [here, there] = [await connected(account, { workspaceId }), await connected(account)];
  await send(account, "POST", `/${one.id}/domains/assign`, { domains: [here.name] });
  await send(account, "POST", `/${other.id}/domains/assign`, { domains: [there.name] });
  const byWorkspace = await newMember(account, { role: "viewer", scope: { type: "workspace", id: workspaceId } });
  const byDomain = await newMember(account, { role: "viewer", scope: { type: "domain", id: there.id } });
  const both = await newMember(
    account,
    { role: "viewer", scope: { type: "workspace", id: workspaceId } },
    { role: "viewer", scope: { type: "domain", id: there.id } },
  );
  expect(await list(account, "", byWorkspace)).toMatchObject({ items: [{ id: one.id }], total: 1 });
  expect(await list(account, "", byDomain)).toMatchObject({ items: [{ id: other.id }], total: 1 });
  expect(await list(account, "", both)).toMatchObject({ items: [{ id: one.id }, { id: other.id }], total: 2 });
  expect(await list(account, "?type=byoh", both)).toMatchObject({ items: [], total: 0 });
  await send(account, "POST", `/${one.id}/domains/unassign`, { domains: [here.name] });
  expect(await list(account, "", byWorkspace)).toMatchObject({ items: [], total: 0 });
});
