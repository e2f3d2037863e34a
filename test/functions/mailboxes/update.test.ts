import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { storedOf } from "../../support/entry-points.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { statusesOf } from "../../support/request.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

async function scene() {
  const account = await newAccount();
  const { id: domainId, name } = await home(account);
  const [id = "", other = ""] = await stocked(account, name, ["ada", "bob"]);
  const update = (body: unknown, options = {}) => send(account, "PATCH", at(id), body, options);
  const get = async () => send(account, "GET", at(id));
  return { account, domainId, name, id, other, update, get };
}

test("changes the given members and leaves the others, by the id or the address", async () => {
  const { account, name, id, update, get } = await scene();
  const before = (await get()).body;
  const first = await update({ first_name: "  Augusta " });
  expect([first.status, first.body]).toEqual([
    200,
    { ...before, first_name: "Augusta", updated_at: first.body.updated_at },
  ]);
  expect(first.body.updated_at >= before.updated_at).toBe(true);
  const second = await send(account, "PATCH", at(`ADA@${name}`), { last_name: "King" });
  expect(second.body).toMatchObject({ id, first_name: "Augusta", last_name: "King", created_at: before.created_at });
  expect((await get()).body).toEqual(second.body);
});

test("changes and records nothing if the values are the same", async () => {
  const { account, update, get } = await scene();
  const { headers, body } = await get();
  const before = await storedOf(account);
  for (const same of [{}, { first_name: "Ada" }, { first_name: "Ada", last_name: "Lovelace" }]) {
    for (const tag of [undefined, "*", headers["etag"]]) {
      const answer = await update(same, tag === undefined ? {} : { headers: { "if-match": tag } });
      expect([answer.status, answer.body]).toEqual([200, body]);
    }
    expect((await update(same, { headers: { "if-match": '"other"' } })).status).toBe(412);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("of several changes with the same entity tag, one succeeds", async () => {
  const { update, get } = await scene();
  const headers = { "if-match": (await get()).headers["etag"] ?? "" };
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) => update({ first_name: `Name ${index}` }, { headers })),
  );
  expect(statusesOf(answers)).toEqual([200, ...Array(5).fill(412)]);
  const made = answers.find(({ status }) => status === 200);
  expect((await get()).body).toEqual(made?.body);
});

test("changes of different members at the same time are all made", async () => {
  const { update, get } = await scene();
  const answers = await Promise.all([
    update({ first_name: "A" }),
    update({ last_name: "B" }),
    update({ first_name: "A" }),
  ]);
  expect(statusesOf(answers)).toEqual([200, 200, 200]);
  expect((await get()).body).toMatchObject({ first_name: "A", last_name: "B" });
});

test.each([
  [{ first_name: "" }, "first_name"],
  [{ last_name: "a".repeat(101) }, "last_name"],
  [{ last_name: "a\tb" }, "last_name"],
  [{ first_name: null }, "first_name"],
  [{ local_part: "bob" }, "local_part"],
  [{ status: "active" }, "status"],
  [{ password: "correct horse" }, "password"],
])("refuses %j at its place, and changes nothing", async (body, name) => {
  const { account, update } = await scene();
  const before = await storedOf(account);
  const answer = await update({ last_name: "King", ...body });
  expect([answer.status, answer.body.detail]).toEqual([422, [expect.objectContaining({ loc: ["body", name] })]]);
  expect(await storedOf(account)).toEqual(before);
});

test("needs mailbox.update on the mailbox, and an account that is not suspended", async () => {
  const { account, id, other, update } = await scene();
  const scope = { type: "mailbox" as const, id };
  const editor = await newMember(account, { role: "viewer", scope }, { capability: "mailbox.update", scope });
  expect((await update({ last_name: "King" }, { as: editor })).status).toBe(200);
  expect((await send(account, "PATCH", at(other), { last_name: "King" }, { as: editor })).status).toBe(404);
  const viewer = await newMember(account, { role: "viewer" });
  expect((await update({ last_name: "L" }, { as: viewer })).body).toMatchObject({
    status: 403,
    required_capability: "mailbox.update",
  });
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect((await update({ last_name: "L" })).body).toMatchObject({ status: 403, code: "account_suspended" });
});
