import { expect, test } from "vitest";

import { newWorkspace } from "../../../support/auth.ts";
import { domainsRequest } from "../../../support/domains.ts";
import { at, home, send, stocked } from "../../../support/mailboxes.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { newMember, type Account, type User } from "../../../support/world.ts";

async function scene() {
  const account = await newRoomyAccount();
  const [first, second] = [await home(account), await home(account)];
  const [a = "", b = ""] = await stocked(account, first.name, ["a", "b"]);
  const [c = "", d = ""] = await stocked(account, second.name, ["c", "d"]);
  // `d` is not deleted.
  for (const id of [b, c, a]) await send(account, "DELETE", at(id));
  return { account, first, second, a, b, c, d };
}

const list = async (account: Account, query = "", as: User = account.owner) =>
  (await send(account, "GET", `mailboxes/deleted?${query}`, undefined, { as })).body;
const idsIn = ({ items }: { items: { id: string }[] }): string[] => items.map(({ id }) => id);

test("shows deleted mailboxes in the order of their deletion, as they were, with the time until they can be restored", async () => {
  const { account, first, a, b, c } = await scene();
  const page = await list(account);
  expect([idsIn(page), page.total]).toEqual([[b, c, a], 3]);
  const [latest] = (await list(account, "order=desc&page_size=1")).items;
  expect(latest).toMatchObject({ id: a, primary_email: `a@${first.name}`, status: "active", domain_id: first.id });
  expect(Date.parse(latest.restorable_until) - Date.parse(latest.deleted_at)).toBe(7 * 86_400_000);
  expect(await list(account, "page=2&page_size=2")).toMatchObject({ items: [{ id: a }], total: 3, page: 2 });
  expect(await list(account, "page=9")).toMatchObject({ items: [], total: 3 });
});

test("a restored mailbox leaves the list", async () => {
  const { account, a, b, c } = await scene();
  await send(account, "POST", at(c, "/restore"));
  const page = await list(account);
  expect([idsIn(page), page.total]).toEqual([[b, a], 2]);
});

test("filters by domain, given as a name or an id", async () => {
  const { account, first, second, a, b, c } = await scene();
  expect(idsIn(await list(account, `domain=${first.name}`))).toEqual([b, a]);
  expect(idsIn(await list(account, `domain=${first.id}&order=desc`))).toEqual([a, b]);
  expect(await list(account, `domain=${second.name.toUpperCase()}`)).toMatchObject({ items: [{ id: c }], total: 1 });
  expect(await list(account, "domain=example.com")).toMatchObject({ items: [], total: 0 });
});

test("shows and counts only the mailboxes that the caller can restore; a grant on the domain's present workspace is enough", async () => {
  const { account, first, second, a, b, c } = await scene();
  const to = await newWorkspace(account, "Other");
  const scope = (type: "domain" | "workspace", id: string) => ({ type, id });
  const ofDomain = await newMember(account, { capability: "mailbox.delete", scope: scope("domain", first.id) });
  const ofWorkspace = await newMember(account, { capability: "mailbox.delete", scope: scope("workspace", to) });
  const viewer = await newMember(account, { role: "viewer" });
  expect(await list(account, "", ofDomain)).toMatchObject({ items: [{ id: b }, { id: a }], total: 2 });
  expect(await list(account, "", ofWorkspace)).toMatchObject({ items: [], total: 0 });
  await domainsRequest(account, "POST", `/${second.name}/move`, { workspace_id: to });
  expect(await list(account, "", ofWorkspace)).toMatchObject({ items: [{ id: c, workspace_id: to }], total: 1 });
  expect(await list(account, "", viewer)).toMatchObject({ status: 403, required_capability: "mailbox.delete" });
});

test("refuses an invalid filter at its place", async () => {
  const { account } = await scene();
  for (const [query, name] of [
    ["page=0", "page"],
    ["domain=x", "domain"],
    ["order=newest", "order"],
    ["sort=deleted_at", "sort"],
  ]) {
    expect(await list(account, query), query).toMatchObject({ detail: [{ loc: ["query", name] }] });
  }
});
