import { randomUUID } from "node:crypto";

import { beforeAll, describe, expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { addedRecord, recordsRequest } from "../../support/dns-records.ts";
import { active, connected, uniqueName } from "../../support/domains.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

const valuesOf = (body: { items: { value: string }[] }): string[] => body.items.map(({ value }) => value);
const query = (given: Record<string, string | number>): string =>
  `?${new URLSearchParams(Object.entries(given).map(([name, value]): [string, string] => [name, String(value)])).toString()}`;

/** Two domains in different workspaces. Their records are added in turns, and a record's value shows its place. */
async function twoDomains() {
  const account = await newRoomyAccount();
  const workspaces = [await newWorkspace(account, "First"), await newWorkspace(account, "Second")];
  const domains = [];
  for (const workspaceId of workspaces) {
    domains.push(await connected(account, { workspaceId, name: uniqueName("bücher") }));
  }
  for (let index = 0; index < 8; index++) {
    const domain = domains[index % 2]?.name;
    await addedRecord(account, { domain, name: index < 4 ? "www" : "WÜRST.sub", type: "A", value: `192.0.2.${index}` });
  }
  await addedRecord(account, { domain: domains[0]?.name, name: "www", type: "AAAA", value: "2001:db8::8" });
  const list = async (given: Record<string, string | number> = {}, token = account.owner.token) =>
    (await recordsRequest(account, "GET", query(given), undefined, { token })).body;
  return { account, workspaces, domains, list };
}

const at = (...places: number[]): string[] => places.map((place) => (place === 8 ? "2001:db8::8" : `192.0.2.${place}`));

describe("for a caller who sees all records", () => {
  let scene: Awaited<ReturnType<typeof twoDomains>>;
  beforeAll(async () => void (scene = await twoDomains()));

  test("pages oldest first with an exact total, and a page past the end is empty", async () => {
    const { list } = scene;
    expect(valuesOf(await list({ page_size: 4 }))).toEqual(at(0, 1, 2, 3));
    expect(valuesOf(await list({ page: 3, page_size: 4 }))).toEqual(at(8));
    expect(await list({ page: 4, page_size: 4 })).toEqual({ items: [], page: 4, page_size: 4, total: 9 });
  });

  test.each([0, 1])(
    "shows the records of a domain, which is given by any spelling of its name or by its id (%i)",
    async (index) => {
      const { list, domains } = scene;
      const { name = "", id = "", unicode_name = "" } = domains[index] ?? {};
      const wanted = index === 0 ? at(0, 2, 4, 6, 8) : at(1, 3, 5, 7);
      for (const domain of [name, id, unicode_name.toUpperCase(), `${name}.`]) {
        expect(valuesOf(await list({ domain }))).toEqual(wanted);
      }
      const page = await list({ domain: name, page: 2, page_size: 3 });
      expect([valuesOf(page), page.total]).toEqual([wanted.slice(3), wanted.length]);
    },
  );

  test.each<[given: Record<string, string>, places: number[]]>([
    [{ type: "AAAA" }, [8]],
    [{ type: "MX" }, []],
    [{ name: "www" }, [0, 1, 2, 3, 8]],
    [{ name: " WWW " }, [0, 1, 2, 3, 8]],
    [{ name: "würst.sub" }, [4, 5, 6, 7]],
    [{ name: "xn--wrst-0ra.SUB" }, [4, 5, 6, 7]],
    [{ name: "www", type: "A" }, [0, 1, 2, 3]],
    [{ name: "@" }, []],
    [{ name: "*" }, []],
    [{ name: "sub" }, []],
    [{ value: "192.0.2.3" }, [3]],
    [{ value: "192.0.2" }, []],
    [{ value: "2001:DB8::8" }, []],
    [{ value: "192.0.2.3", type: "AAAA" }, []],
    [{ search: "2001:DB8:" }, [8]],
    [{ search: "92.0.2.5" }, [5]],
    [{ search: "Ww" }, [0, 1, 2, 3, 8]],
    [{ search: "XN--WRST" }, [4, 5, 6, 7]],
    [{ search: "WÜRST" }, [4, 5, 6, 7]],
    [{ search: "sub", value: "192.0.2.6" }, [6]],
    [{ search: "nothing" }, []],
  ])("shows the records that match %j", async (given, places) => {
    const { list } = scene;
    const page = await list(given);
    expect([valuesOf(page), page.total]).toEqual([at(...places), places.length]);
    const [first, second] = [await list({ ...given, page_size: 2 }), await list({ ...given, page_size: 2, page: 2 })];
    expect([...valuesOf(first), ...valuesOf(second)]).toEqual(at(...places.slice(0, 4)));
  });

  test("shows the records of one domain and name, given as relative or absolute", async () => {
    const { list, domains } = scene;
    const { name: domain = "" } = domains[0] ?? {};
    for (const name of ["www", `www.${domain}`, `WWW.${domain}.`]) {
      expect(valuesOf(await list({ domain, name }))).toEqual(at(0, 2, 8));
      expect(valuesOf(await list({ domain, name, type: "AAAA" }))).toEqual(at(8));
    }
    expect(valuesOf(await list({ name: `www.${domain}` }))).toEqual(at(0, 2, 8));
  });

  test("shows nothing of a domain that does not exist, or of another account's domain", async () => {
    const { list } = scene;
    const theirs = await connected(await newAccount());
    const empty = { items: [], page: 1, page_size: 25, total: 0 };
    for (const domain of [uniqueName(), theirs.name, theirs.id, randomUUID()]) {
      expect(await list({ domain })).toEqual(empty);
      expect(await list({ domain, name: "www" })).toEqual(empty);
    }
  });
});

test("shows a caller who may see only some domains the records of these domains, and the total agrees", async () => {
  const { account, workspaces, domains, list } = await twoDomains();
  const [first, second] = domains;
  const viewers = await Promise.all([
    newMember(account, { role: "viewer", scope: { type: "workspace", id: workspaces[1] ?? "" } }),
    newMember(account, { capability: "dns.view", scope: { type: "domain", id: first?.id ?? "" } }),
    newMember(
      account,
      { capability: "dns.view", scope: { type: "workspace", id: workspaces[0] ?? "" } },
      { capability: "dns.view", scope: { type: "domain", id: first?.id ?? "" } },
    ),
  ]);
  const seen = [at(1, 3, 5, 7), at(0, 2, 4, 6, 8), at(0, 2, 4, 6, 8)];
  for (const [index, { token }] of viewers.entries()) {
    const page = await list({}, token);
    expect([valuesOf(page), page.total]).toEqual([seen[index], seen[index]?.length]);
    expect(valuesOf(await list({ page: 2, page_size: 2 }, token))).toEqual(seen[index]?.slice(2, 4));
    expect(valuesOf(await list({ name: "www", type: "A" }, token))).toEqual(seen[index]?.slice(0, 2));
    expect(valuesOf(await list({ search: "192.0.2" }, token))).toEqual(seen[index]?.slice(0, 4));
    const [own = "", theirs = ""] = [seen[index]?.[0], seen[index === 0 ? 1 : 0]?.[0]];
    expect(valuesOf(await list({ value: own }, token))).toEqual([own]);
    expect(await list({ value: theirs }, token)).toMatchObject({ items: [], total: 0 });
  }
  const token = viewers[1]?.token ?? "";
  expect((await list({ domain: second?.name ?? "" }, token)).total).toBe(0);
  const both = await newMember(
    account,
    { capability: "dns.view", scope: { type: "domain", id: first?.id ?? "" } },
    { role: "dns_manager", scope: { type: "workspace", id: workspaces[1] ?? "" } },
  );
  expect((await list({}, both.token)).total).toBe(9);
  const other = await newMember(account, { capability: "mailbox.view" });
  const refused = await recordsRequest(account, "GET", "", undefined, other);
  expect(refused.body).toMatchObject({ status: 403, required_capability: "dns.view" });
});

test("does not show deleted records, and marks system records", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const { id } = await addedRecord(account, { domain, name: "www", type: "A", value: "192.0.2.1" });
  const list = async () => (await recordsRequest(account, "GET", "")).body;
  expect(await list()).toMatchObject({ total: 8 });
  await recordsRequest(account, "DELETE", `/${id}`);
  const { total, items } = await list();
  expect(total).toBe(7);
  const kept = items.map((one: { name: string; type: string }) => `${one.name} ${one.type}`);
  expect(kept).toEqual([
    "@ MX",
    "@ MX",
    "@ TXT",
    "hm1._domainkey TXT",
    "_dmarc TXT",
    "autoconfig CNAME",
    "autodiscover CNAME",
  ]);
  for (const item of items) expect(item).toMatchObject({ is_system_managed: true, zone_status: "in_sync", domain });
});

describe("the list refuses", () => {
  let account: Account;
  beforeAll(async () => void (account = await newRoomyAccount()));

  test.each([
    ["type=PTR", "type", "enum"],
    ["type=a", "type", "enum"],
    ["domain=", "domain", "value_error"],
    ["domain=nonsense", "domain", "value_error"],
    ["domain=a.com&domain=b.com", "domain", "string_type"],
    ["name=", "name", "string_too_short"],
    ["name=a..b", "name", "value_error"],
    ["name=a%20b", "name", "value_error"],
    ["name=a@b", "name", "value_error"],
    ["page=0", "page", "greater_than_equal"],
    ["page_size=101", "page_size", "less_than_equal"],
    ["value=", "value", "string_too_short"],
    [`value=${"x".repeat(2_049)}`, "value", "string_too_long"],
    ["search=", "search", "string_too_short"],
    [`search=${"x".repeat(254)}`, "search", "string_too_long"],
    ["search=%E2%80%8B", "search", "value_error"],
    ["zone=x", "zone", "extra_forbidden"],
  ])("?%s", async (given, name, type) => {
    const answer = await recordsRequest(account, "GET", `?${given}`);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([{ loc: ["query", name], type, msg: expect.any(String) }]);
  });
});
