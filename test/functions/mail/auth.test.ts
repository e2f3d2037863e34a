import { afterEach, expect, test, vi } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { holderKey } from "../../../shared/domains/domain.ts";
import { defaultQuotaBytes } from "../../../shared/mail/mailboxes/mailbox.ts";
import { newPassword } from "../../../shared/mail/mailboxes/password.ts";
import { newWorkspace } from "../../support/auth.ts";
import { setStored, write } from "../../support/domain-work.ts";
import { delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { faults, withFault } from "../../support/faults.ts";
import { ask, askWith, hashesDuring, logsIn, newSource } from "../../support/mail-routes.ts";
import { added, at, home, send, setPassword, stocked, storedMailbox } from "../../support/mailboxes.ts";
import { newAccount, testTable } from "../../support/world.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

const password = "correct horse battery";

/** An account with mailboxes of one domain that all have the same password. */
async function scene(locals = ["ada"], options: { name?: string; status?: string } = {}) {
  const account = await newAccount();
  const domain = await home(account, options);
  const ids = await stocked(account, domain.name, locals);
  for (const id of ids) await setPassword(account, id, password);
  return { account, domain, name: domain.name, email: `ada@${domain.name}`, id: ids[0] ?? "", ids };
}

test("accepts the mailbox's password over SMTP, IMAP and POP3, and names the server of the protocol", async () => {
  const { email } = await scene();
  vi.stubEnv("MAIL_SMTP_RELAY", "192.0.2.7:2526");
  vi.stubEnv("MAIL_IMAP_SERVER", "[2001:db8::7]:1144");
  const smtp = await ask({ "auth-user": email, "auth-pass": password });
  expect(smtp).toMatchObject({
    status: "200",
    "auth-status": "OK",
    "auth-server": "192.0.2.7",
    "auth-port": "2526",
    "auth-user": email,
  });
  const imap = await ask({ "auth-user": email, "auth-pass": password, "auth-protocol": "imap" });
  expect(imap).toMatchObject({ "auth-status": "OK", "auth-server": "2001:db8::7", "auth-port": "1144" });
  vi.stubEnv("MAIL_POP_SERVER", "192.0.2.8:1111");
  const pop3 = await ask({ "auth-user": email, "auth-pass": password, "auth-protocol": "pop3" });
  expect(pop3).toMatchObject({ "auth-status": "OK", "auth-server": "192.0.2.8", "auth-port": "1111" });
});

test("names the mailbox, its account and its quota in headers and in the body", async () => {
  const { account, id, email } = await scene();
  const answer = await ask({ "auth-user": email, "auth-pass": password });
  expect(answer).toMatchObject({
    "x-mailbox-id": id,
    "x-account-id": account.id,
    "x-quota-bytes": String(defaultQuotaBytes),
    "cache-control": "no-store",
  });
  const body = { mailbox_id: id, account_id: account.id, address: email, quota_bytes: defaultQuotaBytes };
  expect(JSON.parse(answer["body"] ?? "")).toEqual(body);
  const refused = await ask({ "auth-user": email, "auth-pass": "wrong" });
  expect(Object.keys(refused).filter((name) => name.startsWith("x-") && name !== "x-request-id")).toEqual([
    "x-content-type-options",
  ]);
  expect(refused["body"]).toBeUndefined();
});

test("accepts any spelling of the address and an alias as the user, and returns the mailbox's address", async () => {
  const label = uniqueName("m", "example-x.com");
  const { account, id, name, email } = await scene(["ada"], { name: `bücher-${label}` });
  await send(account, "POST", at(id, "/aliases"), { alias: "countess" });
  for (const user of [email.toUpperCase(), `${email}.`, `Ada@BÜCHER-${label}`, ` ${email} `, `Countess@${name}`]) {
    const answer = await ask({ "auth-user": encodeURIComponent(user), "auth-pass": password });
    expect([answer["auth-status"], answer["auth-user"]], user).toEqual(["OK", email]);
  }
});

test("answers 401, without any data, to a caller without the key of the mail servers", async () => {
  const { email } = await scene();
  const right = process.env["MAIL_SECRET"] ?? "";
  for (const key of [undefined, "", "wrong", `${right}x`, right.slice(0, -1), right.toUpperCase()]) {
    const headers = { "auth-user": email, "auth-pass": password, "auth-protocol": "smtp", "client-ip": newSource() };
    const hashes = await hashesDuring(async () => {
      const answer = await askWith({ ...headers, ...(key === undefined ? {} : { "x-mail-key": key }) });
      expect([answer.status, answer["body"], answer["x-request-id"]]).toEqual(["401", undefined, "r"]);
      expect(Object.keys(answer).filter((name) => name.startsWith("auth-") || name.startsWith("www-"))).toEqual([]);
    });
    expect(hashes).toBe(0);
  }
});

test("refuses a wrong password and an unknown user with the same answer", async () => {
  const { account, id, name, email } = await scene(["ada", "bob"]);
  const stranger = await scene();
  await send(account, "POST", at(id, "/aliases"), { alias: "*" });
  const other = await home(account);
  await setPassword(account, (await stocked(account, other.name, ["carl"]))[0] ?? "", "another password");
  const cases: [user: string, pass: string][] = [
    [email, "wrong"],
    [email, password.toUpperCase()],
    [email, `${password} `],
    [email, "another password"],
    [`nobody@${name}`, password],
    [`*@${name}`, password],
    [`ada+x@${name}`, password],
    [`ada@${other.name}`, password],
    [`ada@${uniqueName()}`, password],
    ["ada", password],
    ["ada@localhost", password],
    [`carl@${stranger.name}`, "another password"],
  ];
  for (const [user, pass] of cases) {
    const answer = await ask({ "auth-user": encodeURIComponent(user), "auth-pass": encodeURIComponent(pass) });
    expect(answer, user).toMatchObject({
      status: "200",
      "auth-status": "Invalid login or password",
      "auth-error-code": "535 5.7.8",
      "auth-wait": "3",
    });
    expect(answer["auth-server"] ?? answer["auth-user"]).toBeUndefined();
  }
});

test.each([
  ["smtp", "Invalid login or password", "Temporary server problem, try again later"],
  [
    "imap",
    "[AUTHENTICATIONFAILED] Invalid login or password",
    "[UNAVAILABLE] Temporary server problem, try again later",
  ],
  ["pop3", "[AUTH] Invalid login or password", "[SYS/TEMP] Temporary server problem, try again later"],
])("over %s, the status tells a wrong password from a temporary problem", async (protocol, wrong, later) => {
  const { email } = await scene();
  const headers = { "auth-user": email, "auth-pass": "wrong", "auth-protocol": protocol };
  expect(await ask(headers)).toMatchObject({ "auth-status": wrong, "auth-error-code": "535 5.7.8" });
  const { value } = await withFault("throttled", 0, () => ask(headers));
  expect(value).toMatchObject({ "auth-status": later, "auth-error-code": "451 4.3.2" });
});

test("a paused mailbox cannot log in over SMTP or IMAP until it is resumed, and a deleted mailbox cannot log in", async () => {
  const { account, email, id } = await scene();
  const both = async () => [await logsIn(email, password), await logsIn(email, password, "imap")];
  await send(account, "PATCH", at(id, "/active"), { active: false });
  expect(await both()).toEqual([false, false]);
  await send(account, "PATCH", at(id, "/active"), { active: true });
  expect(await both()).toEqual([true, true]);
  await send(account, "DELETE", at(id));
  expect(await both()).toEqual([false, false]);
});

test("refuses logins of a suspended or closed account, and accepts logins of a past due account", async () => {
  const { account, email } = await scene();
  const served = [];
  for (const status of ["past_due", "suspended", "active", "closed"] as const) {
    await setAccountStatus(testTable(), account.id, status, new Date());
    served.push([status, await logsIn(email, password), await logsIn(email, password, "imap")]);
  }
  expect(served).toEqual([
    ["past_due", true, true],
    ["suspended", false, false],
    ["active", true, true],
    ["closed", false, false],
  ]);
});

test("mail can be read from the verification until the deletion of its domain, and sent only while the hold on the name is firm", async () => {
  const { account, email, name } = await scene(["ada"], { status: "pending_delegation" });
  const served: [state: string, smtp: boolean, imap: boolean][] = [];
  const look = async (state: string): Promise<void> =>
    void served.push([state, await logsIn(email, password), await logsIn(email, password, "imap")]);
  await look("unproved");
  await delegated(account, name);
  await domainsRequest(account, "POST", `/${name}/verify`);
  for (const status of ["active", "degraded", "releasing"]) {
    await setStored(account, name, { status, is_open: status !== "releasing" });
    await look(status);
  }
  await setStored(account, name, { status: "active", is_open: true });
  await write({ update: holderKey(name), set: { firm: false } });
  await look("not firm");
  expect(served).toEqual([
    ["unproved", false, false],
    ["active", true, true],
    ["degraded", true, true],
    ["releasing", false, false],
    ["not firm", false, true],
  ]);
});

test("of a domain that two accounts connected, only the mailboxes of the account that proved it can log in", async () => {
  const { email, name } = await scene(["ada"], { status: "pending_delegation" });
  const newcomer = await newAccount();
  await delegated(newcomer, name);
  const workspace_id = await newWorkspace(newcomer, "Sales");
  expect((await domainsRequest(newcomer, "POST", "", { name, workspace_id })).status).toBe(201);
  expect(await logsIn(email, password, "imap")).toBe(false);
  const [ada = ""] = await stocked(newcomer, name, ["ada"]);
  await setPassword(newcomer, ada, "the new one's");
  expect(await logsIn(email, "the new one's", "imap")).toBe(false);
  await domainsRequest(newcomer, "POST", `/${name}/verify`);
  expect(await logsIn(email, "the new one's", "imap")).toBe(true);
  expect(await logsIn(email, password, "imap")).toBe(false);
});

test("a master password sends from every mailbox in its scope, and reads none", async () => {
  const { account, domain, email } = await scene();
  const elsewhere = await home(account);
  await stocked(account, elsewhere.name, ["ada"]);
  const cases: [given: object, reachesOther: boolean][] = [
    [{}, true],
    [{ workspace_id: domain.workspace_id }, false],
    [{ domain: domain.name }, false],
  ];
  for (const [given, reachesOther] of cases) {
    const { body } = await send(account, "POST", "credentials", { name: "Relay", generate: true, ...given });
    const secret = body.generated_secret;
    expect(await logsIn(email, secret)).toBe(true);
    expect(await logsIn(email, secret, "imap")).toBe(false);
    expect(await logsIn(`ada@${elsewhere.name}`, secret)).toBe(reachesOther);
    expect(await logsIn(`nobody@${domain.name}`, secret)).toBe(false);
    const { items } = (await send(account, "GET", "credentials")).body;
    expect(items.find(({ id }: { id: string }) => id === body.id).last_used_at).toMatch(/Z$/);
    await send(account, "DELETE", `credentials/${body.id}`);
    expect(await logsIn(email, secret)).toBe(false);
  }
});

test("a master password of a workspace works for the domains that are in it now, and not for other accounts", async () => {
  const { account, domain, name, email, id } = await scene();
  const stranger = await newAccount();
  const to = await newWorkspace(account, "To");
  const make = async (owner: typeof account, given: object): Promise<string> =>
    (await send(owner, "POST", "credentials", { name: "Relay", generate: true, ...given })).body.generated_secret;
  const [from, there] = [
    await make(account, { workspace_id: domain.workspace_id }),
    await make(account, { workspace_id: to }),
  ];
  const theirs = await make(stranger, {});
  expect([await logsIn(email, from), await logsIn(email, there), await logsIn(email, theirs)]).toEqual([
    true,
    false,
    false,
  ]);
  await domainsRequest(account, "POST", `/${name}/move`, { workspace_id: to });
  expect([await logsIn(email, from), await logsIn(email, there)]).toEqual([false, true]);
  await send(account, "PATCH", at(id, "/active"), { active: false });
  expect(await logsIn(email, there)).toBe(false);
});

test("the old password is invalid after a rotation", async () => {
  const { account, email, id } = await scene();
  await send(account, "POST", at(id, "/rotate-password"));
  expect(await logsIn(email, password)).toBe(false);
  const shown = await send(account, "POST", at(id, "/reveal-credentials"));
  expect(await logsIn(email, shown.body.password)).toBe(true);
});

test("reads user and password in the form in which nginx escapes them", async () => {
  const { account, email, id } = await scene();
  const cases: [escaped: string, real: string][] = [
    ["with%20space", "with space"],
    ["with space", "with space"],
    ["a%25b%2525", "a%b%25"],
    ["a+b%2Bc", "a+b+c"],
    ["100%", "100%"],
    ["%zz%41", "%zz%41"],
    ["%C3%BC%F0%9F%A6%8A", "ü🦊"],
    ["%0D%0A", "\r\n"],
    ["%FF", "%FF"],
    ["u%CC%88", "ü"],
  ];
  for (const [escaped, real] of cases) {
    await setPassword(account, id, real);
    const answer = await ask({ "auth-user": email.replace("@", "%40"), "auth-pass": escaped });
    expect(answer["auth-status"], escaped).toBe("OK");
  }
});

test("refuses impossible values without a lookup or a hash", async () => {
  const { email } = await scene();
  const right = { "auth-user": email, "auth-pass": password };
  const unreadable: Record<string, string>[] = [
    { ...right, "auth-protocol": "pop" },
    { ...right, "auth-protocol": "SMTP" },
    { ...right, "auth-protocol": "" },
    { ...right, "auth-method": "cram-md5" },
    { ...right, "auth-method": "none" },
    { ...right, "auth-pass": "" },
    { ...right, "auth-user": "" },
    { ...right, "auth-pass": "x".repeat(1_001) },
    { ...right, "auth-user": `${"x".repeat(1_001)}@example.com` },
    { "auth-user": email },
    { "auth-pass": password },
    {},
  ];
  const hashes = await hashesDuring(async () => {
    for (const headers of unreadable) {
      const { value, calls } = await withFault(undefined, -1, () => ask(headers));
      expect(value, JSON.stringify(headers)).toMatchObject({ "auth-status": "Invalid login or password" });
      expect(calls).toEqual([]);
    }
  });
  expect(hashes).toBe(0);
});

test("accepts a login without `auth-method` and without `client-ip`", async () => {
  const { email } = await scene();
  const headers = { "x-mail-key": process.env["MAIL_SECRET"] ?? "", "auth-user": email, "auth-pass": password };
  expect((await askWith({ ...headers, "auth-protocol": "smtp" }))["auth-status"]).toBe("OK");
});

test.each([
  ["1", "3"],
  ["2", "6"],
  ["3", "12"],
  ["4", "24"],
  ["5", "30"],
  ["9", "30"],
  ["0", "3"],
  ["-7", "3"],
  ["1.5", "3"],
  ["1e3", "3"],
  ["x", "3"],
])("for attempt %s on a connection, makes nginx wait for %s seconds", async (attempt, wait) => {
  expect((await ask({ "auth-login-attempt": attempt }))["auth-wait"]).toBe(wait);
});

test("from the tenth attempt on, sends no `auth-wait`, so that nginx closes the connection", async () => {
  for (const attempt of ["10", "11", "400"]) {
    const headers = { "auth-user": "ada@example.org", "auth-pass": "wrong", "auth-login-attempt": attempt };
    expect(await ask(headers)).not.toHaveProperty("auth-wait");
    const { value } = await withFault("throttled", 0, () => ask(headers));
    expect(value).toMatchObject({ "auth-error-code": "451 4.3.2" });
    expect(value).not.toHaveProperty("auth-wait");
  }
});

test("sends no `auth-wait` if MAIL_LOGIN_WAIT is 0", async () => {
  vi.stubEnv("MAIL_LOGIN_WAIT", "0");
  expect((await ask({ "auth-login-attempt": "9" }))["auth-wait"]).toBeUndefined();
});

test.each(["smtp", "imap"])(
  "over %s, a missing user costs the same table calls as an existing one, and one hash",
  async (protocol) => {
    const { account, id, name, email } = await scene(["ada", "bob"]);
    await send(account, "POST", at(id, "/aliases"), { alias: "sales" });
    // The first login of an account reads its key, and then the process keeps the key.
    await logsIn(`bob@${name}`, password);
    const cost = async (user: string): Promise<unknown> => {
      let calls: string[] = [];
      const hashes = await hashesDuring(async () => {
        ({ calls } = await withFault(undefined, -1, () => logsIn(user, "wrong", protocol)));
      });
      return { hashes, calls: calls.toSorted() };
    };
    const first = await cost(email);
    expect(first).toMatchObject({ hashes: 1 });
    for (const user of [
      `sales@${name}`,
      `nobody@${name}`,
      `*@${name}`,
      `ada@${uniqueName()}`,
      `nobody-by-${protocol}`,
    ]) {
      expect(await cost(user), user).toEqual(first);
    }
  },
);

test("a refused login costs one hash, and a login with a right generated password costs none", async () => {
  const { account, id: chosen, name, email } = await scene(["ada", "bob"]);
  const made = await added(account, name, "carl");
  const secret = (await send(account, "POST", at(made.id, "/reveal-credentials"))).body.password;
  const { generated_secret: master } = (await send(account, "POST", "credentials", { name: "Relay", generate: true }))
    .body;
  const costOf = async (user: string, pass: string, protocol = "smtp") => {
    let isIn = false;
    const hashes = await hashesDuring(async () => {
      isIn = await logsIn(user, pass, protocol);
    });
    return { isIn, hashes };
  };
  const [accepted, refused] = [
    { isIn: true, hashes: 0 },
    { isIn: false, hashes: 1 },
  ];
  expect(await costOf(made.primary_email, secret)).toEqual(accepted);
  expect(await costOf(made.primary_email, secret, "imap")).toEqual(accepted);
  expect(await costOf(email, master)).toEqual(accepted);
  expect(await costOf(email, password)).toEqual({ isIn: true, hashes: 1 });
  for (const user of [email, made.primary_email, `nobody@${name}`, `ada@${uniqueName()}`]) {
    for (const pass of ["wrong", newPassword()]) expect(await costOf(user, pass), user).toEqual(refused);
  }
  expect(await costOf(email, secret)).toEqual(refused);
  expect(await costOf(email, master, "imap")).toEqual(refused);
  for (const id of [chosen, made.id]) await send(account, "PATCH", at(id, "/active"), { active: false });
  expect(await costOf(made.primary_email, secret)).toEqual(refused);
  expect(await costOf(made.primary_email, master)).toEqual(refused);
  expect(await costOf(email, password)).toEqual(refused);
});

test("a chosen password that looks like a generated one has a slow hash, and logs in", async () => {
  const { account, email } = await scene();
  const value = newPassword();
  await send(account, "POST", "credentials", { name: "Relay", value });
  expect(await hashesDuring(async () => expect(await logsIn(email, value)).toBe(true))).toBe(1);
});

test("a password with a hash of an earlier version is valid until a rotation, and the new one has a keyed hash", async () => {
  const { account, email, id } = await scene();
  const before = (await storedMailbox(account, id)).login.hash;
  expect(await logsIn(email, password)).toBe(true);
  expect((await storedMailbox(account, id)).login.hash).toBe(before);
  await send(account, "POST", at(id, "/rotate-password"));
  expect((await storedMailbox(account, id)).login.hash).toMatch(/^\$hmac-sha256\$[A-Za-z0-9+/]{43}$/);
});

const temporary = "Temporary server problem, try again later";

test("if the table fails, a right password is accepted or gets a temporary problem, and is never called wrong", async () => {
  const { email } = await scene();
  await logsIn(email, password);
  const { calls } = await withFault(undefined, -1, () => ask({ "auth-user": email, "auth-pass": password }));
  for (const fault of faults.filter((one) => one === "throttled" || one === "lost before")) {
    for (const place of calls.keys()) {
      const { value } = await withFault(fault, place, () => ask({ "auth-user": email, "auth-pass": password }));
      expect([temporary, "OK"], `${fault} at ${place}`).toContain(value["auth-status"]);
    }
  }
});
