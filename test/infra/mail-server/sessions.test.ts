import { expect, test } from "vitest";

import { openSessions, readSession, sessionName, type Session } from "../../../infra/mail-server/adapter/sessions.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const began = (minutes: number, more: Partial<Session> = {}): Session => ({
  login: "ada@example.com",
  mailbox: "mailbox-1",
  account: "account-1",
  loggedInAt: start + minutes * 60_000,
  ...more,
});

test("the name of a session has its login, its mailbox, its account and its beginning", () => {
  for (const login of ["ada@example.com", "a/1/b/c@example.com"]) {
    expect(readSession(sessionName(began(1, { login })))).toEqual(began(1, { login }));
  }
  expect(readSession("ada@example.com")).toBeUndefined();
});

test("a revocation ends the sessions that began before the revocation, and no later session", () => {
  const sessions = openSessions(start);
  const [before, after] = [began(1), began(3)];
  sessions.revoke("mailbox-1", start + 2 * 60_000);
  // A revocation can arrive twice, and an earlier revocation can arrive after a later revocation.
  sessions.revoke("mailbox-1", start);
  expect([before, after].map(sessions.isRevoked)).toEqual([true, false]);
  // The address now belongs to another mailbox.
  expect(sessions.isRevoked(began(1, { mailbox: "mailbox-2" }))).toBe(false);
  sessions.revoke("account-1", start + 4 * 60_000);
  expect([before, after, began(5)].map(sessions.isRevoked)).toEqual([true, true, false]);
});

test("a start of the adapter ends earlier sessions, because the adapter has forgotten the revocations", () => {
  expect(openSessions(start).isRevoked(began(-1))).toBe(true);
  expect(openSessions(start).isRevoked(began(0))).toBe(false);
});
