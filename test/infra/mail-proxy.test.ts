import { createTransport } from "nodemailer";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { lambdas } from "../../infra/entry-points.ts";
import { startGateway } from "../../infra/local/server/gateway.ts";
import { newWorkspace } from "../support/auth.ts";
import { active } from "../support/domains.ts";
import { imapLogin, popLogin, startImap } from "../support/imap.ts";
import { handlerOf, request, type Answer } from "../support/request.ts";
import { newAccount, type Account } from "../support/world.ts";
import { hasNginx, proxyName, startProxy, startRelay } from "./mail-proxy.ts";

if (!hasNginx)
  process.stdout.write(
    "The tests of the mail proxy are skipped: nginx or its mail module is missing (Debian: nginx, libnginx-mod-mail).\n",
  );

describe.skipIf(!hasNginx)("a real mail proxy with the files in docs/mail-servers.md", () => {
  let relay: Awaited<ReturnType<typeof startRelay>>;
  let imap: Awaited<ReturnType<typeof startImap>>;
  let gateway: Awaited<ReturnType<typeof startGateway>>;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let account: Account;
  let domain: string;
  let mailbox: { id: string; email: string; password: string };

  const send = async (method: string, path: string, body?: unknown): Promise<Answer["body"]> => {
    const { id, owner } = account;
    const answer = await request(method, `/v1/public/accounts/${id}/${path}`, { token: owner.token, body });
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.body;
  };

  beforeAll(async () => {
    relay = await startRelay();
    imap = await startImap();
    vi.stubEnv("MAIL_SMTP_RELAY", `127.0.0.1:${relay.port}`);
    vi.stubEnv("MAIL_IMAP_SERVER", `127.0.0.1:${imap.port}`);
    vi.stubEnv("MAIL_LOGIN_WAIT", "0");
    const wanted = lambdas.filter(({ name }) => name === "mail.auth" || name === "fallback");
    const functions = await Promise.all(wanted.map(async (spec) => ({ ...spec, handler: await handlerOf(spec) })));
    gateway = await startGateway({ functions, port: 0 });
    proxy = await startProxy(gateway.port, process.env["MAIL_SECRET"] ?? "");
    account = await newAccount();
    const workspaceId = await newWorkspace(account, "Mail");
    ({ name: domain } = await active(account, { workspaceId }));
    const { id } = await send("POST", "mailboxes", { domain, local_part: "ada", first_name: "Ada", last_name: "L" });
    await send("POST", `mailboxes/${id}/aliases`, { alias: "countess" });
    mailbox = { id, ...(await send("POST", `mailboxes/${id}/reveal-credentials`)) };
  });

  afterAll(async () => {
    vi.unstubAllEnvs();
    await proxy.stop();
    await gateway.stop();
    await relay.stop();
    await imap.stop();
  });

  /** Sends a mail as a mail program does, by STARTTLS or, if `secure`, by TLS. Returns whether the mail was sent. */
  async function sends(user: string, pass: string, secure = false): Promise<"sent" | "refused"> {
    const { submission, smtps } = proxy.ports;
    const transport = createTransport({
      host: "127.0.0.1",
      port: secure ? smtps : submission,
      secure,
      requireTLS: true,
      tls: { ca: proxy.ca, servername: proxyName },
      auth: { user, pass },
    });
    const before = relay.mails.length;
    try {
      await transport.sendMail({ from: mailbox.email, to: "bob@example.net", subject: "Hello", text: "Hi" });
      expect(relay.mails.length).toBe(before + 1);
      return "sent";
    } catch (error) {
      expect((error as { responseCode?: number }).responseCode).toBe(535);
      expect(relay.mails.length).toBe(before);
      return "refused";
    } finally {
      transport.close();
    }
  }

  test("sends mail with the mailbox's password, if the login is the address or an alias", async () => {
    expect(await sends(mailbox.email, mailbox.password)).toBe("sent");
    expect(await sends(`countess@${domain}`, mailbox.password)).toBe("sent");
    expect(relay.mails.at(-1)).toMatchObject({ from: mailbox.email, to: ["bob@example.net"] });
  });

  test("also sends mail by TLS from the first byte", async () => {
    expect(await sends(mailbox.email, mailbox.password, true)).toBe("sent");
    expect(await sends(mailbox.email, `${mailbox.password}x`, true)).toBe("refused");
  });

  test("does not accept even the right password before STARTTLS", async () => {
    const { submission: port } = proxy.ports;
    const auth = { user: mailbox.email, pass: mailbox.password };
    const asIs = { host: "127.0.0.1", port, secure: false, ignoreTLS: true, auth, forceAuth: true };
    await expect(createTransport(asIs).verify()).rejects.toThrow("Invalid login: 5");
  });

  const readsMail = (user: string, password: string, by = proxy) =>
    imapLogin({ port: by.ports.imaps, ca: by.ca, servername: proxyName }, { user, password });

  test("lets a user read mail with the mailbox's password, and gives the IMAP server the mailbox's own address", async () => {
    const { email: user, password } = mailbox;
    expect(await readsMail(user, password)).toMatch(/^OK/);
    expect(await readsMail(`countess@${domain}`, password)).toMatch(/^OK/);
    expect(imap.logins.splice(0)).toEqual([
      { user, password },
      { user, password },
    ]);
  });

  test("lets nobody read mail with a wrong password, or with a master password", async () => {
    const master = await send("POST", "credentials", { name: "reader", generate: true });
    expect(await readsMail(mailbox.email, `${mailbox.password}x`)).toBe(
      "NO [AUTHENTICATIONFAILED] Invalid login or password",
    );
    expect(await readsMail(mailbox.email, master.generated_secret)).toMatch(/^NO \[AUTHENTICATIONFAILED\] Invalid/);
    const login = { user: mailbox.email, password: `${mailbox.password}x` };
    expect(await popLogin({ port: proxy.ports.pop3s, ca: proxy.ca, servername: proxyName }, login)).toBe(
      "-ERR [AUTH] Invalid login or password",
    );
    expect(imap.logins).toEqual([]);
  });

  test("lets nobody in if the API's address has another certificate", async () => {
    const misled = await startProxy(gateway.port, process.env["MAIL_SECRET"] ?? "", proxy.ca);
    try {
      const { email: user, password } = mailbox;
      const words = "Temporary server problem, try again later";
      expect(await readsMail(user, password, misled)).toBe(`NO [UNAVAILABLE] ${words}`);
      const pop3 = { port: misled.ports.pop3s, ca: misled.ca, servername: proxyName };
      expect(await popLogin(pop3, { user, password })).toBe(`-ERR [SYS/TEMP] ${words}`);
      const tls = { ca: misled.ca, servername: proxyName };
      const submission = { host: "127.0.0.1", port: misled.ports.submission, requireTLS: true, tls };
      const smtp = createTransport({ ...submission, auth: { user, pass: password } });
      await expect(smtp.verify()).rejects.toMatchObject({ response: `454 4.7.0 ${words}` });
      expect(imap.logins).toEqual([]);
    } finally {
      await misled.stop();
    }
  });

  test("tells nothing to another program on its machine that does not know the secret", async () => {
    const hop = `http://127.0.0.1:${proxy.ports.hop}`;
    const headers = { "auth-protocol": "imap", "auth-user": mailbox.email, "auth-pass": mailbox.password };
    const answer = await fetch(`${hop}/internal/mail/auth`, { headers });
    expect([answer.status, answer.headers.get("auth-status")]).toEqual([401, null]);
    expect((await fetch(`${hop}/internal/mail/recipient?address=${mailbox.email}`)).status).toBe(404);
  });

  test("refuses a wrong password, a user that does not exist, and a user of an unknown domain", async () => {
    expect(await sends(mailbox.email, `${mailbox.password}x`)).toBe("refused");
    expect(await sends(`nobody@${domain}`, mailbox.password)).toBe("refused");
    expect(await sends("ada@example.net", mailbox.password)).toBe("refused");
  });

  test.each(["account", "workspace", "domain"])(
    "sends mail with a master password of the %s until the master password is deleted",
    async (scope) => {
      const { workspace_id } = await send("GET", `domains/${domain}`);
      const narrowed = { account: {}, workspace: { workspace_id }, domain: { domain } }[scope];
      const made = await send("POST", "credentials", { name: scope, generate: true, ...narrowed });
      expect(await sends(mailbox.email, made.generated_secret)).toBe("sent");
      const { items } = await send("GET", "credentials");
      expect(items.find(({ id }: { id: string }) => id === made.id).last_used_at).toMatch(/Z$/);
      await send("DELETE", `credentials/${made.id}`);
      expect(await sends(mailbox.email, made.generated_secret)).toBe("refused");
    },
  );

  test("refuses a master password of another domain and of another account", async () => {
    const elsewhere = await active(account);
    const other = await send("POST", "credentials", { name: "other", generate: true, domain: elsewhere.name });
    expect(await sends(mailbox.email, other.generated_secret)).toBe("refused");
    const stranger = await newAccount();
    const body = { name: "theirs", generate: true };
    const path = `/v1/public/accounts/${stranger.id}/credentials`;
    const theirs = await request("POST", path, { token: stranger.owner.token, body });
    expect(await sends(mailbox.email, theirs.body.generated_secret)).toBe("refused");
  });

  test("refuses a paused mailbox, and lets it in again once it is resumed", async () => {
    await send("PATCH", `mailboxes/${mailbox.id}/active`, { active: false });
    expect(await sends(mailbox.email, mailbox.password)).toBe("refused");
    await send("PATCH", `mailboxes/${mailbox.id}/active`, { active: true });
    expect(await sends(mailbox.email, mailbox.password)).toBe("sent");
  });

  test("does not accept the old password after a rotation", async () => {
    await send("POST", `mailboxes/${mailbox.id}/rotate-password`);
    expect(await sends(mailbox.email, mailbox.password)).toBe("refused");
    const { password } = await send("POST", `mailboxes/${mailbox.id}/reveal-credentials`);
    expect(await sends(mailbox.email, password)).toBe("sent");
    mailbox.password = password;
  });
});
