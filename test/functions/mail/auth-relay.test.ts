import { expect, test } from "vitest";

import { ipKey, type DedicatedIp } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import { activeHost, activeIp, newOption, send as sendIp } from "../../support/dedicated-ips.ts";
import { write } from "../../support/domain-work.ts";
import { funded } from "../../support/domains.ts";
import { withFault } from "../../support/faults.ts";
import { ask } from "../../support/mail-routes.ts";
import { home, setPassword, stocked } from "../../support/mailboxes.ts";
import { newAccount, type Account } from "../../support/world.ts";

const password = "correct horse battery";
const shared = "127.0.0.1:2525";

/** A mailbox of a domain that sends from a dedicated IP. */
async function scene(make: (account: Account) => Promise<DedicatedIp>) {
  const account = await funded(await newAccount());
  const ip = await make(account);
  const { name } = await home(account);
  const [id = ""] = await stocked(account, name, ["ada"]);
  await setPassword(account, id, password);
  await sendIp(account, "POST", `/${ip.id}/domains/assign`, { domains: [name] });
  return { account, ip, name, email: `ada@${name}` };
}

async function serverOf(email: string, protocol = "smtp", pass = password): Promise<string> {
  const answer = await ask({ "auth-user": email, "auth-pass": pass, "auth-protocol": protocol });
  return answer["auth-status"] === "OK" ? `${answer["auth-server"]}:${answer["auth-port"]}` : "refused";
}

test("mail from a domain with a managed IP goes through the relay of the IP, and IMAP goes to the shared server", async () => {
  const { option_id } = await newOption(1, { relay: "[fd00::7]:2526" });
  const { account, ip, name, email } = await scene((one) => activeIp(one, option_id));
  expect(await serverOf(email)).toBe("fd00::7:2526");
  expect(await serverOf(email, "imap")).toBe("127.0.0.1:1143");
  await sendIp(account, "POST", `/${ip.id}/domains/unassign`, { domains: [name] });
  expect(await serverOf(email)).toBe(shared);
});

test("mail from a domain with a host of its own goes through the shared relay", async () => {
  const { email } = await scene((account) => activeHost(account));
  expect(await serverOf(email)).toBe(shared);
});

test("mail goes through the shared relay while the IP is not active", async () => {
  const { account, ip, email } = await scene((one) => activeIp(one));
  for (const status of ["degraded", "suspended", "verifying"]) {
    await write({ update: ipKey(account.id, ip.id), set: { status } });
    expect(await serverOf(email), status).toBe(shared);
  }
});

test("a login costs one more read only over SMTP, with a dedicated IP and the right password", async () => {
  const { account, ip, name, email } = await scene((one) => activeIp(one));
  await serverOf(email);
  const readsFor = async (protocol: string, pass: string): Promise<number> => {
    const { calls } = await withFault(undefined, -1, () => serverOf(email, protocol, pass));
    return calls.filter((call) => call !== "UpdateItem" && call !== "PutItem").length;
  };
  const right = await readsFor("smtp", password);
  expect(await readsFor("smtp", "wrong")).toBe(right - 1);
  expect(await readsFor("imap", password)).toBe(await readsFor("imap", "wrong"));
  await sendIp(account, "POST", `/${ip.id}/domains/unassign`, { domains: [name] });
  expect(await readsFor("smtp", password)).toBe(right - 1);
});
