import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { mailboxKey } from "../../../shared/mail/mailboxes/mailbox.ts";
import { domainsRequest } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { statusesOf } from "../../support/request.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

async function scene() {
  const account = await newAccount();
  const { name } = await home(account);
  const [id = ""] = await stocked(account, name, ["ada"]);
  const activate = (active: unknown, options = {}) => send(account, "PATCH", at(id, "/active"), { active }, options);
  return { account, name, id, activate };
}

test("pauses and resumes a mailbox, and each change is one event", async () => {
  const { account, name, id, activate } = await scene();
  const paused = await activate(false);
  expect([paused.status, paused.body]).toEqual([200, expect.objectContaining({ id, status: "paused" })]);
  expect((await send(account, "GET", at(`ada@${name}`))).body).toEqual(paused.body);
  expect((await domainsRequest(account, "GET", `/${name}`)).body.mailbox_count).toBe(1);
  const resumed = await activate(true);
  expect(resumed.body.status).toBe("active");
  const types = (await recorded(account)).map(({ type }) => type);
  expect(types.slice(0, 2)).toEqual(["mailbox.resumed", "mailbox.paused"]);
});

test("returns the same entity tag as a read, and refuses a change with an outdated tag", async () => {
  const { account, id, activate } = await scene();
  const { headers } = await send(account, "GET", at(id));
  const paused = await activate(false, { headers: { "if-match": headers["etag"] ?? "" } });
  expect([paused.status, paused.headers["etag"]]).toEqual([200, (await send(account, "GET", at(id))).headers["etag"]]);
  const late = await activate(true, { headers: { "if-match": headers["etag"] ?? "" } });
  expect(late.body).toMatchObject({ status: 412, code: "precondition_failed" });
});

test("a repeated change changes nothing, and is no event", async () => {
  const { account, activate } = await scene();
  for (const active of [true, false]) {
    const first = await activate(active);
    const before = await storedOf(account);
    const again = await activate(active);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(await storedOf(account)).toEqual(before);
  }
  const answers = await Promise.all(Array.from({ length: 5 }, () => activate(true)));
  expect(statusesOf(answers)).toEqual(Array(5).fill(200));
  expect(await recorded(account, "mailbox.resumed")).toHaveLength(1);
});

test.each(["suspended", "provisioning", "deleting"])(
  "does not change a mailbox that is %s, and returns this status",
  async (status) => {
    const { account, id, activate } = await scene();
    await testTable().attempt({ update: mailboxKey(account.id, id), set: { status } });
    for (const active of [true, false]) {
      expect((await activate(active)).body).toMatchObject({
        status: 409,
        code: "mailbox_not_ready",
        mailbox_status: status,
      });
    }
    expect((await send(account, "GET", at(id))).body.status).toBe(status);
  },
);

test("refuses a value that is not true or false at its place", async () => {
  const { activate } = await scene();
  for (const active of [undefined, null, "true", 1]) {
    const { status, body } = await activate(active);
    expect([status, body.detail]).toEqual([422, [expect.objectContaining({ loc: ["body", "active"] })]]);
  }
});

test("needs mailbox.update, and an account that is not suspended", async () => {
  const { account, id, activate } = await scene();
  const scope = { type: "mailbox" as const, id };
  const viewer = await newMember(account, { role: "viewer", scope });
  const editor = await newMember(account, { role: "viewer", scope }, { capability: "mailbox.update", scope });
  expect((await activate(false, { as: viewer })).body.required_capability).toBe("mailbox.update");
  expect((await activate(false, { as: editor })).status).toBe(200);
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect((await activate(true)).body.code).toBe("account_suspended");
});
