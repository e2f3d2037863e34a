import { describe, expect, test } from "vitest";

import { routes } from "../../../functions/routes.ts";
import { parseTags } from "../../../shared/core/etag.ts";
import type { Route } from "../../../shared/http/route.ts";
import { asOwner, giveGroup, join, newGroup } from "../../support/auth.ts";
import { callRest } from "../../support/call.ts";
import { storedOf } from "../../support/entry-points.ts";
import { examples } from "../../support/examples.ts";
import { added, home } from "../../support/mailboxes.ts";
import { request } from "../../support/request.ts";
import { newAccount, newUser, type Account } from "../../support/world.ts";

const tagged = routes.filter(({ http }) => http.etag);
const getterOf = ({ http: { path } }: Route): Route => {
  const getter = tagged.find(
    (route) => route.http.method === "GET" && (path === route.http.path || path === `${route.http.path}/active`),
  );
  if (!getter) throw new Error(`no GET of ${path} declares an \`http.etag\`, so no other route of this path can`);
  return getter;
};
const changers = tagged.filter(({ http }) => http.method !== "GET");

test.each([
  ['"a"', ['"a"']],
  ['"a",', ['"a"']],
  [',, "a" ,\t, W/"b",', ['"a"', 'W/"b"']],
  ['"a,b","\u00e9", ""', ['"a,b"', '"\u00e9"', '""']],
  [" * ", "*"],
  ["", undefined],
  [" , ", undefined],
  ['"a" "b"', undefined],
  ['"a"b', undefined],
  ["a", undefined],
  ['w/"a"', undefined],
  ['*, "a"', undefined],
])("the tags in `If-Match: %s` are %j", (field, tags) => expect(parseTags(field)).toEqual(tags));

const getters = tagged.filter(({ http }) => http.method === "GET").map((getter) => [getter.name, getter] as const);

test.each(getters)("the other routes with the path of %s declare its tag too", (name, { http: { path } }) => {
  const others = routes.filter(({ http }) => http.path === path && http.method !== "GET");
  const untagged = others.filter(({ http }) => !http.etag);
  expect(
    untagged.map((route) => route.name),
    `declare the \`http.etag\` of ${name} on these routes too`,
  ).toEqual([]);
});

describe.each(changers.filter(({ http }) => http.method === "PATCH").map((route) => [route.name, route] as const))(
  "%s without a change",
  (_, route) => {
    test("keeps the tag and `updated_at`, and writes nothing", async () => {
      const account = await newAccount();
      const example = (await examples[route.name]?.(account)) ?? {};
      const first = await callRest(route, example, account.owner.token);
      const before = await storedOf(account);
      for (const headers of [{}, { "if-match": first.headers["etag"] ?? "" }]) {
        const again = await callRest(route, example, account.owner.token, headers);
        expect([again.status, again.headers["etag"]]).toEqual([200, first.headers["etag"]]);
        expect(again.body.updated_at).toBe(first.body.updated_at);
      }
      const stale = await callRest(route, example, account.owner.token, { "if-match": '"other"' });
      expect(stale.status).toBe(412);
      expect(await storedOf(account)).toEqual(before);
      const read = await callRest(getterOf(route), example, account.owner.token);
      expect(read.headers["etag"]).toBe(first.headers["etag"]);
    });
  },
);

describe.each(routes.filter(({ http }) => !http.etag).map((route) => [route.name, route] as const))(
  "%s",
  (_, route) => {
    test("has no tag, so it refuses If-Match and does nothing", async () => {
      const account = await newAccount();
      const example = (await examples[route.name]?.(account)) ?? {};
      const before = await storedOf(account);
      for (const tag of ['"any"', "*", "none"]) {
        const { body } = await callRest(route, example, account.owner.token, { "if-match": tag });
        expect(body).toMatchObject({
          status: 412,
          code: "precondition_failed",
          detail: expect.stringMatching(/does not support `If-Match`/),
        });
      }
      expect(await storedOf(account)).toEqual(before);
    });
  },
);

test.each(["/v1/public/a2a", "/v1/public/mcp", "/v1/public/functions"])("%s refuses If-Match", async (path) => {
  const isList = path.endsWith("functions");
  const sent = { token: newUser().token, headers: { "if-match": "*" }, ...(isList ? {} : { body: {} }) };
  expect((await request(isList ? "GET" : "POST", path, sent)).body).toMatchObject({ status: 412 });
});

describe.each(changers.map((route) => [route.name, route] as const))("%s", (_, route) => {
  const call = async (account: Account, ifMatch: string, example: Record<string, unknown>) =>
    callRest(route, example, account.owner.token, { "if-match": ifMatch });
  const newScene = async () => {
    const account = await newAccount();
    const example = (await examples[route.name]?.(account)) ?? {};
    const { headers } = await callRest(getterOf(route), example, account.owner.token);
    return { account, example, etag: headers["etag"] ?? "" };
  };
  /** The scene that the tests share. Only the last test changes it. */
  let shared: ReturnType<typeof newScene> | undefined;
  const sharedScene = () => (shared ??= newScene());

  test("answers 412 for another tag, and changes nothing", async () => {
    const { account, example, etag } = await sharedScene();
    const before = await storedOf(account);
    for (const tag of ['"other"', `W/${etag}`]) {
      expect((await call(account, tag, example)).body).toMatchObject({ status: 412, code: "precondition_failed" });
    }
    expect(await storedOf(account)).toEqual(before);
  });

  test("answers 422 for an invalid tag", async () => {
    const { account, example, etag } = await sharedScene();
    for (const tag of [etag.replaceAll('"', ""), "", '"a" "b"']) {
      const { status, body } = await call(account, tag, example);
      expect([status, body.detail?.[0].loc]).toEqual([422, ["header", "if-match"]]);
    }
  });

  test("succeeds with the tag that GET returned, and with *", async () => {
    for (const any of [false, true]) {
      const { account, example, etag } = await (any ? newScene : sharedScene)();
      const answer = await call(account, any ? "*" : `"other", ${etag}`, example);
      expect(answer.status).toBe(200);
      if (route.http.method === "PATCH") {
        const read = await callRest(getterOf(route), example, account.owner.token);
        expect(answer.headers["etag"]).toBe(read.headers["etag"]);
      }
    }
  });
});

async function newWorkspace(account: Account): Promise<{ path: string; etag: string }> {
  const { token } = account.owner;
  const at = `/v1/public/accounts/${account.id}/workspaces`;
  const { body } = await request("POST", at, { token, body: { name: "First" } });
  const { headers } = await request("GET", `${at}/${body.id}`, { token });
  return { path: `${at}/${body.id}`, etag: headers["etag"] ?? "" };
}

test("of twenty concurrent changes with the same tag, one succeeds", async () => {
  const account = await newAccount();
  const { path, etag } = await newWorkspace(account);
  const rename = (name: string) =>
    request("PATCH", path, { token: account.owner.token, body: { name }, headers: { "if-match": etag } });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => rename(`Name ${index}`)));
  const made = answers.filter(({ status }) => status === 200);
  expect(made).toHaveLength(1);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 412]));
  expect((await request("GET", path, { token: account.owner.token })).body.name).toBe(made[0]?.body.name);
});

test("a tag stays the same while nothing changes, and every change makes a new tag", async () => {
  const account = await newAccount();
  const { path, etag } = await newWorkspace(account);
  const { token } = account.owner;
  expect((await request("GET", path, { token })).headers["etag"]).toBe(etag);
  const seen = [etag];
  for (const name of ["Second", "First"]) {
    seen.push((await request("PATCH", path, { token, body: { name } })).headers["etag"] ?? "");
  }
  expect(new Set(seen).size).toBe(3);
});

test("a caller with the current tag gets 304 without a body, and a caller without permission gets 404", async () => {
  const account = await newAccount();
  const { path, etag } = await newWorkspace(account);
  const read = (token: string, tag: string) => request("GET", path, { token, headers: { "if-none-match": tag } });
  expect(await read(account.owner.token, `W/${etag}`)).toMatchObject({ status: 304, text: "", headers: { etag } });
  expect((await read(account.owner.token, '"other"')).status).toBe(200);
  expect((await read(newUser().token, etag)).status).toBe(404);
});

test("a group that is deleted in several transactions is deleted only if the caller sent its current tag", async () => {
  const account = await newAccount();
  const group = await newGroup(account, "Many");
  const path = `/v1/public/accounts/${account.id}/auth/groups/${group.id}`;
  const { token } = account.owner;
  for (let index = 0; index < 12; index++) await join(account, group, newUser().id);
  await giveGroup(account, group, "dns.view");
  const { headers } = await request("GET", path, { token });
  await asOwner(account, "PATCH", `groups/${group.id}`, { description: "Changed" });
  const before = await storedOf(account);
  const stale = await request("DELETE", path, { token, headers: { "if-match": headers["etag"] ?? "" } });
  expect(stale.status).toBe(412);
  expect(await storedOf(account)).toEqual(before);
  const fresh = (await request("GET", path, { token })).headers["etag"] ?? "";
  expect((await request("DELETE", path, { token, headers: { "if-match": fresh } })).status).toBe(200);
  expect((await request("GET", path, { token })).status).toBe(404);
});

test("GET with the current tag in If-Match is 200, with another tag 412, and with an invalid tag 422", async () => {
  const account = await newAccount();
  const { path, etag } = await newWorkspace(account);
  const read = (tag: string) => request("GET", path, { token: account.owner.token, headers: { "if-match": tag } });
  expect([(await read(etag)).status, (await read('"other"')).status, (await read("x")).status]).toEqual([
    200, 412, 422,
  ]);
});

test("a tag covers the resource's own state: changes inside it or around it leave the tag as it is", async () => {
  const account = await newAccount();
  const { token } = account.owner;
  const at = `/v1/public/accounts/${account.id}`;
  const domain = await home(account);
  const mailbox = await added(account, domain.name, "first");
  const group = await newGroup(account, "Outer");
  const tagsOf = () =>
    Promise.all(
      [`domains/${domain.name}`, `mailboxes/${mailbox.id}`, `auth/groups/${group.id}`].map(
        async (path) => (await request("GET", `${at}/${path}`, { token })).headers["etag"],
      ),
    );
  const before = await tagsOf();
  await added(account, domain.name, "second");
  await newGroup(account, "Inner", group);
  await giveGroup(account, group, "dns.view");
  await request("PATCH", `${at}/workspaces/${domain.workspace_id}`, { token, body: { name: "Renamed" } });
  expect(await tagsOf()).toEqual(before);
});
