import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { createTransport } from "nodemailer";
import type { SMTPServerOptions } from "smtp-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { handler as noteRevocation } from "../../../functions/workers/note-revocations.ts";
import { handler as purgeMailboxes } from "../../../functions/workers/purge-mailboxes.ts";
import { freePort } from "../../../infra/local/table/lock.ts";
import { missingPackages } from "../../../infra/mail-server/launch.ts";
import { eventOf } from "../../../shared/changes/record.ts";
import { setClockAhead } from "../../../shared/core/time.ts";
import { ipKey, type DedicatedIp } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import { revokingTypes } from "../../../shared/mail/servers/revocations.ts";
import { certificateFor } from "../../shared/webhooks/certificate.ts";
import { newWorkspace } from "../../support/auth.ts";
import { activeIp, firstOf, newOption, readyHost, send as sendIp } from "../../support/dedicated-ips.ts";
import { served } from "../../support/dns-records.ts";
import { setStored, write } from "../../support/domain-work.ts";
import { active, funded } from "../../support/domains.ts";
import { agreedRule } from "../../support/forwarding.ts";
import { imapLogin, popLogin } from "../../support/imap.ts";
import {
  serveMailRoutes,
  startOwnHost,
  startPost,
  slowly,
  startSink,
  type Letter,
  type Post,
} from "../../support/mail-server.ts";
import { added, at, home, send } from "../../support/mailboxes.ts";
import { useOwnTable } from "../../support/own-table.ts";
import { recorded } from "../../support/recorded.ts";
import { newAccount, type Account } from "../../support/world.ts";

const missing = process.getuid?.() === 0 ? missingPackages() : ["the user root"];
if (missing.length > 0)
  process.stdout.write(`The tests of the mail server are skipped, because it needs ${missing.join(", ")}.\n`);

const timeout = slowly;

type Mailbox = { id: string; user: string; pass: string };

describe.skipIf(missing.length > 0)("the mail server of infra/mail-server", { timeout: 120_000 }, () => {
  let mailRoutes: Awaited<ReturnType<typeof serveMailRoutes>>;
  let internet: Awaited<ReturnType<typeof startSink>>;
  let post: Post;
  let account: Account;
  let domain: string;
  let ada: Mailbox;
  let ip: DedicatedIp;
  let own: DedicatedIp & { relay_login: { user: string; password: string } };
  let host: typeof internet;
  let folder: string;
  let certificate: { key: string; cert: string };

  /** A customer's own host, with STARTTLS. It accepts only the relay login. */
  const hostOptions = (shown: { key: string; cert: string }): SMTPServerOptions => ({
    ...shown,
    onAuth: ({ username, password }, _, done) => {
      const { user, password: wanted } = own.relay_login;
      if (username === user && password === wanted) done(null, { user });
      else done(new Error("This is another login."));
    },
  });

  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await send(account, method, path, body);
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.body;
  };

  async function newMailbox(local: string, more: object = {}, name = domain): Promise<Mailbox> {
    const person = { domain: name, local_part: local, first_name: "Ada", last_name: "Lovelace", ...more };
    const { id } = await call("POST", "mailboxes", person);
    const { email: user, password: pass } = await call("POST", at(id, "/reveal-credentials"));
    return { id, user, pass };
  }

  /** The letter with this subject, once it has arrived at another provider. */
  async function arrived(subject: string): Promise<Letter> {
    const find = () => internet.letters.find(({ raw }) => raw.includes(`Subject: ${subject}`));
    await expect.poll(find, { timeout, message: subject }).toBeDefined();
    return find() as Letter;
  }

  /** Waits until a letter is in a mailbox. The error has the lines of the MX's log that name the mailbox. */
  const expectMail = async (mailbox: Mailbox, subject: string): Promise<void> => {
    const logged = () => post.log("postfix-mx").match(new RegExp(`^.*${mailbox.id}.*$`, "gm")) ?? [];
    await post.subjects(mailbox, subject).catch((error: Error) => {
      throw new Error(`${error.message}\n${logged().slice(-20).join("\n")}`, { cause: error });
    });
  };

  /** The code with which a letter or a login is refused: 0 if it is accepted, -1 for an error without a code. */
  const refusal = (work: () => Promise<unknown>): Promise<number> =>
    work().then(
      () => 0,
      (error: { responseCode?: number }) => error.responseCode ?? -1,
    );

  const letter = (to: string | string[], subject: string, from = "bob@example.net") => ({
    from,
    to,
    subject,
    text: "Hello.",
  });

  beforeAll(async () => {
    await useOwnTable();
    process.env["MAIL_LOGIN_WAIT"] = "0";
    mailRoutes = await serveMailRoutes();
    internet = await startSink();
    account = await funded(await newAccount());
    const relayPort = await freePort();
    ip = await activeIp(account, (await newOption(1, { relay: `127.0.0.1:${relayPort}` })).option_id);
    own = (await readyHost(account)) as typeof own;
    await sendIp(account, "POST", `/${own.id}/authorize`, {});
    certificate = certificateFor(firstOf(own).rdns ?? "");
    host = await startSink(hostOptions(certificate));
    await write({ update: ipKey(account.id, own.id), set: { relay: `127.0.0.1:${host.port}` } });
    folder = await mkdtemp(join(tmpdir(), "own-host-"));
    await writeFile(join(folder, "ca.pem"), certificate.cert);
    post = await startPost(mailRoutes.base, {
      CA_FILE: join(folder, "ca.pem"),
      NEXT_HOP: `[127.0.0.1]:${internet.port}`,
      PORT_RELAY: String(relayPort),
      DEDICATED_IP: firstOf(ip).ip,
      DEDICATED_IP_SOURCE: "127.0.0.2",
      DEDICATED_IP_NAME: "out11.example.test",
      POSTMASTER: "postmaster@operator.example.org",
    });
    const workspaceId = await newWorkspace(account, "Mail");
    ({ name: domain } = await active(account, { workspaceId }));
    ada = await newMailbox("ada");
  }, 120_000);

  afterAll(async () => {
    await post?.remove();
    await mailRoutes?.stop();
    await internet?.stop();
    await host?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  }, 60_000);

  describe("incoming mail", () => {
    test("arrives by SMTP and is read by IMAP, for an address, an alias and an address with a tag", async () => {
      await call("POST", at(ada.id, "/aliases"), { alias: "countess" });
      await post.deliver(letter(ada.user, "to the address"));
      await post.deliver(letter(`Countess@${domain}`, "to the alias"));
      await post.deliver(letter(`ada+lists@${domain}`, "to the tag"));
      await expectMail(ada, "to the address");
      await expectMail(ada, "to the alias");
      expect(await post.subjects(ada, "to the tag")).toContain("to the tag");
    });

    test("comes once to a mailbox that has two of the recipients", async () => {
      await post.deliver(letter([ada.user, `ada+again@${domain}`], "once"));
      await post.deliver(letter(ada.user, "after once"));
      await expectMail(ada, "after once");
      expect((await post.subjects(ada)).filter((subject) => subject === "once")).toHaveLength(1);
    });

    test("is refused for an address that nobody has, and for a domain that no account has", async () => {
      const refused = (to: string) => refusal(() => post.deliver(letter(to, "to nobody")));
      expect(await refused(`nobody@${domain}`)).toBe(550);
      expect(await refused("carol@example.org")).toBe(554);
      expect(await refused(`${ada.id}@${account.id}`)).toBe(504);
    });

    test("for the postmaster of the system itself goes to the address in POSTMASTER", async () => {
      const systems = ["HOSTNAME", "SRS_DOMAIN"].map((name) => `postmaster@${post.values[name]}`);
      for (const to of ["Postmaster", ...systems]) {
        const raw = `From: bob@example.net\r\nSubject: for ${to}\r\n\r\nHello.\r\n`;
        await post.deliver({ raw, envelope: { from: "bob@example.net", to } });
        expect((await arrived(`for ${to}`)).to).toEqual(["postmaster@operator.example.org"]);
      }
      await post.submit(ada, letter(systems, "from a customer", ada.user));
      expect((await arrived("from a customer")).to).toEqual(["postmaster@operator.example.org"]);
    });

    test("goes to the catch-all for an address that nobody has", async () => {
      const { name } = await active(account);
      const all = await newMailbox("all", {}, name);
      await call("POST", at(all.id, "/aliases"), { alias: `*@${name}` });
      await post.deliver(letter(`whoever@${name}`, "to anybody"));
      expect(await post.subjects(all, "to anybody")).toEqual(["to anybody"]);
    });
  });

  /** Checks the DKIM signatures of a letter with the product's DNS. Returns the result and the domain of each. */
  async function signatures({ raw }: Letter): Promise<string[]> {
    const resolver = async (name: string) => (await served(name, "TXT")).map((one) => [String(one)]);
    const { results } = await dkimVerify(raw, { resolver });
    return results.map(({ status, signingDomain }) => `${status.result} ${signingDomain}`);
  }

  describe("outgoing mail", () => {
    test("is signed with the key in the product's DNS, for an address, an alias and an address with a tag", async () => {
      for (const from of [ada.user, `countess@${domain}`, `ada+news@${domain}`]) {
        await post.submit(ada, letter("carol@example.org", `signed ${from}`, from));
        const got = await arrived(`signed ${from}`);
        expect(got.from).toBe(from);
        expect(await signatures(got)).toEqual([`pass ${domain}`]);
      }
    });

    test("is refused with a forged sender, a forged From header or two of them, and without a login", async () => {
      const bob = await newMailbox("bob");
      const envelope = { from: bob.user, to: "carol@example.org" };
      const forged = (more: object, login: Mailbox = bob) =>
        refusal(() => post.submit(login, { ...letter(envelope.to, "forged", bob.user), ...more }));
      expect(await forged({ from: ada.user })).toBe(553);
      expect(await forged({ from: "ceo@example.org" })).toBe(553);
      expect(await forged({ from: `Bob <${ada.user}>`, envelope })).toBe(554);
      const raw = `From: ${bob.user}\r\nFrom: ${ada.user}\r\nSubject: forged\r\n\r\nHello.\r\n`;
      expect(await forged({ raw, envelope })).toBe(554);
      for (const from of ["ceo@example.org <>", "Your Bank", `ceo@example.org <>, ${bob.user}`]) {
        expect(await forged({ raw: `From: ${from}\r\nSubject: forged\r\n\r\nHello.\r\n`, envelope }), from).toBe(554);
      }
      expect(await forged({}, { ...bob, pass: "wrong" })).toBe(535);
      expect(internet.letters.filter(({ raw }) => raw.includes("Subject: forged"))).toEqual([]);
    });

    test("gets a Date and a Message-ID if it has none, before it is signed", async () => {
      const eva = await newMailbox("eva");
      const envelope = { from: eva.user, to: "carol@example.org" };
      await post.submit(eva, { raw: `From: ${eva.user}\r\nSubject: bare header\r\n\r\nHello.\r\n`, envelope });
      const got = await arrived("bare header");
      expect(got.raw.toString()).toMatch(/^Date: .+\r\n/m);
      expect(got.raw.toString()).toMatch(/^Message-I[dD]: <.+@.+>\r\n/m);
      expect(await signatures(got)).toEqual([`pass ${domain}`]);
    });

    test("leaves from the address of a dedicated IP, with the name of this IP in EHLO, while the domain is assigned to it", async () => {
      const { name } = await active(account);
      const ivy = await newMailbox("ivy", {}, name);
      await sendIp(account, "POST", `/${ip.id}/domains/assign`, { domains: [name] });
      await post.submit(ivy, letter("carol@example.org", "from the dedicated IP", ivy.user));
      await post.submit(ada, letter("carol@example.org", "from the shared address", ada.user));
      const [dedicated, shared] = [await arrived("from the dedicated IP"), await arrived("from the shared address")];
      expect([dedicated.source, dedicated.helo]).toEqual(["127.0.0.2", "out11.example.test"]);
      expect([shared.source, shared.helo]).toEqual(["127.0.0.1", post.values["HOSTNAME"]]);
    });

    test("is accepted for a recipient whose local part needs quotes", async () => {
      const quo = await newMailbox("quo");
      for (const local of ["carol at home", String.raw`carol \"c\"`, "carol@home"]) {
        const to = `"${local}"@example.org`;
        const raw = `From: ${quo.user}\r\nSubject: quotes\r\n\r\nHello.\r\n`;
        expect(await refusal(() => post.submit(quo, { raw, envelope: { from: quo.user, to } })), to).toBe(0);
      }
    });

    test("to a domain here whose MX is elsewhere goes to the MX, except to the mailboxes here", async () => {
      const { name } = await active(account);
      const moved = await newMailbox("moved", {}, name);
      await setStored(account, name, { dns_mode: "external", seen_right: [] });
      const later = `later@${name}`;
      const other = await newAccount();
      const copies = `copies@${(await home(other)).name}`;
      await agreedRule(other, later, { address: "copies", domain: copies.split("@")[1] });
      await post.submit(ada, letter([moved.user, later], "before the switch", ada.user));
      await expectMail(moved, "before the switch");
      expect((await arrived("before the switch")).to).toEqual([later]);
      await post.deliver(letter(copies, "forwarded before the switch"));
      expect((await arrived("forwarded before the switch")).to).toEqual([later]);
      expect(await refusal(() => post.deliver(letter(later, "to our MX")))).toBe(550);
    });

    test("to a mailbox of the product arrives there", async () => {
      await post.submit(ada, letter(ada.user, "to myself", ada.user));
      expect(await post.subjects(ada, "to myself")).toContain("to myself");
    });
  });

  describe("forwarding", () => {
    test("sends a copy with a sender address of the product (SRS), and returns its bounce to the first sender", async () => {
      const fay = await newMailbox("fay");
      await agreedRule(account, "carol@elsewhere.example.org", { mailbox: fay.id });
      await post.deliver(letter(fay.user, "a copy", "dan@example.net"));
      await expectMail(fay, "a copy");
      const copy = await arrived("a copy");
      expect(copy.from).toMatch(/^SRS0[=+-].*@srs\.example\.test$/);
      expect(copy.to).toEqual(["carol@elsewhere.example.org"]);
      await post.deliver({
        envelope: { from: "", to: copy.from },
        ...letter(copy.from, "a bounce", "mailer@elsewhere.example.org"),
      });
      expect((await arrived("a bounce")).to).toEqual(["dan@example.net"]);
      const forged = copy.from.replace(/^SRS0(.)..../, "SRS0$1aaaa");
      await expect(
        post.deliver({ envelope: { from: "", to: forged }, ...letter(forged, "relayed") }),
      ).rejects.toMatchObject({ responseCode: 550 });
    });

    test("changes no line of a header, so the signature of the author stays valid", async () => {
      await agreedRule(account, "hal@elsewhere.example.org", { address: "hal", domain });
      const raw = "From: dan@example.net\r\nTo: root\r\nSubject: a short header\r\n\r\nHello.\r\n";
      await post.deliver({ raw, envelope: { from: "dan@example.net", to: `hal@${domain}` } });
      expect((await arrived("a short header")).raw.toString().slice(-raw.length)).toBe(raw);
    });

    test("between two accounts that forward to each other delivers the letter once to each mailbox", async () => {
      const other = await newAccount();
      const { name } = await home(other);
      const { id } = await added(other, name, "guy");
      const gil = await newMailbox("gil");
      await agreedRule(account, `guy@${name}`, { mailbox: gil.id });
      await agreedRule(other, gil.user, { mailbox: id });
      await post.deliver(letter(gil.user, "in a circle", "dan@example.net"));
      await post.deliver(letter(gil.user, "after the circle", "dan@example.net"));
      expect(await post.subjects(gil, "after the circle")).toEqual(["in a circle", "after the circle"]);
      await expect.poll(() => post.log("postfix-mx"), { timeout }).toMatch(new RegExp(`to=<${id}@.*status=sent`));
    });

    test("of an address without a mailbox sends the letter to the target", async () => {
      await agreedRule(account, "sal@elsewhere.example.org", { address: "sales", domain });
      await post.deliver(letter(`sales@${domain}`, "to sales"));
      expect((await arrived("to sales")).to).toEqual(["sal@elsewhere.example.org"]);
    });
  });

  describe("a customer's own host", () => {
    test("gets the mail of its domains signed, over TLS with its own certificate, and with the relay login only", async () => {
      const { name } = await active(account);
      const zoe = await newMailbox("zoe", {}, name);
      await sendIp(account, "POST", `/${own.id}/domains/assign`, { domains: [name] });
      await post.submit(zoe, letter("carol@example.org", "through the own host", zoe.user));
      const find = () => host.letters.find(({ raw }) => raw.includes("Subject: through the own host"));
      await expect.poll(find, { timeout }).toBeDefined();
      expect(find()).toMatchObject({ from: zoe.user, user: own.id });
      expect(await signatures(find() as Letter)).toEqual([`pass ${name}`]);
      expect(internet.letters.filter(({ raw }) => raw.includes("through the own host"))).toEqual([]);
    });

    test("sends the mail with the files in docs/dedicated-ips.md, and accepts no mail without the login", async () => {
      const name = firstOf(own).rdns ?? "";
      const nextHop = `[127.0.0.1]:${internet.port}`;
      const postfix = await startOwnHost({ name, login: own.relay_login, ...certificate, nextHop });
      try {
        await write({ update: ipKey(account.id, own.id), set: { relay: `127.0.0.1:${postfix.port}` } });
        const { name: domainName } = await active(account);
        const wim = await newMailbox("wim", {}, domainName);
        await sendIp(account, "POST", `/${own.id}/domains/assign`, { domains: [domainName] });
        await post.submit(wim, letter("carol@example.org", "sent by the host", wim.user));
        const got = await arrived("sent by the host");
        expect(got.raw.toString()).toContain(`by ${name} (Postfix) with ESMTPSA`);
        expect(await signatures(got)).toEqual([`pass ${domainName}`]);
        const tls = { ca: certificate.cert, servername: name };
        const client = createTransport({ host: "127.0.0.1", port: postfix.port, requireTLS: true, tls });
        expect(await refusal(() => client.sendMail(letter("carol@example.org", "relayed")))).toBe(554);
      } finally {
        await postfix.stop();
      }
    });

    test("gets nothing while it shows a certificate of another name: the mail waits", async () => {
      const impostor = await startSink(hostOptions(certificateFor("mail.impostor.example")));
      await write({ update: ipKey(account.id, own.id), set: { relay: `127.0.0.1:${impostor.port}` } });
      const { name } = await active(account);
      const yan = await newMailbox("yan", {}, name);
      await sendIp(account, "POST", `/${own.id}/domains/assign`, { domains: [name] });
      await post.submit(yan, letter("carol@example.org", "to the impostor", yan.user));
      await expect
        .poll(() => post.log("postfix-out"), { timeout })
        .toMatch(/own-host.*status=deferred \(Server certificate not/);
      expect(impostor.letters).toEqual([]);
      await impostor.stop();
    });
  });

  /** Calls the worker that notes revocations with the changes of the account, as the event bus does. */
  async function publish(): Promise<void> {
    for (const change of (await recorded(account)).toReversed()) {
      if (revokingTypes.includes(change.type)) await noteRevocation({ detail: eventOf(change) });
    }
  }

  /** Waits until a letter to or from a mailbox gets the reply `code` after a change. */
  const becomes = (work: () => Promise<unknown>, code: number) =>
    expect.poll(() => refusal(work), { timeout, interval: 300 }).toBe(code);

  describe("the life of a mailbox", () => {
    test("a paused mailbox receives and does not send, also in a session that was open before", async () => {
      const pat = await newMailbox("pat");
      const session = post.session(pat);
      await session.send(letter("carol@example.org", "before the pause", pat.user));
      await call("PATCH", at(pat.id, "/active"), { active: false });
      await publish();
      expect(await refusal(() => post.submit(pat, letter("carol@example.org", "paused", pat.user)))).toBe(535);
      await becomes(() => session.send(letter("carol@example.org", "paused", pat.user)), 535);
      session.close();
      expect(post.log("postfix-out")).toMatch(/reject: RCPT .* 421 4\.7\.0 .*Log in again/);
      await post.deliver(letter(pat.user, "during the pause"));
      await call("PATCH", at(pat.id, "/active"), { active: true });
      await expectMail(pat, "during the pause");
      await becomes(() => post.submit(pat, letter("carol@example.org", "after the pause", pat.user)), 0);
    });

    test("a session that a master password of the domain began may not send after that password is deleted", async () => {
      const mel = await newMailbox("mel");
      const master = await call("POST", "credentials", { name: "Scanner", domain, generate: true });
      const session = post.session({ ...mel, pass: master.generated_secret });
      await session.send(letter("carol@example.org", "by the master password", mel.user));
      await call("DELETE", `credentials/${master.id}`);
      await publish();
      await becomes(() => session.send(letter("carol@example.org", "deleted", mel.user)), 535);
      session.close();
      expect(post.log("postfix-out")).toMatch(new RegExp(`421 4\\.7\\.0 .*Log in again.* from=<${mel.user}>`));
    });

    test("after a rotation the open sessions end, and only the new password is accepted", async () => {
      const rob = await newMailbox("rob");
      const client = await post.reader(rob);
      const closed = new Promise((settle) => void client.once("close", settle));
      await call("POST", at(rob.id, "/rotate-password"));
      await publish();
      await closed;
      await expect(post.reader(rob)).rejects.toThrow();
      const { password: pass } = await call("POST", at(rob.id, "/reveal-credentials"));
      expect(await post.subjects({ ...rob, pass })).toEqual([]);
    });

    test("an open SMTP session stays ended when the owner logs in again by IMAP and by SMTP", async () => {
      const sue = await newMailbox("sue");
      const [session, client] = [post.session(sue), await post.reader(sue)];
      const before = letter("carol@example.org", "before the rotation", sue.user);
      await session.send(before);
      const closed = new Promise((settle) => void client.once("close", settle));
      await call("POST", at(sue.id, "/rotate-password"));
      await publish();
      await closed;
      const { password: pass } = await call("POST", at(sue.id, "/reveal-credentials"));
      await post.subjects({ ...sue, pass });
      await post.submit({ ...sue, pass }, letter("carol@example.org", "by the new password", sue.user));
      expect(await refusal(() => session.send(before))).toBe(535);
      session.close();
      expect(post.log("postfix-out")).toMatch(new RegExp(`421 4\\.7\\.0 .*Log in again.* from=<${sue.user}>`));
    });

    test("a deleted mailbox gets no mail, a restored mailbox has its mail again, and the mail of a purged mailbox is gone", async () => {
      const del = await newMailbox("del");
      await post.deliver(letter(del.user, "kept"));
      await expectMail(del, "kept");
      await call("DELETE", at(del.id));
      await publish();
      await becomes(() => post.deliver(letter(del.user, "too late")), 550);
      await call("POST", at(del.id, "/restore"));
      await becomes(() => post.deliver(letter(del.user, "restored")), 0);
      await expectMail(del, "restored");
      expect(await post.subjects(del)).toContain("kept");
      await call("DELETE", at(del.id));
      setClockAhead(8 * 86_400_000);
      await purgeMailboxes().finally(() => setClockAhead(0));
      await publish();
      await expect.poll(() => existsSync(join(post.values.DIR, "store", account.id, del.id)), { timeout }).toBe(false);
    });

    test("for a full mailbox, a letter that tells its size is refused for now, and another letter waits", async () => {
      const tiny = await newMailbox("tiny", { quota_allowed: 1_048_576 });
      const envelope = { from: "bob@example.net", to: tiny.user };
      const big = { ...letter(tiny.user, "big"), text: "x".repeat(700_000), envelope };
      await post.deliver(big);
      await expectMail(tiny, "big");
      expect(await refusal(() => post.deliver({ ...big, envelope: { ...envelope, size: 700_000 } }))).toBe(452);
      await post.deliver(big);
      await expect
        .poll(() => post.log("postfix-mx"), { timeout })
        .toMatch(new RegExp(`to=<${tiny.id}@.*status=deferred .*452 4\\.2\\.2`));
    });
  });

  describe("reports to the API", () => {
    test("tell the number of letters in a mailbox, its sent letters and its last login", async () => {
      const use = await newMailbox("use");
      await post.deliver(letter(use.user, "to be counted"));
      await expectMail(use, "to be counted");
      await post.submit(use, letter(["carol@example.org", "dave@example.org"], "two recipients", use.user));
      const usage = async () => {
        const { messages, sent, last_login_at } = await call("GET", at(use.id, "/usage"));
        return { messages, sent: sent.at(-1).count, hasLoggedIn: last_login_at !== null };
      };
      await expect.poll(usage, { timeout, interval: 300 }).toEqual({ messages: 1, sent: 2, hasLoggedIn: true });
    });

    test("tell a bounce of another server, and further mail to the address is refused", async () => {
      const to = `bounce@${domain}.example.org`;
      await post.submit(ada, letter(to, "will bounce", ada.user));
      await expectMail(ada, "Undelivered Mail Returned to Sender");
      const listed = async () => (await call("GET", "suppressions?page_size=100")).items;
      await expect.poll(listed, { timeout, interval: 300 }).toContainEqual(expect.objectContaining({ email: to }));
      const again = letter(to, "again", `ada+again@${domain}`);
      expect(await refusal(() => post.submit(ada, again))).toBe(550);
    });

    test("report no bounce of our own MX, so mail can be sent to a new mailbox at once", async () => {
      const una = await newMailbox("una");
      const [early, elsewhere] = [`newhire@${domain}`, `bounce@after.${domain}.example.org`];
      await post.submit(una, letter(early, "too early", una.user));
      await expectMail(una, "Undelivered Mail Returned to Sender");
      await post.submit(una, letter(elsewhere, "will bounce later", una.user));
      const listed = async (): Promise<string[]> =>
        (await call("GET", "suppressions?page_size=100")).items.map(({ email }: { email: string }) => email);
      await expect.poll(listed, { timeout, interval: 300 }).toContain(elsewhere);
      expect(await listed()).not.toContain(early);
      const { user } = await newMailbox("newhire");
      expect(await refusal(() => post.submit(una, letter(user, "welcome", una.user)))).toBe(0);
    });

    test("cannot be sent as letters, because anybody can write a letter", async () => {
      const to = `reports@${post.values["HOSTNAME"]}`;
      expect(await refusal(() => post.deliver(letter(to, "a complaint")))).toBe(550);
      expect(await refusal(() => post.deliver(letter("reports@reports", "a complaint")))).toBe(554);
    });
  });

  describe("an outage of the API", () => {
    test("loses nothing: letters are refused for now or wait, and arrive when the API is back", async () => {
      const amy = await newMailbox("amy");
      // Postfix asks whether the mailbox exists, and keeps the answer. Dovecot has not asked for the folder yet.
      await post.asks(amy.user);
      await mailRoutes.stop();
      await post.deliver(letter(amy.user, "in the queue"));
      await expect
        .poll(() => post.log("postfix-mx"), { timeout })
        .toMatch(new RegExp(`to=<${amy.id}@.*status=deferred`));
      expect(await refusal(() => post.deliver(letter(`another@${domain}`, "during the stop")))).toBe(451);
      expect(await refusal(() => post.submit(amy, letter("carol@example.org", "during the stop", amy.user)))).toBe(454);
      const { user, pass: password } = amy;
      const words = "Temporary server problem, try again later";
      expect(await imapLogin(post.tlsAt("IMAPS"), { user, password })).toBe(`NO [UNAVAILABLE] ${words}`);
      expect(await popLogin(post.tlsAt("POP3S"), { user, password })).toBe(`-ERR [SYS/TEMP] ${words}`);
      await mailRoutes.start();
      await expectMail(amy, "in the queue");
    });
  });
});
