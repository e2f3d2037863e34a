import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { limitCommands } from "../../../infra/operator/limit-commands.ts";
import { requestClasses } from "../../../shared/limits/limits.ts";
import { limitClasses } from "../../../shared/rate-limits/classes.ts";
import { setOwnLimit } from "../../../shared/rate-limits/own-limits.ts";
import { request, statusesOf } from "../../support/request.ts";
import { newAccount, testTable } from "../../support/world.ts";

const limitClassNames = Object.keys(requestClasses) as (keyof typeof requestClasses)[];

const run = (name: string, options: Record<string, string>) =>
  limitCommands[`limits ${name}`]?.run(testTable(), options, { open: () => testTable() });

const limitsOf = (own: Record<string, { perMinute: number; burst: number }>) =>
  limitClassNames.map((name) => {
    const { perMinute, burst } = own[name] ?? limitClasses[name];
    return { class: name, per_minute: perMinute, burst, own: name in own };
  });

test("an account has the limits of the classes, except for classes with a limit of its own, until this own limit is cleared", async () => {
  const { id: account } = await newAccount();
  expect(await run("show", { account })).toEqual({ account_id: account, limits: limitsOf({}) });
  const [search, outbound] = [
    { perMinute: 7, burst: 3 },
    { perMinute: 1_000_000, burst: 1 },
  ];
  await run("set", { account, class: "search", "per-minute": "7", burst: "3" });
  const both = await run("set", { account, class: "outbound", "per-minute": "1000000", burst: "1" });
  expect(both).toEqual({ account_id: account, limits: limitsOf({ search, outbound }) });
  expect(await run("show", { account })).toEqual(both);
  await run("clear", { account, class: "search" });
  await run("clear", { account, class: "search" });
  expect(await run("show", { account })).toEqual({ account_id: account, limits: limitsOf({ outbound }) });
});

test("a limit of an account applies to requests in this account, and not in other accounts", async () => {
  const { id: account, owner } = await newAccount();
  await run("set", { account, class: "default", "per-minute": "1", burst: "2" });
  const other = await newAccount({ owner });
  const statusesIn = async (id: string) => {
    const path = `/v1/public/accounts/${id}/workspaces`;
    const answers = await Promise.all(Array.from({ length: 5 }, () => request("GET", path, { token: owner.token })));
    return statusesOf(answers);
  };
  expect(await statusesIn(account)).toEqual([200, 200, 429, 429, 429]);
  expect(await statusesIn(other.id)).toEqual([200, 200, 200, 200, 200]);
});

test("if limits of different classes are set at the same time, none is lost", async () => {
  const { id: account } = await newAccount();
  const limit = { perMinute: 5, burst: 5 };
  await Promise.all(limitClassNames.map((name) => setOwnLimit(testTable(), account, name, limit)));
  const own = Object.fromEntries(limitClassNames.map((name) => [name, limit]));
  expect(await run("show", { account })).toEqual({ account_id: account, limits: limitsOf(own) });
});

test.each(["show", "set", "clear"])("%s for an unknown account is not found, and writes nothing", async (name) => {
  const account = randomUUID();
  const options = { account, class: "default", "per-minute": "1", burst: "1" };
  await expect(run(name, options)).rejects.toMatchObject({ code: "not_found" });
  await expect(run("show", { account })).rejects.toMatchObject({ code: "not_found" });
});

test.each([
  ["per-minute", ["0", "1000001", "-1", "1.5", "1e3", "", "x"]],
  ["burst", ["0", "1000001", "-1", "1.5", "", " 5"]],
  // The limits of logins at the mail servers are not limits of an account.
  ["class", ["", "Default", "all", "login_pair", "login_address", "login_source"]],
])("--%s accepts right values and refuses wrong values", (option, wrong) => {
  const schema = limitCommands["limits set"]?.options[option]?.schema;
  for (const value of wrong) expect([value, schema?.safeParse(value).success]).toEqual([value, false]);
  const right = option === "class" ? limitClassNames : ["1", "1000000"];
  for (const value of right) expect([value, schema?.safeParse(value).success]).toEqual([value, true]);
});
