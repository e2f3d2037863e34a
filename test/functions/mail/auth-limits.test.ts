import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { dayMs, minuteMs } from "../../../shared/core/time.ts";
import { setStored } from "../../support/domain-work.ts";
import { withFault } from "../../support/faults.ts";
import { ask, hashesDuring, newSource } from "../../support/mail-routes.ts";
import { at, home, send, setPassword, stocked } from "../../support/mailboxes.ts";
import { newAccount } from "../../support/world.ts";

// The clock stands still, so no limit recovers unless a test moves the clock on.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.now() }));
afterEach(() => void vi.useRealTimers());

const password = "correct horse battery";

/**
 * Mailboxes of a suspended domain. SMTP refuses the right password like a wrong one, because the domain cannot send.
 * The refusal takes little time, because the password has a cheap hash. IMAP accepts the right password.
 */
async function scene(locals = ["ada"]) {
  const account = await newAccount();
  const { name } = await home(account);
  const ids = await stocked(account, name, locals);
  for (const id of ids) await setPassword(account, id, password);
  await send(account, "POST", at(ids[0] ?? "", "/aliases"), { alias: "sales" });
  await setStored(account, name, { status: "suspended" });
  return { name, email: `ada@${name}` };
}

const outcomes: Record<string, "accepted" | "refused" | "later"> = {
  OK: "accepted",
  "Invalid login or password": "refused",
  "Temporary server problem, try again later": "later",
};

type Outcome = "accepted" | "refused" | "later" | undefined;

async function outcomeOf(user: string, source: string, protocol: string): Promise<Outcome> {
  const headers = { "auth-user": user, "auth-pass": password, "client-ip": source, "auth-protocol": protocol };
  return outcomes[(await ask(headers))["auth-status"]?.replace(/^\[.*\] /, "") ?? ""];
}

/** Logs in with the right password over IMAP, as the owner does. */
const logIn = (user: string, source = newSource()): Promise<Outcome> => outcomeOf(user, source, "imap");
/** Makes a login over SMTP that counts as a wrong guess. */
const guess = (user: string, source = newSource()): Promise<Outcome> => outcomeOf(user, source, "smtp");

/** Makes `times` guesses. Returns the number of guesses that no limit refused. */
async function flood(times: number, user: (index: number) => string, source: (index: number) => string) {
  let tried = 0;
  for (let index = 0; index < times; index++) {
    const outcome = await guess(user(index), source(index));
    if (outcome === "refused") tried++;
    else expect(outcome).toBe("later");
  }
  return tried;
}

test("ninety wrong guesses from one network do not keep the owner out of any other network", async () => {
  const { email } = await scene();
  const [attacker, homeNetwork] = [newSource(), newSource()];
  expect(await logIn(email, homeNetwork)).toBe("accepted");
  expect(
    await flood(
      90,
      () => email,
      () => attacker,
    ),
  ).toBe(30);
  expect(await guess(email, attacker)).toBe("later");
  expect([await logIn(email, homeNetwork), await logIn(email)]).toEqual(["accepted", "accepted"]);
});

test("two guesses a second from each of a hundred networks do not keep the owner out of a network that they logged in from", async () => {
  const { email } = await scene();
  const homeNetwork = newSource();
  expect(await logIn(email, homeNetwork)).toBe("accepted");
  const sources = Array.from({ length: 100 }, newSource);
  let tried = 0;
  for (const seconds of [0, 1]) {
    vi.setSystemTime(Date.now() + seconds * 1_000);
    tried += await flood(
      200,
      () => email,
      (index) => sources[index % 100] ?? "",
    );
    expect(await logIn(email, homeNetwork)).toBe("accepted");
  }
  // At once, 60 logins pass: the owner's first login and 59 guesses. One more guess passes after a second.
  expect(tried).toBe(60);
  expect(await logIn(email)).toBe("later");
  vi.setSystemTime(Date.now() + minuteMs);
  expect(await logIn(email)).toBe("accepted");
});

test("all spellings of an address, and all addresses of a network, count towards the same limit", async () => {
  const { email } = await scene();
  const network = newSource().replace(/::1$/, "");
  const users = [email.toUpperCase(), `${email}.`, ` ${email}`, email];
  const hosts = Array.from({ length: 40 }, (_, index) => `${network}:${index.toString(16)}::${index}`);
  const tried = await flood(
    40,
    (index) => users[index % users.length] ?? "",
    (index) => hosts[index] ?? "",
  );
  expect(tried).toBe(30);
  expect(await guess(email, `${network}::1`)).toBe("later");
});

test("a network can make 150 guesses at once, for all addresses together", async () => {
  const locals = ["ada", "bob", "carl", "dora", "emil", "fred"];
  const { name } = await scene(locals);
  const source = newSource();
  const user = (index: number): string => `${locals[index % locals.length]}@${name}`;
  expect(await flood(156, user, () => source)).toBe(150);
  expect(await logIn(`ada@${name}`, source)).toBe("later");
  expect(await logIn(`ada@${name}`)).toBe("accepted");
});

test("a login over a limit costs no hash, and at most one read", async () => {
  const { email } = await scene();
  const [attacker, homeNetwork] = [newSource(), newSource()];
  await logIn(email, homeNetwork);
  for (let index = 0; index < 31; index++) await guess(email, attacker);
  const costOf = async (source: string) => {
    let calls: string[] = [];
    const hashes = await hashesDuring(async () => {
      const asked = await withFault(undefined, -1, () => guess(email, source));
      expect(asked.value).toBe("later");
      ({ calls } = asked);
    });
    return { hashes, reads: calls.filter((call) => call !== "UpdateItem") };
  };
  expect(await costOf(attacker)).toEqual({ hashes: 0, reads: [] });
  for (let index = 0; index < 60; index++) await guess(email);
  // One read finds out whether the network is known.
  expect(await costOf(newSource())).toEqual({ hashes: 0, reads: ["BatchGetItem"] });
});

test("a network is known for 30 days after a login with the same address, and the login is recorded at most once a day", async () => {
  const { name, email } = await scene();
  const source = newSource();
  const writes = async (): Promise<string[]> => {
    const { value, calls } = await withFault(undefined, -1, () => logIn(email, source));
    expect(value).toBe("accepted");
    return calls.filter((call) => call === "PutItem");
  };
  const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms);
  const exhaust = () => flood(61, () => email, newSource);
  expect(await writes()).toEqual(["PutItem"]);
  expect(await writes()).toEqual([]);
  pass(dayMs - 1);
  expect(await writes()).toEqual([]);
  pass(1);
  expect(await writes()).toEqual(["PutItem"]);
  pass(30 * dayMs - 1);
  await exhaust();
  expect(await logIn(email, source)).toBe("accepted");
  pass(30 * dayMs);
  await exhaust();
  expect(await logIn(email, source)).toBe("later");
  expect(await logIn(`sales@${name}`, source)).toBe("accepted");
});

test("a login without a readable network counts as a login from an unknown network", async () => {
  const { email } = await scene();
  for (const source of ["", "nowhere", "unix:"]) expect(await logIn(email, source)).toBe("accepted");
  await flood(61, () => email, newSource);
  expect(await logIn(email, "")).toBe("later");
});

test("a login succeeds even if it cannot be recorded", async () => {
  const { email } = await scene();
  const source = newSource();
  const { calls } = await withFault(undefined, -1, () => logIn(email, newSource()));
  const { value } = await withFault("lost before", calls.lastIndexOf("PutItem"), () => logIn(email, source));
  expect(value).toBe("accepted");
});
