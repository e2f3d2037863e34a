import * as z from "zod";

import { clock } from "../../shared/core/time.ts";
import { withoutTag } from "../../shared/mail/forwarding/destinations.ts";
import { readAddress } from "../../shared/mail/mailboxes/local-part.ts";
import { findRecipient, type Recipient } from "../../shared/mail/servers/find-account.ts";
import { loginObstacle, mastersOf, protocols, type LoginObstacle } from "../../shared/mail/servers/log-in.ts";
import { attemptsLeft, lastLogins } from "../../shared/mail/servers/login-limits.ts";
import { routeOf } from "../../shared/mail/servers/recipient.ts";
import { senderVerdict } from "../../shared/mail/servers/sender.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Command } from "./commands.ts";

const MailAddress = z.string().refine((text) => readAddress(text) !== undefined, { error: "Not a mail address" });

const address = { description: "The address, in any spelling.", schema: MailAddress };

/**
 * Finds the recipient of a valid address. With `isLogin`, the address is the user name of a login. Without `isLogin`,
 * the address is the recipient of incoming mail.
 */
async function find(table: Table, given: string, { isLogin }: { isLogin: boolean }): Promise<Recipient> {
  const { local, domain } = readAddress(given) ?? { local: "", domain: "" };
  const own = { local: isLogin ? local : withoutTag(local), domain };
  return findRecipient(table, own, { forDelivery: !isLogin, withAppPasswords: isLogin });
}

/**
 * The facts about the account, the domain and the mailbox of an address. These facts decide the answers of the mail
 * endpoints.
 */
const factsOf = ({ accountId, account, domain, isProved, address: found, mailbox }: Recipient) => ({
  ...(account ? { account_id: accountId, account_status: account.status } : {}),
  ...(domain
    ? {
        domain_id: domain.id,
        domain_status: domain.status,
        domain_verified_at: domain.verified_at,
        is_proved: isProved,
      }
    : {}),
  ...(mailbox ? { address_is: found?.kind, mailbox_id: mailbox.id, mailbox_status: mailbox.status } : {}),
});

const routeReasons: Record<string, string> = {
  mailbox: "The address is the primary address of a mailbox.",
  alias: "The address is an alias of a mailbox.",
  catch_all: "No mailbox has the address. The mailbox with the catch-all of the domain gets its mail.",
  role: "No mailbox has the address. The first mailbox of the domain gets the mail to postmaster and abuse.",
  forward: "No mailbox has the address. Forwarding rules send its mail to other addresses.",
  none: "The product has the domain, but no mailbox has the address, and no forwarding rule sends its mail on.",
};

/** The reason why mail to an address has its destination. `kind` is the kind of the destination. */
function routeReason(kind: string, { account, domain }: Recipient): string {
  const reason = routeReasons[kind];
  if (reason !== undefined) return reason;
  if (!domain || !account) return "No account has an active domain with this name.";
  if (account.status === "closed") return "The account is closed.";
  if (domain.status === "expired") return "The registration of the domain has expired.";
  return "The account has not proved that it owns the domain, or another account can take over the name.";
}

const obstacles: Record<LoginObstacle, string> = {
  no_such_mailbox: "No mailbox has this address, or the address is a catch-all.",
  account_suspended: "The account is suspended or closed, or has had no plan for 30 days.",
  mailbox_paused: "The mailbox is not active.",
  domain_not_ready: "The domain is not proved, or not ready to send.",
};

/** Describes the passwords that log in to a mailbox. Contains no part of a password. */
async function passwordsOf(table: Table, { accountId, domain, mailbox, appPasswords }: Recipient) {
  if (!mailbox) return [];
  const masters = await mastersOf(table, accountId, domain, "smtp");
  return [
    { password: "mailbox", is_revealed: mailbox.login.sealed === undefined },
    ...(appPasswords?.items ?? []).map(({ id, name, protocols: by, expires_at }) => ({
      password: "app",
      id,
      name,
      protocols: by,
      expires_at,
    })),
    ...masters.map(({ credential_id: id, active, expires_at }) => ({ password: "master", id, active, expires_at })),
  ];
}

/**
 * The operator's commands that show the answers of the mail endpoints, with the reasons. The commands need no password.
 */
export const mailCommands: Record<string, Command> = {
  "mail address": {
    summary: "Show the destination of mail to an address, and the reason.",
    options: { address },
    argument: "address",
    run: async (table, { address: given = "" }) => {
      const [route, found] = await Promise.all([routeOf(table, given), find(table, given, { isLogin: false })]);
      return { ...route, why: routeReason(route.kind, found), ...factsOf(found) };
    },
  },
  "mail login": {
    summary: "Show whether a correct password logs in to an address, the reason if not, and the kinds of passwords.",
    options: { address },
    argument: "address",
    run: async (table, { address: given = "" }) => {
      const found = await find(table, given, { isLogin: true });
      const now = clock();
      const [passwords, lastLoginsByNetwork, left] = await Promise.all([
        passwordsOf(table, found),
        lastLogins(table, given, now),
        attemptsLeft(table, given, now),
      ]);
      return {
        ...factsOf(found),
        logins: protocols.map((protocol) => {
          const obstacle = loginObstacle(found, protocol);
          return { protocol, accepted: obstacle === undefined, ...(obstacle ? { why: obstacles[obstacle] } : {}) };
        }),
        passwords,
        attempts_left_for_new_networks: left,
        known_networks: lastLoginsByNetwork.length,
        last_login_from_known: lastLoginsByNetwork.toSorted().at(-1) ?? null,
      };
    },
  },
  "mail sender": {
    summary: "Show whether a login may send from an address, the reason if not, and the route of the mail.",
    options: {
      login: { description: "The address of the login.", schema: MailAddress },
      from: { description: "The address of the sender. Empty for the null reverse-path.", schema: z.string() },
      to: { description: "The address of the recipient.", schema: MailAddress.optional() },
    },
    run: async (table, { login = "", from = "", to }) => ({
      ...(await senderVerdict({ table, now: clock }, { login, from, to })),
      ...factsOf(await find(table, login, { isLogin: true })),
    }),
  },
};
