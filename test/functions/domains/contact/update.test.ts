import { expect, onTestFinished, test, vi } from "vitest";

import { operationKey, registeredNameKey } from "../../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { afterReading } from "../../../support/between.ts";
import { setStored, storedAs, write } from "../../../support/domain-work.ts";
import { connected, contact, domainsRequest } from "../../../support/domains.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { withFault } from "../../../support/faults.ts";
import { happened } from "../../../support/purchases.ts";
import { daysFrom, ownedName } from "../../../support/renewals.ts";
import { request } from "../../../support/request.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

const update = (account: Account, name: string, body: unknown) =>
  domainsRequest(account, "PATCH", `/${name}/contact`, body);

const read = async (account: Account, name: string) => (await domainsRequest(account, "GET", `/${name}/contact`)).body;

const registrar = () => embeddedRegistrar(testTable(), () => new Date());

const change = { status: "succeeded", reason: null, started_at: expect.stringMatching(/Z$/) };

test("changes the given members at the registrar, removes members with null, and leaves the others", async () => {
  const { account, name } = await ownedName();
  const given = { city: "Oakland", organization: null, address_2: "Floor 2" };
  const { status, body } = await update(account, name, given);
  expect([status, body]).toEqual([200, { ...contact, ...given, change }]);
  expect(await read(account, name)).toEqual(body);
  expect(await registrar().contact(name)).toEqual({ ...contact, ...given });
  expect((await update(account, name, { city: "Berkeley" })).body).toEqual({
    ...contact,
    ...given,
    city: "Berkeley",
    change,
  });
});

test("records a change without the values of the contact, and records nothing if nothing changes", async () => {
  const { account, name } = await ownedName();
  await update(account, name, { city: "Oakland" });
  const after = await storedOf(account);
  await update(account, name, { city: "Oakland" });
  await update(account, name, {});
  expect(await storedOf(account)).toEqual(after);
  expect((await happened(account)).filter((type) => type === "domain.contact_updated")).toHaveLength(1);
  const journal = after.filter(({ SK }) => SK.startsWith("JOURNAL#"));
  expect(JSON.stringify(journal)).not.toContain("Oakland");
});

test("a program that changes nothing completes, and its repetition completes too", async () => {
  const { account, name } = await ownedName();
  const code = `domains.contact.update(account_id="${account.id}", domain="${name}", city="${contact.city}")`;
  for (const request_id of ["same", "same", "other"]) {
    const { body } = await request("POST", "/v1/public/a2a", {
      token: account.owner.token,
      body: { request_id, session_id: request_id, code },
    });
    expect([body.status, body.responses[0].status]).toEqual(["completed", "completed"]);
  }
});

test("names each invalid member, and each missing member that the country requires, and changes nothing", async () => {
  const { account, name } = await ownedName();
  for (const [given, members] of [
    [{ state: null }, ["state"]],
    [{ state: null, zip: null }, ["state", "zip"]],
    [{ country: "DE", zip: null }, ["zip"]],
    [{ country: "XX" }, ["country"]],
    [{ phone: "1" }, ["phone"]],
    [{ city: null }, ["city"]],
    [{ street: "x" }, ["street"]],
  ] as const) {
    const { status, body } = await update(account, name, given);
    expect([status, body.detail.map(({ loc }: { loc: string[] }) => loc)], JSON.stringify(given)).toEqual([
      422,
      members.map((member) => ["body", member]),
    ]);
  }
  expect(await registrar().contact(name)).toEqual(contact);
  expect((await update(account, name, { country: "HK", state: null, zip: null })).status).toBe(200);
});

test("says why the registry refused the contact, or why the change failed", async () => {
  const refused = await ownedName("contact-refused-");
  expect(await update(refused.account, refused.name, { city: "Oakland" })).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body"], msg: "The registry refuses this contact.", type: "contact_refused" }] },
  });
  const { account, name } = await ownedName("contact-fails-");
  expect((await update(account, name, { city: "Oakland" })).body.change).toMatchObject({ status: "running" });
  const { contact_update: latest } = await storedAs(account, name);
  const key = operationKey(latest?.operation_id ?? "") ?? { PK: "", SK: "" };
  await write({ update: key, set: { settles_at: new Date().toISOString() } });
  expect((await read(account, name)).change).toMatchObject({
    status: "failed",
    reason: "The registry did not change the contact.",
  });
  expect(await read(account, name)).toMatchObject(contact);
});

test("concurrent changes do not undo each other, and a change is refused while another change runs", async () => {
  const { account, name } = await ownedName();
  const given = [{ city: "Oakland" }, { first_name: "Grace" }, { zip: "94607" }, { address_2: "Floor 2" }];
  const answers = await Promise.all(given.map((one) => update(account, name, one)));
  const done = answers.flatMap(({ status }, index) => (status === 200 ? [given[index]] : []));
  expect(done.length).toBeGreaterThan(0);
  for (const { status, body } of answers) {
    if (status !== 200) expect([status, body.code]).toEqual([409, "domain_not_ready"]);
  }
  expect(await read(account, name)).toMatchObject(Object.assign({}, contact, ...done));
  for (const one of given) expect((await update(account, name, one)).status).toBe(200);
  expect(await read(account, name)).toMatchObject(Object.assign({}, contact, ...given));

  const slow = await ownedName("contact-fails-");
  await update(slow.account, slow.name, { city: "Oakland" });
  const second = await update(slow.account, slow.name, { first_name: "Grace" });
  expect(second.body).toMatchObject({ status: 409, code: "domain_not_ready" });
  expect(second.body.detail).toContain("is being changed");
});

test("a change is possible once the claim of a dead request ends, and at once after a refused change", async () => {
  const { account, name } = await ownedName();
  await setStored(account, name, { contact_claimed_until: new Date(Date.now() + 50_000).toISOString() });
  expect((await update(account, name, { city: "Oakland" })).body.code).toBe("domain_not_ready");
  await setStored(account, name, { contact_claimed_until: new Date(Date.now() - 1).toISOString() });
  expect((await update(account, name, { city: "Oakland" })).status).toBe(200);
  const refused = await ownedName("contact-refused-");
  for (const city of ["Oakland", "Berkeley"]) {
    expect((await update(refused.account, refused.name, { city })).status).toBe(422);
  }
});

test("a change that is refused because another runs does not end the claim of the other, even in the same millisecond", async () => {
  onTestFinished(() => void vi.useRealTimers());
  const { account, name } = await ownedName();
  const { PK, SK } = registeredNameKey(name);
  const meanwhile: Awaited<ReturnType<typeof update>>[] = [];
  vi.useFakeTimers({ toFake: ["Date"] });
  // The change reads the name for the second time when it sends the new contact to the registrar.
  const { status } = await afterReading(
    (key) => key.PK === PK && key.SK === SK,
    async () => {
      for (const city of ["Berkeley", "Alameda"]) meanwhile.push(await update(account, name, { city }));
    },
    () => update(account, name, { first_name: "Grace" }),
    2,
  );
  expect([status, ...meanwhile.map(({ body }) => body.code)]).toEqual([200, "domain_not_ready", "domain_not_ready"]);
  expect(await read(account, name)).toMatchObject({ ...contact, first_name: "Grace" });
});

test("no other change begins while the registrar makes a change that is not recorded; a lost answer before that blocks no later change", async () => {
  const { account, name } = await ownedName("contact-fails-");
  // The transactions of a change: the claim of the contact, the change at the embedded registrar, and its record.
  const [claim, sent, recorded] = [0, 1, 2];
  const { value } = await withFault("lost before", { transaction: recorded }, () =>
    update(account, name, { city: "Oakland" }),
  );
  expect(value.status).toBe(503);
  expect((await update(account, name, { city: "Berkeley" })).body.code).toBe("domain_not_ready");
  const other = await ownedName();
  for (const transaction of [claim, sent]) {
    await withFault("answer lost", { transaction }, () => update(other.account, other.name, { city: "Oakland" }));
    expect((await update(other.account, other.name, { zip: `9460${transaction}` })).status).toBe(200);
  }
});

test("the result of a change is shown for a week", async () => {
  const { account, name } = await ownedName();
  await update(account, name, { city: "Oakland" });
  const { contact_update: latest } = await storedAs(account, name);
  const ago = (days: number) => ({ ...latest, started_at: daysFrom(new Date().toISOString(), -days).toISOString() });
  await setStored(account, name, { contact_update: ago(6.9) });
  expect(await read(account, name)).toMatchObject({ change: { status: "succeeded" } });
  await setStored(account, name, { contact_update: ago(7) });
  expect(await read(account, name)).toMatchObject({ change: null });
});

test("refuses a name that was not purchased here, or is not registered any more", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  expect((await update(account, name, { city: "Oakland" })).body.code).toBe("not_registered_here");
  const owned = await ownedName();
  await registrar().release(owned.name);
  expect((await update(owned.account, owned.name, { city: "Oakland" })).body.code).toBe("domain_not_ready");
});
