import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import { ApiError } from "#client";

import type { Check } from "./run.ts";
import { type Scene, expect, expectGone, errorOf, removeNamed } from "./scene.ts";

/** The longest time for the removal of a domain and its workspace together, in milliseconds. */
const removalMs = 30_000;

/** Deletes a workspace. Tries again while the product is still removing the domain in the workspace. */
async function deleteWorkspace({ api, path }: Scene, workspace_id: string): Promise<void> {
  for (const until = performance.now() + removalMs; ;) {
    try {
      await api.workspaces.delete({ ...path, workspace_id });
      return;
    } catch (error) {
      const isWaiting = error instanceof ApiError && error.code === "workspace_not_empty";
      if (!isWaiting || performance.now() > until) throw error;
      await delay(1000);
    }
  }
}

/**
 * The checks that create a workspace and a domain for the other checks. The workspace and the domain stay until the end
 * of the run.
 */
const containers: Check[] = [
  {
    name: "workspaces: add, get, update",
    writes: true,
    run: async (scene) => {
      const { api, path, name } = scene;
      const { id: workspace_id } = await api.workspaces.add({ ...path, name });
      scene.registerRemoval(`workspace ${name} (${workspace_id})`, () => deleteWorkspace(scene, workspace_id));
      scene.workspaceId = workspace_id;
      const at = { ...path, workspace_id };
      const tag = (await api.workspaces.get(at).withResponse()).response.headers.get("etag") ?? "";
      const body = { name: `${name} renamed` };
      await api.workspaces.update({ ...at, ...body }, { ifMatch: tag });
      const stale = api.workspaces.update({ ...at, name }, { ifMatch: tag });
      expect((await errorOf(stale)).status === 412, "an old entity tag is accepted");
    },
  },
  {
    name: "domains: add, get, update, verify",
    writes: true,
    run: async (scene) => {
      const { api, path } = scene;
      const name = `hosted-mail-${scene.name}.com`;
      const data = await api.domains.add({ ...path, name, workspace_id: scene.workspace });
      const at = { ...path, domain: name };
      scene.registerRemoval(`domain ${name}`, () => api.domains.delete(at));
      scene.domain = name;
      expect(data.nameservers.length === 2, "the domain does not have two nameservers");
      await api.domains.update({ ...at, dmarc_policy: "quarantine" });
      const { dmarc_policy } = await api.domains.get(at);
      expect(dmarc_policy === "quarantine", "the change is not in the answer");
      const { verified } = await api.domains.verify(at);
      expect(!verified, "the domain is delegated to the product, although nobody delegated it");
    },
  },
];

const mailChecks: Check[] = [
  {
    name: "dns_records: add, update, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, domainName: domain } = scene;
      const data = await api.dns_records.add({ ...path, domain, name: "smoke", type: "TXT", value: "one" });
      const at = { ...path, record_id: data.id };
      const remove = scene.registerRemoval(`DNS record ${data.id}`, () => api.dns_records.delete(at));
      const { value } = await api.dns_records.update({ ...at, value: "two" });
      expect(value === "two", `the record's value is ${value}`);
      expect((await api.dns_records.get(at)).value === "two", "the record is read with another value");
      await remove();
      const { items } = await api.dns_records.list({ ...path, domain, name: "smoke" });
      expect(items.length === 0, "the record is still listed");
    },
  },
  {
    name: "mailboxes: add, alias, pause, reveal, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, domainName: domain } = scene;
      const person = { local_part: "smoke", first_name: "Smoke", last_name: "Test" };
      const { id: mailbox, primary_email } = await api.mailboxes.add({ ...path, domain, ...person });
      const at = { ...path, mailbox };
      const remove = scene.registerRemoval(`mailbox ${primary_email}`, () => api.mailboxes.delete(at));
      const { alias } = await api.mailboxes.aliases.create({ ...at, alias: "smoke-too" });
      await api.mailboxes.aliases.delete({ ...at, alias });
      const phone = { name: "Smoke", protocols: ["imap" as const] };
      const { id: app_password_id } = await api.mailboxes.app_passwords.add({ ...at, ...phone });
      await api.mailboxes.app_passwords.delete({ ...at, app_password_id });
      const { total } = await api.mailboxes.app_passwords.list(at);
      expect(total === 0, "the app password is still listed");
      await api.mailboxes.activate({ ...at, active: false });
      const { status } = await api.mailboxes.get(at);
      expect(status === "paused", `the mailbox is ${status}, not paused`);
      const { sent } = await api.mailboxes.usage.get(at);
      expect(sent.length === 30, `the usage has ${sent.length} days, not 30`);
      await revealOnce(scene, mailbox);
      await remove();
      await expectGone(api.mailboxes.get(at));
    },
  },
  {
    name: "suppressions: add, list, delete",
    writes: true,
    run: async (scene) => {
      const { api, path } = scene;
      const { email, id: suppression } = await api.suppressions.add({ ...path, email: "smoke@example.com" });
      const remove = scene.registerRemoval(`suppression ${email}`, () =>
        api.suppressions.delete({ ...path, suppression }),
      );
      const { items } = await api.suppressions.list({ ...path, email });
      expect(items[0]?.id === suppression, "the suppression is not listed");
      await remove();
    },
  },
  {
    name: "notices: get, update",
    writes: true,
    run: async (scene) => {
      const { api, path } = scene;
      const { muted } = await api.notices.get(path);
      const restore = scene.registerRemoval("muted notices", () => api.notices.update({ ...path, muted }));
      const body = { muted: ["domain_health" as const] };
      const changed = (await api.notices.update({ ...path, ...body })).muted;
      expect(changed[0] === "domain_health", "the category is not muted");
      await restore();
    },
  },
  {
    name: "credentials: add, rename, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, name, domainName: domain } = scene;
      const data = await api.credentials.add({ ...path, name, generate: true, domain });
      const at = { ...path, credential_id: data.id };
      const remove = scene.registerRemoval(`master password ${data.id}`, () => api.credentials.delete(at));
      expect((data.generated_secret ?? "").length >= 12, "the answer has no password");
      await api.credentials.update({ ...at, name: `${name} renamed` });
      expect((await api.credentials.get(at)).name === `${name} renamed`, "the name is not the new one");
      await remove();
    },
  },
  {
    name: "forwarding: add, stop, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, domainName: domain } = scene;
      const person = { local_part: "copies", first_name: "Smoke", last_name: "Test" };
      const { id: mailbox, primary_email } = await api.mailboxes.add({ ...path, domain, ...person });
      const removeMailbox = scene.registerRemoval(`mailbox ${primary_email}`, () =>
        api.mailboxes.delete({ ...path, mailbox }),
      );
      // The target is a mailbox of the account. So no stranger gets mail.
      const data = await api.forwarding.add({ ...path, target_email: primary_email, workspace_id: scene.workspace });
      const at = { ...path, forwarding_id: data.id };
      const remove = scene.registerRemoval(`forwarding rule ${data.id}`, () => api.forwarding.delete(at));
      expect(data.verification_state === "internal", `the rule is ${data.verification_state}, not internal`);
      await api.forwarding.activate({ ...at, active: false });
      expect(!(await api.forwarding.get(at)).active, "the rule is still active");
      await remove();
      await removeMailbox();
    },
  },
];

async function revealOnce({ api, path }: Scene, mailbox: string): Promise<void> {
  // The check deletes the mailbox at its end. So the mailbox's password is useless outside this process.
  const at = { ...path, mailbox };
  try {
    const { password } = await api.mailboxes.reveal_credentials(at);
    expect(password.length >= 20, "the password is short");
  } catch (error) {
    if (error instanceof ApiError && error.code === "forbidden") return;
    throw error;
  }
  const { code } = await errorOf(api.mailboxes.reveal_credentials(at));
  expect(code === "secret_already_shown", `the second reveal answers ${code}`);
}

/** The checks that create a workspace and a domain, and the checks of mail, some of which use these two. */
export const writes: readonly Check[] = [...containers, ...mailChecks];

/** A public IP address of ICANN, for a dedicated IP whose host is never authorized. Nothing is sent to this host. */
const someHost = "192.0.46.8";

const accessChecks: Check[] = [
  {
    name: "auth.groups, members, grants, roles",
    writes: true,
    run: async (scene) => {
      const { api, path, name } = scene;
      const { id: group_id } = await api.auth.groups.create({ ...path, payload: { name } });
      const at = { ...path, group_id };
      const remove = scene.registerRemoval(`group ${name} (${group_id})`, () => api.auth.groups.delete(at));
      const member = { subject_id: randomUUID(), subject_type: "user" } as const;
      await api.auth.groups.members.add({ ...at, ...member });
      await api.auth.groups.members.remove({ ...at, member_id: member.subject_id });
      await grantAndRevoke(scene, group_id);
      await remove();
      await expectGone(api.auth.groups.get(at));
    },
  },
  {
    name: "auth.roles: create, change, delete",
    writes: true,
    run: async (scene) => {
      const { api, path } = scene;
      const key = `smoke_${randomUUID().replaceAll("-", "")}`;
      const body = { key, name: scene.name, capability_keys: ["domain.view" as const] };
      await api.auth.roles.create({ ...path, ...body });
      const at = { ...path, role: key };
      const remove = scene.registerRemoval(`role ${key}`, () => api.auth.roles.delete(at));
      const changed = await api.auth.roles.update({ ...at, capability_keys: ["dns.view"] });
      expect(changed.capability_keys.join() === "dns.view", "the role did not change");
      await remove();
      await expectGone(api.auth.roles.update({ ...at, name: scene.name }));
    },
  },
  {
    name: "auth.service_accounts: create, rotate, revoke",
    writes: true,
    run: async (scene) => {
      const { api, path, name } = scene;
      const expires_at = await scene.inOneHour();
      const { made, remove } = await scene.createRemovable(
        `service account ${name}`,
        async () =>
          removeNamed(
            await api.auth.service_accounts.list(path),
            (one) => one.name === name && one.revoked_at === null,
            (service_account_id) => api.auth.service_accounts.revoke({ ...path, service_account_id }),
          ),
        () => api.auth.service_accounts.create({ ...path, name, expires_at }),
      );
      const { id, token } = made;
      const at = { ...path, service_account_id: id };
      const ask = (bearer: string): Promise<Response> =>
        scene.ask("/v1/public/me", { headers: { authorization: `Bearer ${bearer}` } });
      expect((await ask(token)).status === 200, "the service account's token is refused");
      await api.auth.service_accounts.rotate({ ...at, overlap_seconds: 0 });
      expect((await ask(token)).status === 401, "the old token is accepted after the rotation");
      await remove();
    },
  },
];

async function grantAndRevoke(scene: Scene, group: string): Promise<void> {
  const { api, path } = scene;
  const subject = { subject_id: group, subject_type: "group" } as const;
  // This is the narrowest possible grant. If the run stops before it revokes the grant, the deletion of the group ends
  // the grant.
  const expires_at = await scene.inOneHour();
  const body = { ...subject, grant_kind: "capability", capability_key: "account.view", expires_at } as const;
  const { id: grant_id } = await api.auth.authorizations.grant({ ...path, ...body });
  await api.auth.authorizations.revoke({ ...path, grant_id });
  const role = { ...subject, role_key: "viewer" } as const;
  const { id: assignment_id } = await api.auth.role_assignments.assign({ ...path, ...role });
  await api.auth.role_assignments.revoke({ ...path, assignment_id });
}

const resourceChecks: Check[] = [
  {
    name: "tags: add, send again, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, name } = scene;
      const idempotencyKey = randomUUID();
      const { id: tag_id } = await api.tags.add({ ...path, name }, { idempotencyKey });
      const remove = scene.registerRemoval(`tag ${name} (${tag_id})`, () => api.tags.delete({ ...path, tag_id }));
      const again = await api.tags.add({ ...path, name }, { idempotencyKey }).withResponse();
      expect(again.data.id === tag_id, "the same key created a second tag");
      expect(again.response.headers.get("idempotency-replayed") === "true", "the repeat has no Idempotency-Replayed");
      await remove();
    },
  },
  {
    name: "webhooks: add, stop, delete",
    writes: true,
    run: async (scene) => {
      const { api, path } = scene;
      // This run causes no event of this type. So nothing is sent to the address.
      const body = { url: `https://example.com/${scene.name}`, event_types: ["feedback.updated"] };
      const { made, remove } = await scene.createRemovable(
        `webhook ${body.url}`,
        async () =>
          removeNamed(
            (await api.webhooks.list({ ...path, page_size: 100 })).items,
            ({ url }) => url === body.url,
            (webhook_id) => api.webhooks.delete({ ...path, webhook_id }),
          ),
        () => api.webhooks.add({ ...path, ...body }),
      );
      const { id: webhook_id, secret } = made;
      const at = { ...path, webhook_id };
      expect(secret.startsWith("whsec_"), "the answer has no signing secret");
      const { status } = await api.webhooks.update({ ...at, active: false });
      expect(status === "disabled", `the webhook is ${status}, not disabled`);
      await remove();
      await expectGone(api.webhooks.get(at));
    },
  },
  {
    name: "dedicated_ips: add, get, delete",
    writes: true,
    run: async (scene) => {
      const { api, path, name } = scene;
      const { id } = await api.dedicated_ips.add({ ...path, name, ip_addresses: [someHost] });
      const at = { ...path, dedicated_ip_id: id };
      const remove = scene.registerRemoval(`dedicated IP ${name} (${id})`, () => api.dedicated_ips.delete(at));
      await api.dedicated_ips.get(at);
      await remove();
    },
  },
];

/** The checks that concern the whole account. */
export const accountWrites: readonly Check[] = [...accessChecks, ...resourceChecks];
