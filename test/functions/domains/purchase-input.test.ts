import { randomUUID } from "node:crypto";

import { beforeAll, describe, expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { contact, domainsRequest, funded, listedDomains, uniqueName } from "../../support/domains.ts";
import { wallet } from "../../support/purchases.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import type { Account } from "../../support/world.ts";

describe("a purchase", () => {
  let account: Account;
  let workspace_id: string;
  beforeAll(async () => {
    account = await funded(await newRoomyAccount(), 100_000);
    workspace_id = await newWorkspace(account, "Here");
  });
  const send = (body: object) =>
    domainsRequest(account, "POST", "/purchase", {
      workspace_id,
      domains: [uniqueName()],
      contact_info: contact,
      ...body,
    });

  test.each<[body: object, loc: (string | number)[], type: string]>([
    [{ domains: [] }, ["domains"], "too_short"],
    [{ domains: Array.from({ length: 51 }, (_, index) => `name-${index}.com`) }, ["domains"], "too_long"],
    [{ domains: "example.com" }, ["domains"], "array_type"],
    [{ domains: ["ok-name.com", "no name"] }, ["domains", 1], "value_error"],
    [{ domains: ["co.uk"] }, ["domains", 0], "value_error"],
    [{ domains: ["name.test"] }, ["domains", 0], "value_error"],
    [{ domains: [`${"x".repeat(64)}.com`] }, ["domains", 0], "value_error"],
    [{ domains: [7] }, ["domains", 0], "string_type"],
    [{ contact_info: undefined }, ["contact_info"], "missing"],
    [{ workspace_id: undefined }, ["workspace_id"], "missing"],
    [{ workspace_id: randomUUID() }, ["workspace_id"], "not_found"],
    [{ max_total: "0" }, ["max_total"], "value_error"],
    [{ max_total: "50000.01" }, ["max_total"], "value_error"],
    [{ max_total: null }, ["max_total"], "value_error"],
    [{ years: 2 }, ["years"], "extra_forbidden"],
  ])("refuses invalid input %#: $1", async (body, loc, type) => {
    const answer = await send(body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([{ loc: ["body", ...loc], type, msg: expect.any(String) }]);
  });

  test.each<[member: string, value: unknown, message: RegExp]>([
    ["first_name", "", /./],
    ["last_name", "  ", /./],
    ["organization", "x".repeat(256), /./],
    ["email", "ada", /./],
    ["email", "ada@example.com\n", /./],
    ["phone", "14155552671", /E\.164/],
    ["phone", "+1 415 555 2671", /E\.164/],
    ["phone", "+1415555", /telephone number/],
    ["phone", "+999123456789", /telephone number/],
    ["address_1", "a\u0000b", /invisible character/],
    ["city", "\u200b", /invisible character/],
    ["state", undefined, /US needs a state/],
    ["state", null, /US needs a state/],
    ["zip", undefined, /US needs a postal code/],
    ["zip", "9".repeat(33), /./],
    ["zip", 94_105, /string/],
    ["country", "USA", /two capital letters/],
    ["country", "us", /two capital letters/],
    ["country", "XX", /not a country code/],
    ["country", "UK", /not a country code/],
    ["country", "XK", /not a country code/],
    ["fax", "+14155552671", /not known/],
  ])("refuses a contact with the %s %j", async (member, value, message) => {
    const answer = await send({ contact_info: { ...contact, [member]: value } });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([
      { loc: ["body", "contact_info", member], msg: expect.stringMatching(message) },
    ]);
  });

  test("names every fault of an empty contact, and none of these requests bought anything", async () => {
    const { body } = await send({ contact_info: {} });
    const named = body.detail.map(({ loc }: { loc: string[] }) => loc[2]).toSorted();
    const optional = new Set(["organization", "state", "zip"]);
    const all = Object.keys(contact).filter((member) => !optional.has(member));
    expect(named).toEqual(all.toSorted());
    expect(await wallet(account)).toEqual({ posted: 100_000, available: 100_000 });
    expect((await listedDomains(account)).total).toBe(0);
  });

  test("refuses a person for a name that only companies can register, and names `organization`", async () => {
    const { body } = await send({ domains: ["example.com.au"], contact_info: { ...contact, organization: null } });
    expect(body.detail).toMatchObject([{ loc: ["body", "contact_info", "organization"] }]);
  });

  test("accepts a person in a country without states and postal codes", async () => {
    const { first_name, last_name, email, phone, address_1, city } = contact;
    const person = { first_name, last_name, email, phone, address_1, city, country: "HK" };
    const { body } = await send({ contact_info: person, domains: [`taken-${uniqueName()}`] });
    expect(body).toMatchObject({ failed_count: 1 });
  });

  test.each(["AQ", "GB", "TF", "DE", "AX", "SX", "ZW"])("accepts a contact in %s", async (country) => {
    const { body } = await send({ contact_info: { ...contact, country }, domains: [`taken-${uniqueName()}`] });
    expect(body).toMatchObject({ failed_count: 1 });
  });
});
