import { createTransport } from "nodemailer";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { lambdas } from "../../infra/lambdas.ts";
import { startGateway } from "../../infra/local/gateway.ts";
import { newWorkspace } from "../support/auth.ts";
import { active } from "../support/domains.ts";
import { hasNginx, startProxy, startRelay } from "../support/mail-proxy.ts";
import { handlerOf, request, type Answer } from "../support/request.ts";
import { newAccount, type Account } from "../support/world.ts";

if (!hasNginx)
  process.stdout.write("skips: no nginx with its mail module; Debian's packages nginx and libnginx-mod-mail have it\n");

type Started<T> = Awaited<T>;

describe.skipIf(!hasNginx)("a real mail proxy before a real relay", () => {
  let relay: Started<ReturnType<typeof startRelay>>;
  let gateway: Started<ReturnType<typeof startGateway>>;
  let proxy: Started<ReturnType<typeof startProxy>>;
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
    process.env["MAIL_SMTP_RELAY"] = `127.0.0.1:${relay.port}`;
    process.env["MAIL_LOGIN_WAIT"] = "0";
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
    await proxy.stop();
    await gateway.stop();
    await relay.stop();
  });

  /** Sends a mail as a mail program does; answers whether it was let in. */
  async function sends(user: string, pass: string): Promise<"sent" | "refused"> {
    const transport = createTransport({ host: "127.0.0.1", port: proxy.smtp, secure: false, auth: { user, pass } });
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

  test("sends by the mailbox's password, by its address and by an alias", async () => {
    expect(await sends(mailbox.email, mailbox.password)).toBe("sent");
    expect(await sends(`countess@${domain}`, mailbox.password)).toBe("sent");
    expect(relay.mails.at(-1)).toMatchObject({ from: mailbox.email, to: ["bob@example.net"] });
  });

  test("refuses a wrong password, a user that does not exist, and one of no domain of ours", async () => {
    expect(await sends(mailbox.email, `${mailbox.password}x`)).toBe("refused");
    expect(await sends(`nobody@${domain}`, mailbox.password)).toBe("refused");
    expect(await sends("ada@example.net", mailbox.password)).toBe("refused");
  });

  test.each(["account", "workspace", "domain"])(
    "sends by a master password of the %s until it is deleted",
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

  test("takes the old password no more once it is rotated", async () => {
    await send("POST", `mailboxes/${mailbox.id}/rotate-password`);
    expect(await sends(mailbox.email, mailbox.password)).toBe("refused");
    const { password } = await send("POST", `mailboxes/${mailbox.id}/reveal-credentials`);
    expect(await sends(mailbox.email, password)).toBe("sent");
    mailbox.password = password;
  });
});
