import { beforeAll, describe, expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { newWorkspace } from "../../support/auth.ts";
import { quicklyActive } from "../../support/domain-work.ts";
import { connected, domainsRequest, funded, purchase, uniqueName } from "../../support/domains.ts";
import { registered } from "../../support/purchases.ts";
import { request } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

type Found = { name: string; available: boolean; reason: string | null; price: string | null; warnings: unknown[] };

let account: Account;
let workspaceId: string;
beforeAll(async () => {
  account = await newRoomyAccount();
  workspaceId = await newWorkspace(account, "Here");
});

/** Searches as the owner of `of`. If a value in `query` is a list, its parameter is sent several times. */
function search(query: Record<string, string | string[]>, of = account, workspace = workspaceId) {
  const pairs = Object.entries({ workspace_id: workspace, ...query });
  const given = pairs.flatMap(([name, values]) => [values].flat().map((value): [string, string] => [name, value]));
  return domainsRequest(of, "GET", `/search?${new URLSearchParams(given).toString()}`);
}

const found = async (query: Record<string, string | string[]>): Promise<Found[]> => {
  const { status, body, text } = await search(query);
  if (status !== 200) throw new Error(text);
  return body.items;
};
const names = async (query: Record<string, string | string[]>): Promise<string[]> =>
  (await found(query)).map(({ name }) => name);

const word = (): string => uniqueName("w").replace(".com", "");

describe("a name", () => {
  test("comes first with its price, then under other endings, then similar names: twenty at most", async () => {
    const label = word();
    const items = await found({ query: `${label}.org` });
    expect(items).toHaveLength(20);
    expect(items[0]).toEqual({
      name: `${label}.org`,
      available: true,
      premium: false,
      price: "13.00",
      renewal_price: "15.00",
      currency: "USD",
      reason: null,
      warnings: [],
    });
    expect(items.slice(1, 4).map(({ name }) => name)).toEqual([`${label}.com`, `${label}.net`, `${label}.io`]);
    expect(items.at(-1)?.name).toMatch(new RegExp(`^\\w*${label}\\w*\\.com$`));
    expect(new Set(items.map(({ name }) => name)).size).toBe(20);
  });

  test.each([
    ["in capitals with a final dot", (label: string) => `${label.toUpperCase()}.COM.`],
    ["with spaces around", (label: string) => `  ${label}.com `],
    ["with a full-width dot", (label: string) => `${label}．com`],
    ["by the name of a host in it", (label: string) => `www.${label}.com`],
  ])("is found %s", async (_, spelled) => {
    const label = word();
    expect((await names({ query: spelled(label) }))[0]).toBe(`${label}.com`);
  });

  test("under an ending of several labels is found with this whole ending", async () => {
    const label = word();
    expect((await found({ query: `${label}.co.uk` }))[0]).toMatchObject({ name: `${label}.co.uk`, price: "9.25" });
  });
});

describe("why a name cannot be bought", () => {
  test.each([
    ["taken-", "domain_unavailable", null],
    ["reserved-", "domain_reserved", null],
    ["premium-", "domain_premium", "1400.00"],
    ["silent-", "unchecked", null],
  ])("is shown for %s names", async (prefix, reason, price) => {
    const name = `${prefix}${word()}.com`;
    const [first] = await found({ query: name, tlds: "com" });
    const premium = reason === "domain_premium";
    expect(first).toMatchObject({ name, available: false, reason, price, renewal_price: price, premium });
  });

  test("is shown for endings that are not sold, and for endings under which nobody can register", async () => {
    const items = await found({ query: word(), tlds: "museum,github.io" });
    expect(items.slice(0, 2).map(({ reason }) => reason)).toEqual(["unsupported_tld", "not_registrable"]);
  });

  test("is shown for an ending whose registry delegates names only to nameservers that answer already", async () => {
    const [first] = await found({ query: `${word()}.de` });
    expect(first).toMatchObject({ available: false, reason: "unsupported_tld", price: null });
    expect((await found({ query: word() })).filter(({ name }) => name.endsWith(".de"))).toEqual([]);
  });

  test("is `domain_unavailable` if an account has proved the name, and a purchase of the name fails too", async () => {
    const theirs = await quicklyActive(await newAccount());
    const [first] = await found({ query: theirs.name, tlds: "com" });
    expect(first).toMatchObject({ name: theirs.name, available: false, reason: "domain_unavailable", price: null });
    const buyer = await funded(await newAccount());
    const bought = await purchase(buyer, [theirs.name]);
    expect(bought.body.results).toMatchObject([{ status: "failed", error_code: "domain_taken" }]);
  });

  test("is not that an account connected the name without proof: another account can buy and get it", async () => {
    const squatter = await newAccount();
    const { name } = await connected(squatter);
    const [first] = await found({ query: name, tlds: "com" });
    expect(first).toMatchObject({ name, available: true, reason: null });
    const buyer = await funded(await newAccount());
    expect((await purchase(buyer, [name])).body.results).toMatchObject([
      { status: "pending_registration", error_code: null },
    ]);
    expect((await domainsRequest(squatter, "GET", `/${name}`)).body).toMatchObject({ status: "pending_delegation" });
    const [later] = await found({ query: name, tlds: "com" });
    expect(later).toMatchObject({ name, available: false, reason: "domain_unavailable" });
    await registered(buyer, name);
    expect((await domainsRequest(squatter, "GET", `/${name}`)).body).toMatchObject({
      status: "releasing",
      status_reason: expect.stringMatching(/registered/),
    });
  });
});

describe("a keyword", () => {
  test("gives names under twelve endings that are sold, the best known first, and then eight similar names", async () => {
    const label = word();
    const suggested = await names({ query: label });
    expect(suggested.slice(0, 8)).toEqual(
      ["com", "net", "org", "io", "co", "app", "dev", "email"].map((tld) => `${label}.${tld}`),
    );
    expect(suggested).toHaveLength(20);
    expect(suggested.slice(12)).toEqual(
      ["get_", "_hq", "try_", "_mail", "_app", "go_", "_online", "_team"].map(
        (similar) => `${similar.replace("_", label)}.com`,
      ),
    );
  });

  test("of several words is one name", async () => {
    expect((await names({ query: " My  Little_Shop ", tlds: "com" }))[0]).toBe("mylittleshop.com");
  });

  test("in letters of another language gives names in these letters, and adds no English words", async () => {
    expect(await names({ query: "Bücher", tlds: ["com", "de"] })).toEqual(["xn--bcher-kva.com", "xn--bcher-kva.de"]);
    expect((await names({ query: "bücher.de" }))[0]).toBe("xn--bcher-kva.de");
  });

  test.each([
    "!!!",
    "-",
    "--a--",
    "ab--cd",
    "a/b",
    "user@example.com",
    "https://example.com/",
    "x".repeat(64),
    "\u200b",
    "…",
  ])("that cannot be in a name (%s) finds nothing", async (query) => {
    expect(await found({ query })).toEqual([]);
  });

  test("that leaves no room for more words gives only its own name", async () => {
    const label = "x".repeat(63);
    expect(await names({ query: label, tlds: "com" })).toEqual([`${label}.com`]);
  });
});

describe("endings", () => {
  test("can be a list or one text, with or without dots, in any case, and duplicates count once", async () => {
    const label = word();
    const wanted = ["net", "co.uk"].map((tld) => `${label}.${tld}`);
    for (const tlds of ["net,co.uk", " .NET , co.uk,net", ["net", "co.uk"], [".net", "CO.UK", "net"]]) {
      expect((await names({ query: label, tlds })).slice(0, 2)).toEqual(wanted);
      expect((await names({ query: label, tlds }))[2]).toBe(`get${label}.net`);
    }
  });

  test("without the ending of the searched name leave this name out", async () => {
    const label = word();
    expect((await names({ query: `${label}.com`, tlds: "net" }))[0]).toBe(`${label}.net`);
    expect((await names({ query: `${label}.com`, tlds: "net,com" })).slice(0, 2)).toEqual([
      `${label}.com`,
      `${label}.net`,
    ]);
  });
});

test("warns of a name that looks like a name of the account, and still offers the name", async () => {
  const label = word();
  await connected(account, { name: `${label}o.com` });
  const [lookalike, plain] = [
    await found({ query: `${label}о`, tlds: "com" }),
    await found({ query: `${label}i`, tlds: "com" }),
  ];
  expect(lookalike[0]).toMatchObject({ available: true, warnings: [{ code: "lookalike", names: [`${label}o.com`] }] });
  expect(plain[0]?.warnings).toEqual([]);
  const others = await newAccount();
  const { body } = await search({ query: `${label}о`, tlds: "com" }, others, await newWorkspace(others, "There"));
  expect(body.items[0].warnings).toEqual([]);
});

test.each<[query: Record<string, string | string[]>, loc: (string | number)[], type: string]>([
  [{}, ["query", "query"], "missing"],
  [{ query: "" }, ["query", "query"], "string_too_short"],
  [{ query: "   " }, ["query", "query"], "string_too_short"],
  [{ query: "x".repeat(254) }, ["query", "query"], "string_too_long"],
  [{ query: ["a", "b"] }, ["query", "query"], "string_type"],
  [{ query: "a", tlds: "" }, ["query", "tlds"], "value_error"],
  [{ query: "a", tlds: "com,," }, ["query", "tlds"], "value_error"],
  [{ query: "a", tlds: "c m" }, ["query", "tlds"], "value_error"],
  [{ query: "a", tlds: ["com", "n!t"] }, ["query", "tlds", 1], "string_pattern_mismatch"],
  [{ query: "a", tlds: Array.from({ length: 21 }, (_, index) => `t${index}`) }, ["query", "tlds"], "value_error"],
  [{ query: "a", limit: "5" }, ["query", "limit"], "extra_forbidden"],
  [{ query: "a", workspace_id: "nonsense" }, ["query", "workspace_id"], "string_pattern_mismatch"],
])("refuses %j", async (query, loc, type) => {
  const answer = await search(query);
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toEqual([{ loc, type, msg: expect.any(String) }]);
});

test("needs domain.view on the workspace; another workspace is like a missing one", async () => {
  const other = await newWorkspace(account, `Other ${word()}`);
  const viewer = await newMember(account, { capability: "domain.view", scope: { type: "workspace", id: workspaceId } });
  const as = (workspace_id: string, token = viewer.token) =>
    request(
      "GET",
      `/v1/public/accounts/${account.id}/domains/search?query=${word()}&tlds=com&workspace_id=${workspace_id}`,
      {
        token,
      },
    );
  expect((await as(workspaceId)).status).toBe(200);
  const foreign = await newWorkspace(await newAccount(), "Foreign");
  for (const workspace of [other, foreign, account.id]) {
    const { status, body } = await as(workspace);
    expect([status, body.detail]).toMatchObject([422, [{ loc: ["query", "workspace_id"], type: "not_found" }]]);
  }
  const { token } = await newMember(account, { capability: "mailbox.view" });
  expect((await as(workspaceId, token)).body).toMatchObject({ required_capability: "domain.view" });
});

test("a suspended account can still search", async () => {
  const suspended = await newAccount();
  const workspace = await newWorkspace(suspended, "Here");
  await setAccountStatus(testTable(), suspended.id, "suspended", new Date());
  expect((await search({ query: word(), tlds: "com" }, suspended, workspace)).status).toBe(200);
});
