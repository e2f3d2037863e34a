import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { sendNotice } from "../../../shared/notices/send.ts";
import { stranger } from "../../support/forwarding.ts";
import { send } from "../../support/mailboxes.ts";
import { accountWithAddress, eventsOf, knowEmail, noticesTo, noticeWork, pastDue } from "../../support/notices.ts";
import { newAccount, newMember, newServiceAccount, type Account } from "../../support/world.ts";

const read = async (account: Account) => (await send(account, "GET", "notices")).body;
const change = (account: Account, body: object) => send(account, "PATCH", "notices", body);

test("a user gets the mails of the categories that were chosen for them, and the change is an event", async () => {
  const { account, address } = await accountWithAddress();
  const reader = await newMember(account, { role: "billing_viewer" });
  const books = stranger("books");
  await knowEmail(account, reader, books);
  const readers = [{ user_id: reader.id, categories: ["wallet", "account", "wallet"] }];
  const { status, body } = await change(account, { muted: ["domains"], readers });
  const kept = { muted: ["domains"], readers: [{ user_id: reader.id, categories: ["account", "wallet"] }] };
  expect([status, body]).toEqual([
    200,
    {
      ...kept,
      recipients: [
        { user_id: account.owner.id, email: address, owner: true },
        { user_id: reader.id, email: books, owner: false },
      ],
    },
  ]);
  expect(await read(account)).toEqual(body);
  await sendNotice(pastDue(account), noticeWork());
  expect(await noticesTo(books)).toHaveLength(1);
  const [event, ...more] = await eventsOf(account, "notices.updated");
  expect([event?.data, more]).toEqual([kept, []]);
  expect((await change(account, { readers: [] })).body).toMatchObject({ muted: ["domains"], readers: [] });
});

test("a change to the present list makes no event", async () => {
  const account = await newAccount();
  await change(account, { muted: ["domains"] });
  await change(account, { muted: ["domains"] });
  await change(account, {});
  expect(await eventsOf(account, "notices.updated")).toHaveLength(1);
});

test.each(["account", "security"])("mails of the category %s cannot be muted", async (category) => {
  const account = await newAccount();
  const { status, body } = await change(account, { muted: [category] });
  expect([status, body.detail?.[0]?.loc]).toEqual([422, ["body", "muted", 0]]);
  expect((await read(account)).muted).toEqual([]);
});

test("refuses a reader without access, a service account as a reader, and a user who is listed twice, at their place", async () => {
  const account = await newAccount();
  const program = await newServiceAccount(account, { role: "viewer" });
  const categories = ["wallet"];
  const owner = { user_id: account.owner.id, categories };
  const refused = [
    [owner, { user_id: randomUUID(), categories }],
    [owner, { user_id: program.id, categories }],
    [owner, owner],
  ];
  for (const readers of refused) {
    const { status, body } = await change(account, { readers });
    expect([status, body.detail?.[0]?.loc]).toEqual([422, ["body", "readers", 1, "user_id"]]);
  }
  expect((await read(account)).readers).toEqual([]);
});

test("a user whose access ended gets no mails, and is no recipient any more", async () => {
  const account = await newAccount();
  const reader = await newMember(account, { role: "viewer" });
  const address = stranger();
  await knowEmail(account, reader, address);
  await change(account, { readers: [{ user_id: reader.id, categories: ["account"] }] });
  const { text } = await send(account, "GET", `auth/role-assignments?subject_id=${reader.id}`);
  const [{ id }] = JSON.parse(text) as [{ id: string }];
  expect((await send(account, "DELETE", `auth/role-assignments/${id}`)).status).toBe(200);
  expect((await read(account)).recipients).toEqual([expect.objectContaining({ user_id: account.owner.id })]);
  await sendNotice(pastDue(account), noticeWork());
  expect(await noticesTo(address)).toEqual([]);
});
